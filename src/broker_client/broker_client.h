/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way from a process without privileges to the broker, who has them (src/broker). Calls wait
 * for the answer. As an ordinary user, or as root by oneself, there is none: NULL.
 */
#ifndef BRIG_BROKER_CLIENT_BROKER_CLIENT_H
#define BRIG_BROKER_CLIENT_BROKER_CLIENT_H

#include <stdbool.h>
#include <sys/stat.h>

struct broker {
	int line; /* a SOCK_SEQPACKET, borrowed */
	/*
	 * It has died, or no longer keeps to the rules: what it would have said is not known, and
	 * must not be guessed. Who sets this does not come back from it.
	 */
	void (*gone)(void);
};

/* The caller has just made a user namespace: its ids, and a control group that is its own. */
int broker_map(const struct broker *broker);
/* devices_make(), by whoever may: an fd, or -errno. */
int broker_devices(const struct broker *broker);
/*
 * Does a file belong to root or to us, as only those may say what programs may do? In a user
 * namespace that does not have root's id, root's files cannot be told from anybody else's, so then
 * the broker is asked.
 */
bool owner_trusted(const struct broker *broker, int fd, const struct stat *st);
/* What may help where such a file cannot be opened, to be followed by its path; or NULL. */
const char *owner_remedy(const struct broker *broker, int errnum);
#endif
