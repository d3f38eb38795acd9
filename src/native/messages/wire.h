/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The channel between a cell's init and the warden: fixed records on a SOCK_SEQPACKET pair that the
 * payload never has. A record of another size or kind, or out of order, ends the run. When the
 * warden's end closes, init must die.
 */
#ifndef BRIG_NATIVE_MESSAGES_WIRE_H
#define BRIG_NATIVE_MESSAGES_WIRE_H

#include <stdbool.h>
#include <stdint.h>

enum wire_kind {
	WIRE_RELEASE = 1, /* warden -> init: ids are mapped, continue */
	WIRE_GROUP,       /* warden -> init, with fds: the tasks files to write itself into; value =
			   * 1: the directories that have them */
	/*
	 * with fds: /sandbox, the cell's /proc, its count of sockets; and, without a network, the
	 * socket for failed name lookups
	 */
	WIRE_HANDLES,
	WIRE_FAILED, /* a step failed: value = step index, errnum */
	/* with fd: seccomp listener; value = 1: only a kill wakes a received caller */
	WIRE_LISTENER,
	WIRE_HELD,        /* sealed and waiting */
	WIRE_STARTED,     /* exec has succeeded */
	WIRE_GET_PROGRAM, /* warden -> init: requests the program */
	WIRE_PROGRAM,     /* with fd: a pidfd of the program */
	WIRE_EXITED,      /* value = si_code (and WIRE_ALONE), status = si_status, cpu_ns */

	WIRE_WARM,   /* template -> warden: it waits; value = its pid in its own namespace */
	WIRE_CLONE,  /* warden -> template, with fds: see WIRE_CLONE_FDS */
	WIRE_CLONED, /* template -> warden, with fd: pidfd; value = pid; or errnum and no fd */
};

struct wire_record {
	uint32_t kind;
	uint32_t value;
	int32_t status;
	int32_t errnum;
	uint64_t cpu_ns; /* of all processes that brig-init has waited for */
};

/* In the value of WIRE_EXITED: brig-init is the only process left in the cell. */
#define WIRE_ALONE 0x100u

#define WIRE_FDS_MAX 9
/*
 * With WIRE_CLONE: control, 0, 1, 2, go, assignment, value, channel; and the cell's own /dev, if
 * any.
 */
#define WIRE_CLONE_FDS 8

/* Sends one record with up to WIRE_FDS_MAX fds. Async-signal-safe. 0 or -errno. */
int wire_send(int socket, const struct wire_record *record, const int *fds, unsigned fds_count);
/* 1: a record; 0: end of file; -EAGAIN; -EPROTO: not a record. Unexpected fds are closed. */
int wire_receive(int socket, struct wire_record *record, int fds[WIRE_FDS_MAX],
		 unsigned *fds_count);

enum wire_state {
	WIRE_SETTING_UP,
	WIRE_HAVE_HANDLES,
	WIRE_HAVE_LISTENER,
	WIRE_WAITING,
	WIRE_RUNNING,
	WIRE_ENDED,
};
/* Pure: checks a record against the state; advances the state, or -EPROTO. */
int wire_check(enum wire_state *state, const struct wire_record *record, unsigned fds_count);
#endif
