/* A run's events: one handler each, dispatched by a table. See run.h. */
#include "core/run.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "core/run_internal.h"
#include "kernel/sys.h"

/* From the kill to the last process gone. Longer means: stuck in the kernel. */
#define KILL_PATIENCE_NS 10000000000ull
/* Trusted local runs have no pid namespace: brig-init is asked to kill first. */
#define ASK_PATIENCE_NS 3000000000ull

int run_listen(struct run *run, int fd, enum run_event event, uint32_t events)
{
	struct epoll_event want = { .events = events, .data = { .u32 = event } };

	return epoll_ctl(run->epoll, EPOLL_CTL_ADD, fd, &want) < 0 ? -errno : 0;
}

int run_arm(struct run *run)
{
	uint64_t now = clock_now_ns();
	if (run->state == RUN_HELD) {
		struct itimerspec never = { 0 };
		return timerfd_settime(run->timer, 0, &never, NULL) < 0 ? -errno : 0;
	}
	uint64_t next = run->state >= RUN_ENDING ? run->kill_deadline_ns
						 : watch_next_ns(&run->watch, now, &run->facts);
	struct itimerspec when = { .it_value = { .tv_sec = (time_t)(next / 1000000000u),
						 .tv_nsec = (long)(next % 1000000000u) } };

	return timerfd_settime(run->timer, TFD_TIMER_ABSTIME, &when, NULL) < 0 ? -errno : 0;
}

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
}

void run_end(struct run *run, enum ending why)
{
	if (run->state >= RUN_ENDING) {
		return;
	}
	run->facts.ending = why;
	run->state = RUN_ENDING;
	run->kill_deadline_ns = clock_now_ns() + KILL_PATIENCE_NS;
	run_kill(run);
	run_arm(run);
}

static int on_timer(struct run *run)
{
	uint64_t expirations;
	uint64_t now = clock_now_ns();

	if (read(run->timer, &expirations, sizeof(expirations)) < 0 && errno != EAGAIN) {
		return -errno;
	}
	if (run->state == RUN_ENDING) {
		if (now >= run->kill_deadline_ns) {
			run->facts.stuck = true;
			return 1;
		}
		return run_arm(run);
	}
	enum ending due = watch_look(&run->watch, now, &run->facts);
	if (due != ENDING_NONE) {
		run_end(run, due);
		return 0;
	}
	return run_arm(run);
}

/* 0, -errno, or 1: the cell has ended. */
static int take_record(struct run *run, const struct wire_record *record, int *fds)
{
	switch (record->kind) {
	case WIRE_HANDLES:
		run->sandbox = run->watch.sandbox = TAKE_FD(fds[0]);
		run->proc = run->watch.proc = TAKE_FD(fds[1]);
		run->watch.init = run->cell.pid;
		/* Measured by brig-init: when this is read, the program may be writing already. */
		run->watch.disk_base_bytes = (uint64_t)record->value * 4096u;
		run->watch.inodes_base = record->status > 0 ? (uint64_t)record->status : 0;
		break;
	case WIRE_LISTENER:
		run->denials.listener = TAKE_FD(fds[0]);
		run->denials.killable = record->value == 1;
		return run_listen(run, run->denials.listener, RUN_EVENT_DENIAL, EPOLLIN);
	case WIRE_HELD:
		run->state = run->state == RUN_SETTING_UP ? RUN_HELD : run->state;
		/* What making the cell has used is not the program's. */
		watch_rebase(&run->watch, &run->facts);
		return run_arm(run);
	case WIRE_STARTED:
		/* Of a cell that has a driver this is not the program yet. */
		if (run->state <= RUN_ORDERED && run->driver.state == DRIVER_NONE) {
			run->state = RUN_RUNNING;
		}
		break;
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

static int on_control(struct run *run)
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
		if (taken != 0) {
			return taken;
		}
		if (!good) {
			epoll_ctl(run->epoll, EPOLL_CTL_DEL, run->cell.control, NULL);
			run_end(run, ENDING_PROTOCOL);
			return 0;
		}
	}
}

static int on_output(struct run *run, int index)
{
	struct stream *stream = &run->out[index];
	int r = stream->fd < 0 ? 0 : stream_pump(stream);

	if (r < 0) {
		return r;
	}
	if (r == 0 && stream->fd >= 0) {
		/* By hand: a copy in a process that the host forked would keep it there. */
		epoll_ctl(run->epoll, EPOLL_CTL_DEL, stream->fd, NULL);
		close_fd(&stream->fd);
	}
	if (stream_truncated(stream) && !run->options.cut_output) {
		run_end(run, index ? ENDING_STDERR : ENDING_STDOUT);
	}
	return 0;
}

static int on_stdout(struct run *run)
{
	return on_output(run, 0);
}

static int on_stderr(struct run *run)
{
	return on_output(run, 1);
}

static int on_stdin(struct run *run)
{
	if (run->in.fd >= 0) {
		feed_pump(&run->in);
	}
	return 0;
}

static int on_init(struct run *run)
{
	siginfo_t info = { 0 };
	struct rusage used = { 0 };

	/* The raw call: glibc's waitid has no room for the usage of all that pid 1 has reaped. */
	int r = sys_result(syscall(SYS_waitid, P_PIDFD, run->cell.pidfd, &info,
				   WEXITED | WNOHANG | __WALL, &used));
	if (r == -ECHILD && run->cell.foreign) {
		run->cell.pid = 0;
		return 1; /* its keeper waits for it; that the fd is readable says that it ended */
	}
	if (r < 0) {
		return r;
	}
	if (info.si_pid == 0) {
		return 0;
	}
	uint64_t cpu_us = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000u +
			  (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
	uint64_t before = run->watch.cpu_base_ns;
	uint64_t used_ns = cpu_us * 1000u > before ? cpu_us * 1000u - before : 0;
	if (!run->cell.group && run->facts.cpu_ns < used_ns) {
		run->facts.cpu_ns = used_ns;
	}
	if (run->facts.memory_peak_bytes == 0) {
		run->facts.memory_peak_bytes = (uint64_t)used.ru_maxrss * 1024u;
	}
	run->cell.pid = 0;
	return 1;
}

/* Brig-init, and who has said that it is done. */
#define PARKED_TASKS 2

/*
 * Somebody in the cell is done: see done.h. Whoever it is, a program or a child of it, true or not:
 * it sleeps. If it is alone, the cell is at rest, and what can be seen of it now is all that there
 * will ever be. 1: that is the end; 0: not now.
 */
static int take_done(struct run *run)
{
	bool runs = run->state == RUN_ORDERED || run->state == RUN_RUNNING;
	bool driven = run->driver.state == DRIVER_NONE || run->driver.state == DRIVER_DONE;

	/* Only what is buried later; and brig-init's word on how it ended comes first. */
	if (!run->options.warm || !runs || !driven || run->setup_errnum || run->facts.exited) {
		return 0;
	}
	enum ending due = watch_look(&run->watch, clock_now_ns(), &run->facts);
	if (due != ENDING_NONE) {
		run_end(run, due);
		return 0;
	}
	if (run->facts.tasks_now != PARKED_TASKS) {
		return 0;
	}
	run->parked = run->facts.exited = true;
	run->facts.end_code = CLD_EXITED;
	run->facts.end_status = run->denials.done_status;
	return 1;
}

static int on_denial(struct run *run)
{
	bool hears = denials_hear(&run->denials);
	if (run->denials.done) {
		int r = on_control(run);
		if (r == 0) {
			r = take_done(run);
		}
		if (r != 0) {
			return r;
		}
		/* Who is being killed need not wake up for it. */
		hears = run->state >= RUN_ENDING || denials_dismiss(&run->denials);
		run->denials.done = false;
	}
	if (!hears) {
		/*
		 * Taken out by name: brig-init may hold a copy, and a close alone would not do
		 * it.
		 */
		epoll_ctl(run->epoll, EPOLL_CTL_DEL, run->denials.listener, NULL);
		denials_done(&run->denials);
	}
	if (run->options.denials_max && run->denials.first.count > run->options.denials_max) {
		run_end(run, ENDING_DENIALS);
	}
	return 0;
}

static int on_group(struct run *run)
{
	cgroup_event_clear(run->cell.group);
	enum ending due = watch_look(&run->watch, clock_now_ns(), &run->facts);
	if (due != ENDING_NONE) {
		run_end(run, due);
	}
	return 0;
}

/* Each returns 1 when the cell has ended, 0 to go on, or -errno. */
static int (*const handlers[RUN_EVENTS])(struct run *) = {
	[RUN_EVENT_TIMER] = on_timer,     [RUN_EVENT_CONTROL] = on_control,
	[RUN_EVENT_STDOUT] = on_stdout,   [RUN_EVENT_STDERR] = on_stderr,
	[RUN_EVENT_STDIN] = on_stdin,     [RUN_EVENT_INIT] = on_init,
	[RUN_EVENT_DENIAL] = on_denial,   [RUN_EVENT_GROUP] = on_group,
	[RUN_EVENT_ORDER] = run_on_order, [RUN_EVENT_DRIVER] = run_on_driver,
};

/* The group's event fd is known only when the scope exists; it is added at the first chance. */
static void watch_group(struct run *run)
{
	short events = 0;
	int fd = run->cell.group ? cgroup_event_fd(run->cell.group, &events) : -1;

	if (!run->group_watched && fd >= 0) {
		run->group_watched = true;
		run_listen(run, fd, RUN_EVENT_GROUP, events == POLLPRI ? EPOLLPRI : EPOLLIN);
	}
}

/* Its death takes longer than it has lived, perhaps on our processor: it must not go first. */
static void kill_parked(struct run *run)
{
	struct sched_param same = { 0 };

	sched_setscheduler(run->denials.done_pid, SCHED_BATCH, &same);
	run_kill(run);
}

int run_step(struct run *run, struct brig_error *err)
{
	struct epoll_event ready[RUN_EVENTS];
	bool ended = false;

	if (run->state == RUN_DONE) {
		return 1;
	}
	watch_group(run);
	int count = epoll_wait(run->epoll, ready, RUN_EVENTS, 0);
	if (count < 0 && errno != EINTR) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "cannot watch the cell");
	}
	for (int i = 0; i < count; i++) {
		enum run_event event = ready[i].data.u32;
		if (event >= RUN_EVENTS) {
			continue;
		}
		int r = handlers[event](run);
		if (r < 0) {
			run_end(run, ENDING_PROTOCOL);
			return error_errno(err, BRIG_E_SYSTEM, -r,
					   "cannot handle the cell's event");
		}
		ended |= r == 1;
	}
	if (!ended) {
		return 0;
	}
	run->state = RUN_DONE;
	int r = run_finish(run, err);
	if (run->parked) {
		kill_parked(run);
	}
	return r < 0 ? r : 1;
}

int run_wait(struct run *run, struct brig_error *err)
{
	for (;;) {
		int r = run_step(run, err);
		if (r != 0) {
			return r < 0 ? r : 0;
		}
		struct pollfd ready = { .fd = run->epoll, .events = POLLIN };
		poll(&ready, 1, -1);
	}
}

long run_feed(struct run *run, const void *data, size_t size)
{
	return feed_add(&run->in, data, size);
}

void run_feed_end(struct run *run)
{
	run->in.open = false;
	feed_pump(&run->in);
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
	close_fd(&run->sandbox);
	close_fd(&run->proc);
	close_fd(&run->value);
	close_fd(&run->order);
	close_fd(&run->go);
	close_fd(&run->cell.go[0]);
	close_fd(&run->timer);
	close_fd(&run->epoll);
	if (run->took_ns) {
		munmap(run->took_ns, sizeof(uint64_t) * PLAN_STEPS_MAX);
	}
	plan_done(&run->plan);
	brig_result_free(run->result);
	free(run);
}
