/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper: parent of a template and of the cells that are cloned from it.
 *
 * A child that has called exec sends SIGCHLD when it ends (execve(2)), and its clones do too,
 * whatever their exit signal: a host program would get these signals, and wait(-1) would return
 * processes that it does not know. So they have a parent of their own, which never execs and only
 * waits for them. It ends when the last of them has ended; the template ends when the warden's end
 * of its socket closes.
 *
 * Privileges: those of its namespaces, until the template's view of the host is made
 * (template_view.h); then none. The template has none from its first instruction: under root it has
 * ids of its own, under an ordinary user a user namespace in which it has dropped everything.
 */
#ifndef BRIG_NATIVE_KEEPER_KEEPER_H
#define BRIG_NATIVE_KEEPER_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "run/spec/closure.h"

#define KEEPER_FDS 4
/* The id of an ordinary user in the template's user namespace: as in a cell. */
#define KEEPER_ID 1000u

struct keeper {
	bool ranged; /* brig is root: the template's ids are `id`; else it is in a user namespace */
	uid_t id;
	const struct closure *closure;
	int fds[KEEPER_FDS]; /* become the interpreter's 3, 4, ...; the first is its socket */
	int outside;         /* the warden's end of that socket: the keeper closes it */
	int program;         /* the interpreter's file */
	int init;         /* that of brig-init's own program; becomes the descriptor behind fds */
	const char *name; /* its name */
	const char *const *argv;
	const char *const *envp;
};

/*
 * Returns the keeper's pid, and its pidfd; or -errno. It waits for WIRE_RELEASE on the socket:
 * before that an ordinary user has to map its ids (keeper_map).
 */
int keeper_start(const struct keeper *keeper, int *ret_pidfd);
int keeper_map(pid_t pid, uid_t uid, gid_t gid);
#endif
