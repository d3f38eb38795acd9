/* SPDX-License-Identifier: Apache-2.0 */
/* What brig-init says of its cell, record by record: see wire.h. */
#include <errno.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "run/run_internal.h"

/* 0, -errno, or 1: the cell has ended. -EPROTO: nobody asked for it. */
static int take_record(struct run *run, const struct wire_record *record, int *fds)
{
	switch (record->kind) {
	case WIRE_HANDLES:
		run->sandbox = run->watch.sandbox = TAKE_FD(fds[0]);
		run->proc = run->watch.proc = TAKE_FD(fds[1]);
		if (run->options.spec->watch_memory) {
			run->sockets = run->watch.sockets = TAKE_FD(fds[2]);
		}
		run->names.fd = TAKE_FD(fds[3]);
		run->watch.init = run->cell.pid;
		/* Measured by brig-init: when this is read, the program may be writing already. */
		run->watch.disk_base_bytes = (uint64_t)record->value * 4096u;
		run->watch.inodes_base = record->status > 0 ? (uint64_t)record->status : 0;
		break;
	case WIRE_LISTENER:
		run->denials.listener = TAKE_FD(fds[0]);
		run->denials.parks = record->value == 1 && run->options.spec->parks;
		return run_listen(run, run->denials.listener, RUN_EVENT_DENIAL, EPOLLIN);
	case WIRE_HELD:
		run->state = run->state == RUN_SETTING_UP ? RUN_HELD : run->state;
		/* What making the cell has used is not the program's. */
		watch_rebase(&run->watch, &run->facts);
		return run_arm(run);
	case WIRE_STARTED:
		/* Of a cell that has a driver this is not the program yet. */
		if (run->state <= RUN_ASSIGNED && run->driver.state == DRIVER_NONE) {
			run->state = RUN_RUNNING;
		}
		run_grace_begun(run);
		break;
	case WIRE_THIS:
		return run_grace_tell(run, fds[0]) ? 0 : -EPROTO;
	case WIRE_FAILED:
		run->setup_errnum = record->errnum > 0 ? record->errnum : EIO;
		run->setup_step = record->value;
		break;
	case WIRE_EXITED:
		run_take_end(run, record);
		/* systemd removes a scope as soon as it is empty: this is the last look inside. */
		if (run->cell.group && !run->options.spec->join_by_write &&
		    cgroup_clone_fd(run->cell.group) < 0) {
			watch_look(&run->watch, clock_now_ns(), &run->facts);
		}
		/* Only what is buried later: else the caller would have to wait for the kernel. */
		if (!run->options.warm) {
			return 0;
		}
		/* A kill that is under way has the last word. */
		return run->state < RUN_ENDING && (record->value & WIRE_ALONE) ? 1 : 0;
	default:
		break;
	}
	return 0;
}

int run_on_control(struct run *run)
{
	for (;;) {
		struct wire_record record;
		int fds[WIRE_FDS_MAX] = { [0 ... WIRE_FDS_MAX - 1] = -1 };
		unsigned count;
		int r = wire_receive(run->cell.control, &record, fds, &count);
		if (r == -EAGAIN) {
			return 0;
		}
		if (r == 0) {
			epoll_ctl(run->epoll, EPOLL_CTL_DEL, run->cell.control, NULL);
			return 0;
		}
		if (r == -EMFILE) {
			return r;
		}
		bool good = r == 1 && wire_check(&run->wire, &record, count) == 0;
		if (good && record.kind == WIRE_FAILED && record.value >= run->plan.count) {
			good = false;
		}
		int taken = good ? take_record(run, &record, fds) : 0;
		for (int i = 0; i < WIRE_FDS_MAX; i++) {
			close_fd(&fds[i]);
		}
		if (taken != 0 && taken != -EPROTO) {
			return taken;
		}
		/* Nothing more is read: what there is, and how much, would be up to the cell. */
		if (!good || taken == -EPROTO) {
			epoll_ctl(run->epoll, EPOLL_CTL_DEL, run->cell.control, NULL);
			run_end(run, ENDING_PROTOCOL);
			return 0;
		}
	}
}
