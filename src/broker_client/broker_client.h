/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests from a process without privileges to the broker (src/broker), which has them. Calls wait
 * for the reply. For an ordinary user, and for root outside of the service, there is no broker:
 * NULL.
 */
#ifndef BRIG_BROKER_CLIENT_BROKER_CLIENT_H
#define BRIG_BROKER_CLIENT_BROKER_CLIENT_H

#include <stdbool.h>
#include <sys/stat.h>

struct broker {
	int line; /* a SOCK_SEQPACKET, borrowed */
	/*
	 * Called when the broker has died or violated the protocol: its reply is unknown, and must
	 * not be guessed. The function must not return.
	 */
	void (*gone)(void);
};

/*
 * Asks for the ids of a user namespace that the caller has just made, and for a control group of
 * its own.
 */
int broker_map(const struct broker *broker);
/* devices_make(), by the broker or, without one, by the caller: an fd, or -errno. */
int broker_devices(const struct broker *broker);
/*
 * Does the file belong to root or to the caller? Only those may write policies and runtimes. In a
 * user namespace without root's id, root's files look like those of any other user, so the broker
 * is asked.
 */
bool owner_trusted(const struct broker *broker, int fd, const struct stat *st);
/* A remedy for a file that cannot be opened, to be followed by its path; or NULL. */
const char *owner_remedy(const struct broker *broker, int errnum);
#endif
