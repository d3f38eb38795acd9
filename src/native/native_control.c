/* SPDX-License-Identifier: Apache-2.0 */
/* Handles the records that brig-init sends: see wire.h. */
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "native/native_internal.h"

#define LAST_MESSAGES_MAX 16u /* more than brig-init sends */

static void take_failure(struct run *run, const struct wire_record *record)
{
	native_build_failed(run, record->value, record->errnum > 0 ? record->errnum : EIO);
}

static void take_end(struct run *run, const struct wire_record *record)
{
	run_take_end(run, (int)(record->value & ~WIRE_ALONE), record->status, record->cpu_ns);
}

/* 0, -errno, or 1: the cell has ended. -EPROTO: it was not requested. */
static int take_record(struct run *run, const struct wire_record *record, int *fds)
{
	struct native_cell *native = native_of(run);
	switch (record->kind) {
	case WIRE_HANDLES:
		run->sandbox = run->watch.sandbox = TAKE_FD(fds[0]);
		native->proc = run->watch.proc = TAKE_FD(fds[1]);
		if (run->options.spec->watch_memory) {
			native->sockets = run->watch.sockets = TAKE_FD(fds[2]);
		}
		native->names.fd = TAKE_FD(fds[3]);
		run->watch.init = native->cell.pid;
		/*
		 * Measured by brig-init: when this record is read, the program may already be
		 * writing.
		 */
		run->watch.disk_base_bytes = (uint64_t)record->value * 4096u;
		run->watch.inodes_base = record->status > 0 ? (uint64_t)record->status : 0;
		break;
	case WIRE_LISTENER:
		native->calls.denials.listener = TAKE_FD(fds[0]);
		native->calls.denials.parks = record->value == 1 && run->options.spec->parks;
		return call_listener_add(&native->calls);
	case WIRE_HELD:
		/* Else a program could run in a cell whose limits are not watched. */
		return spec_traits(run->options.spec)->held ? run_held(run) : -EPROTO;
	case WIRE_STARTED:
		/* In a cell with a driver this is not the program yet. */
		if (run->state <= RUN_ASSIGNED && native->driver.state == DRIVER_NONE) {
			run_enter(run, RUN_RUNNING);
		}
		run_begun(run);
		break;
	case WIRE_PROGRAM:
		return native_take_program(run, fds[0]) ? 0 : -EPROTO;
	case WIRE_FAILED:
		take_failure(run, record);
		break;
	case WIRE_EXITED:
		take_end(run, record);
		run_look_last(run);
		/*
		 * A kill that is under way takes precedence. And only for cells made ahead, which
		 * are freed later: else the caller would have to wait for the kernel.
		 */
		return run->state < RUN_ENDING && (record->value & WIRE_ALONE) &&
				       spec_traits(run->options.spec)->ahead
			       ? 1
			       : 0;
	default:
		break;
	}
	return 0;
}

int native_on_control(struct run *run)
{
	struct native_cell *native = native_of(run);
	for (;;) {
		struct wire_record record;
		int fds[WIRE_FDS_MAX] = { [0 ... WIRE_FDS_MAX - 1] = -1 };
		unsigned count;
		int r = wire_receive(native->cell.control, &record, fds, &count);
		if (r == -EAGAIN) {
			return 0;
		}
		if (r == 0) {
			epoll_ctl(run->epoll, EPOLL_CTL_DEL, native->cell.control, NULL);
			return 0;
		}
		if (r == -EMFILE) {
			return r;
		}
		bool good = r == 1 && wire_check(&native->wire, &record, count) == 0;
		if (good && record.kind == WIRE_FAILED && record.value >= native->plan.count) {
			good = false;
		}
		int taken = good ? take_record(run, &record, fds) : 0;
		for (int i = 0; i < WIRE_FDS_MAX; i++) {
			close_fd(&fds[i]);
		}
		if (taken != 0 && taken != -EPROTO) {
			return taken;
		}
		/* Nothing more is read: the cell would decide what and how much. */
		if (!good || taken == -EPROTO) {
			epoll_ctl(run->epoll, EPOLL_CTL_DEL, native->cell.control, NULL);
			run_end(run, ENDING_PROTOCOL);
			return 0;
		}
	}
}

static bool is_in_place(struct run *run, const struct wire_record *record, unsigned fds_count)
{
	/* The response to a request may come too late, but it must have been requested. */
	return wire_check(&native_of(run)->wire, record, fds_count) == 0 &&
	       (record->kind != WIRE_PROGRAM || native_take_program(run, -1));
}

void native_last_messages(struct run *run)
{
	struct native_cell *native = native_of(run);
	struct wire_record record;
	int fds[WIRE_FDS_MAX];
	unsigned count;

	for (unsigned i = 0; i < LAST_MESSAGES_MAX; i++) {
		if (wire_receive(native->cell.control, &record, fds, &count) != 1) {
			return;
		}
		for (unsigned j = 0; j < count; j++) {
			close(fds[j]);
		}
		if (!is_in_place(run, &record, count)) {
			return;
		}
		if (record.kind == WIRE_FAILED && record.value < native->plan.count) {
			take_failure(run, &record);
		} else if (record.kind == WIRE_EXITED) {
			take_end(run, &record);
		}
	}
}
