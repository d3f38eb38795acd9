/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the cell's init tells the warden: fixed records on a SOCK_SEQPACKET pair that the payload
 * never has. A record of another size, kind or order ends the run. The warden's end closing is
 * the order to die.
 */
#ifndef BRIG_NATIVE_WIRE_H
#define BRIG_NATIVE_WIRE_H

#include <stdbool.h>
#include <stdint.h>

enum wire_kind {
	WIRE_RELEASE = 1, /* warden -> init: ids are mapped, go on */
	WIRE_GROUP,       /* warden -> init, with fds: the tasks files to write itself into; value =
			   * 1: the directories that have them */
	WIRE_HANDLES,     /* with fds: /sandbox, the cell's /proc, its count of sockets; and, where
			   * there is no network, what hears of names that are asked for */
	WIRE_FAILED,      /* a step failed: value = step index, errnum */
	WIRE_LISTENER,    /* with fd: seccomp listener; value = 1: only a kill wakes who is heard */
	WIRE_HELD,        /* sealed and waiting */
	WIRE_STARTED,     /* exec has succeeded */
	WIRE_WHO,         /* warden -> init: which process is the program? */
	WIRE_THIS,        /* with fd: a pidfd of it */
	WIRE_EXITED,      /* value = si_code (and WIRE_ALONE), status = si_status, cpu_ns */

	WIRE_WARM,   /* template -> warden: it waits; value = its own pid as it sees it */
	WIRE_CLONE,  /* warden -> template, with fds: see WIRE_CLONE_FDS */
	WIRE_CLONED, /* template -> warden, with fd: pidfd; value = pid; or errnum and no fd */
};

struct wire_record {
	uint32_t kind;
	uint32_t value;
	int32_t status;
	int32_t errnum;
	uint64_t cpu_ns; /* of all that brig-init has waited for */
};

/* In the value of WIRE_EXITED: but for brig-init nobody is left in the cell. */
#define WIRE_ALONE 0x100u

#define WIRE_FDS_MAX 9
/* With WIRE_CLONE: control, 0, 1, 2, go, order, value, channel; and /dev if it is the cell's. */
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
/* Pure: checks a record against the state; moves the state on, or -EPROTO. */
int wire_check(enum wire_state *state, const struct wire_record *record, unsigned fds_count);
#endif
