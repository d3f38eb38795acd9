/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a cell by force, and of all that was held for it. */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/sys.h"
#include "run/run_internal.h"

/* From the kill to the last process gone. Longer means: stuck in the kernel. */
#define KILL_PATIENCE_NS 10000000000ull
/* Trusted local runs have no pid namespace: brig-init is asked to kill first. */
#define ASK_PATIENCE_NS 3000000000ull

/* SIGKILL to pid 1 is SIGKILL to the namespace; the cgroup does it in one go where it can. */
void run_kill(struct run *run)
{
	bool local = !(run->options.spec->layers & LAYER_BIT(LAYER_PIDNS));

	if (run->cell.group) {
		cgroup_kill(run->cell.group);
	}
	if (local) {
		shutdown(run->cell.control, SHUT_WR);
	} else {
		sys_pidfd_send_signal(run->cell.pidfd, SIGKILL);
	}
	/* Afterwards: before it the program itself would have had it. */
	if (run->cell.group) {
		cgroup_hurry(run->cell.group);
	}
}

void run_end(struct run *run, enum ending why)
{
	if (run->state < RUN_ENDING && !run_grace_begin(run, why)) {
		run_end_now(run, why);
	}
}

void run_end_now(struct run *run, enum ending why)
{
	if (run->state >= RUN_ENDING) {
		return;
	}
	/* The verdict of one that had a time of grace stands. */
	run->facts.ending = run->grace_end_ns ? run->facts.ending : why;
	run->state = RUN_ENDING;
	run->kill_deadline_ns = clock_now_ns() + KILL_PATIENCE_NS;
	run_kill(run);
	run_arm(run);
}

/* Nothing of the cell may outlive its handle: kills, and waits for the kernel to be done. */
static void reap_now(struct run *run)
{
	struct pollfd dead = { .fd = run->cell.pidfd, .events = POLLIN };
	siginfo_t info;
	bool local = !(run->options.spec->layers & LAYER_BIT(LAYER_PIDNS));

	if (run->cell.pidfd < 0 || run->cell.pid == 0) {
		return;
	}
	run_kill(run);
	if (local && poll(&dead, 1, (int)(ASK_PATIENCE_NS / 1000000u)) <= 0) {
		sys_pidfd_send_signal(run->cell.pidfd, SIGKILL);
	}
	if (poll(&dead, 1, (int)(KILL_PATIENCE_NS / 1000000u)) > 0) {
		syscall(SYS_waitid, P_PIDFD, run->cell.pidfd, &info, WEXITED | __WALL, NULL);
	}
}

void run_free(struct run *run)
{
	if (!run) {
		return;
	}
	reap_now(run);
	denials_done(&run->denials);
	cgroup_free(run->cell.group);
	close_fd(&run->cell.pidfd);
	close_fd(&run->cell.control);
	close_fd(&run->cell.control_inside);
	for (int i = 0; i < 3; i++) {
		close_fd(&run->cell.stdio[i]);
	}
	watch_done(&run->watch);
	stream_done(&run->out[0]);
	stream_done(&run->out[1]);
	feed_done(&run->in);
	run_driver_done(run);
	run_gate_done(run);
	close_fd(&run->sandbox);
	close_fd(&run->proc);
	close_fd(&run->sockets);
	close_fd(&run->names.fd);
	close_fd(&run->value);
	close_fd(&run->assignment);
	close_fd(&run->go);
	close_fd(&run->channel);
	close_fd(&run->cell.go[0]);
	close_fd(&run->cell.channel_fd);
	run_detach(run);
	close_fd(&run->timer);
	close_fd(&run->epoll);
	if (run->took_ns) {
		munmap(run->took_ns, sizeof(uint64_t) * PLAN_STEPS_MAX);
	}
	plan_done(&run->plan);
	collect_free(run->files);
	brig_result_free(run->result);
	free(run);
}
