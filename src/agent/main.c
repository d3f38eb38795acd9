/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brig's agent: the first process of a cell that another technology has built.
 *
 * Theory of operation. Its standard input and output are one byte stream to brig, which may be a
 * socket of this kernel or the port of a virtual machine. It reports that it is ready, receives
 * its assignment, starts the program, and passes on the program's streams in both directions:
 *
 *	brig    directory, arguments, variables, limits, filter, files, start
 *	agent   started, output..., input taken..., exited, files...
 *
 * It reads from the stream all the time, so a signal for the program arrives even while its output
 * waits. The program's output is read only when the last piece has left: a reader that is slow
 * makes the program wait, and nothing piles up here. Input is bounded by a window. The end of the
 * program is its own, not that of its pipes: an orphan that keeps them open delays nothing. When
 * the stream ends, the agent ends, and as the first process of its namespace it takes all others
 * with it.
 *
 * A cell that shares no file system with brig has its files returned over the stream: when all
 * processes but the agent are dead, it walks the directory.
 *
 * Privileges: those that the cell gives to its program, from the first instruction on. It cannot
 * be traced or read by the program (not dumpable). A program that takes it over nevertheless can
 * report lies about its own run, and nothing more.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/clock.h"

#define FRAMES_A_TURN 16
#define SAMPLE_MS     100

void agent_send(struct agent *agent, enum frame_kind kind, const void *data, uint32_t size)
{
	unsigned char *at = agent->outbox + agent->out_size;

	if (size + FRAME_HEAD_BYTES > sizeof(agent->outbox) - agent->out_size) {
		_exit(125); /* more replies than brig's frames can cause */
	}
	frame_put_head(at, kind, size);
	if (size) {
		memcpy(at + FRAME_HEAD_BYTES, data, size);
	}
	agent->out_size += FRAME_HEAD_BYTES + size;
}

void agent_fail(struct agent *agent, enum frame_step step, int errnum)
{
	unsigned char data[8];

	frame_put_u32(data, (uint32_t)step);
	frame_put_u32(data + 4, (uint32_t)errnum);
	agent_send(agent, FRAME_FAILED, data, sizeof(data));
	agent->state = AGENT_OVER;
}

int agent_lift(int fd)
{
	int above = fcntl(fd, F_DUPFD_CLOEXEC, AGENT_ROOM_FDS);

	if (above < 0) {
		above = fcntl(fd, F_DUPFD_CLOEXEC, 3); /* it has no numbers there */
	}
	close(fd);
	return above;
}

/* --- frames ----------------------------------------------------------------------------------- */

static void send_signal(const struct agent *agent, uint32_t number)
{
	if (agent->state == AGENT_RUNNING && number > 0 && number < 65) {
		kill(-agent->program, (int)number);
	}
}

static void start(struct agent *agent)
{
	enum frame_step step = FRAME_STEP_SPAWN;

	disk_begin(agent);
	int r = network_seal(agent);
	if (r < 0) {
		agent_fail(agent, FRAME_STEP_NETWORK, -r);
		return;
	}
	r = agent->state == AGENT_HOLDS ? waiting_go(agent, &step) : program_start(agent, &step);
	if (r < 0) {
		agent_fail(agent, step, -r);
		return;
	}
	agent->state = AGENT_RUNNING;
	agent->alone = false;
	agent_send(agent, FRAME_STARTED, NULL, 0);
}

/* Brig is trusted: a frame that cannot be right means that this is not brig. */
static void take(struct agent *agent, const struct frame_head *head, const unsigned char *data)
{
	enum frame_step step = FRAME_STEP_ASSIGNMENT;
	int r = 0;

	switch (head->kind) {
	case FRAME_START:
		if (agent->state == AGENT_WAITING || agent->state == AGENT_HOLDS) {
			start(agent);
		}
		break;
	case FRAME_WAIT:
		if (agent->state == AGENT_WAITING) {
			r = waiting_start(agent, data, head->size, &step);
		}
		break;
	case FRAME_INPUT:
		relay_add(&agent->input, data, head->size);
		break;
	case FRAME_INPUT_END:
		agent->input.end = true;
		break;
	case FRAME_TO_DRIVER:
		relay_add(&agent->to_driver, data, head->size);
		break;
	case FRAME_TO_DRIVER_END:
		agent->to_driver.end = true;
		break;
	case FRAME_MARK:
		relay_mark(agent);
		break;
	case FRAME_FROM_GATE:
		network_take(agent, data, head->size);
		break;
	case FRAME_SIGNAL:
		send_signal(agent, frame_get_u32(data));
		break;
	default:
		if (agent->state == AGENT_WAITING || agent->state == AGENT_HOLDS) {
			r = assignment_take(agent, head, data, &step);
		}
		break;
	}
	if (r < 0) {
		agent_fail(agent, step, -r);
	}
}

/* Receives some bytes of the current frame. 1: there may be more; 0: not now. */
static int receive(struct agent *agent)
{
	struct frame_head head = { 0 };
	size_t want = FRAME_HEAD_BYTES;

	if (agent->have >= FRAME_HEAD_BYTES) {
		if (frame_get_head(agent->frame, &head) < 0) {
			agent_leave(agent);
		}
		want += head.size;
	}
	if (agent->have < want) {
		ssize_t n = read(agent->in, agent->frame + agent->have, want - agent->have);
		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			return 0;
		}
		if (n <= 0) {
			agent_leave(agent);
		}
		agent->have += (size_t)n;
		return 1;
	}
	agent->have = 0;
	take(agent, &head, agent->frame + FRAME_HEAD_BYTES);
	return 1;
}

/* A head and its data are two turns of receive(), and a frame without data one more. */
static void receive_some(struct agent *agent)
{
	for (unsigned i = 0; i < 3 * FRAMES_A_TURN && receive(agent); i++) {
	}
	/* A complete frame must not wait for the next byte of the stream. */
	struct frame_head head;
	while (agent->have >= FRAME_HEAD_BYTES && frame_get_head(agent->frame, &head) == 0 &&
	       agent->have == FRAME_HEAD_BYTES + head.size) {
		receive(agent);
	}
}

static void flush(struct agent *agent)
{
	while (agent->out_at < agent->out_size) {
		ssize_t n = write(agent->out, agent->outbox + agent->out_at,
				  agent->out_size - agent->out_at);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0 && errno == EAGAIN) {
			return;
		}
		if (n <= 0) {
			agent_leave(agent);
		}
		agent->out_at += (size_t)n;
	}
	agent->out_at = agent->out_size = 0;
	if (agent->state == AGENT_OVER) {
		agent_finish(agent);
	}
}

/* --- the loop --------------------------------------------------------------------------------- */

/* The program has ended, and all of its output was passed on. */
static void send_end(struct agent *agent)
{
	unsigned char data[FRAME_EXIT_BYTES];

	if (agent->value >= 0) {
		value_send(agent);
	}
	if (agent->returns) {
		disk_sample(agent);
		frame_put_disk(data, &agent->disk);
		agent_send(agent, FRAME_DISK, data, FRAME_DISK_BYTES);
	}
	frame_put_exit(data, &agent->end);
	agent_send(agent, FRAME_EXITED, data, sizeof(data));
	agent->state = agent->returns ? AGENT_RETURNING : AGENT_OVER;
}

/* Queues what is due next. */
static void produce(struct agent *agent)
{
	if (agent->state == AGENT_RETURNING && agent->alone) {
		files_out_send(agent);
	}
	/* Bytes that the program has sent before its end are within the windows. */
	if (agent->state == AGENT_DRAINING && !relay_read(agent) && !network_read(agent)) {
		send_end(agent);
	}
}

/* How long nothing needs to be done, unless a descriptor announces it. */
static int patience_ms(const struct agent *agent)
{
	bool due = agent->input.taken || agent->to_driver.taken || agent->marks ||
		   (agent->state == AGENT_RUNNING && agent->network.due) ||
		   agent->state == AGENT_DRAINING ||
		   (agent->state == AGENT_RETURNING && agent->alone);

	if (agent->out_size == 0 && due) {
		return 0;
	}
	return agent->returns && agent->state == AGENT_RUNNING ? SAMPLE_MS : -1;
}

/* A busy program, too, is looked at. */
static void sample_sometimes(struct agent *agent)
{
	uint64_t now = clock_now_ns();

	if (agent->returns && agent->state == AGENT_RUNNING && now >= agent->sample_ns) {
		agent->sample_ns = now + SAMPLE_MS * 1000000ull;
		disk_sample(agent);
	}
}

static struct pollfd feed_event(const struct agent *agent, const struct agent_feed *feed)
{
	bool feeds = feed->at < feed->size;

	return (struct pollfd){ .fd = agent->state == AGENT_RUNNING ? feed->fd : -1,
				.events = feeds ? POLLOUT : 0 };
}

static void turn(struct agent *agent)
{
	bool idle = agent->out_size == 0, runs = agent->state == AGENT_RUNNING;
	bool hears = runs || agent->state == AGENT_HOLDING;
	struct pollfd ready[] = {
		{ .fd = agent->in, .events = POLLIN },
		{ .fd = idle ? -1 : agent->out, .events = POLLOUT },
		{ .fd = agent->signals, .events = POLLIN },
		feed_event(agent, &agent->input),
		feed_event(agent, &agent->to_driver),
		{ .fd = idle && runs ? agent->output[AGENT_STDOUT] : -1, .events = POLLIN },
		{ .fd = idle && runs ? agent->output[AGENT_STDERR] : -1, .events = POLLIN },
		{ .fd = idle && hears ? agent->output[AGENT_FROM_DRIVER] : -1, .events = POLLIN },
		{ .fd = idle && runs ? agent->network.readable : -1, .events = POLLIN },
		{ .fd = runs ? agent->network.writable : -1, .events = POLLIN },
	};

	int count = poll(ready, sizeof(ready) / sizeof(ready[0]), patience_ms(agent));
	if (count < 0 && errno != EINTR) {
		agent_leave(agent);
	}
	sample_sometimes(agent);
	if (ready[0].revents) {
		receive_some(agent);
	}
	if (ready[2].revents) {
		agent_reap(agent);
	}
	if (agent->state == AGENT_RUNNING) {
		relay_write(agent);
		network_write(agent);
	}
	if (agent->out_size == 0) {
		/* Before any output: the answer to a mark divides it. */
		relay_report(agent);
		if (agent->state == AGENT_RUNNING) {
			network_read(agent);
		}
		if (agent->state == AGENT_HOLDING && ready[7].revents) {
			waiting_hear(agent);
		}
		if (agent->state == AGENT_RUNNING &&
		    (ready[5].revents || ready[6].revents || ready[7].revents)) {
			relay_read(agent);
		}
		produce(agent);
	}
	flush(agent);
}

static int set_up(struct agent *agent)
{
	unsigned char version[4];
	sigset_t all;

	/* Blocked, SIGPIPE too: a write reports it. */
	sigfillset(&all);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || sigprocmask(SIG_SETMASK, &all, NULL) < 0 ||
	    fcntl(agent->in, F_SETFL, O_RDWR | O_NONBLOCK) < 0 ||
	    fcntl(agent->out, F_SETFL, O_RDWR | O_NONBLOCK) < 0) {
		return -errno;
	}
	sigset_t children;
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	agent->signals = agent_lift(signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
	if (agent->signals < 0) {
		return -errno;
	}
	umask(022);
	frame_put_u32(version, FRAME_VERSION);
	agent_send(agent, FRAME_READY, version, sizeof(version));
	return 0;
}

/*
 * A runtime may have left descriptors of the host open: the program gets none of them. gVisor takes
 * the numbers as signed, and has no such call before 2023.
 */
static int close_descriptors(void)
{
	if (syscall(SYS_close_range, 3u, (unsigned)INT_MAX, 0u) == 0) {
		return 0;
	}
	DIR *list = opendir("/proc/self/fd");
	if (!list) {
		return -errno;
	}
	for (struct dirent *entry; (entry = readdir(list));) {
		long fd = strtol(entry->d_name, NULL, 10);
		if (fd > 2 && fd != dirfd(list)) {
			close((int)fd);
		}
	}
	return closedir(list);
}

int main(int argc, char **argv)
{
	static struct agent agent; /* large, and all zero in the file */

	if (argc > 1 && strcmp(argv[1], FRAME_AGENT_STAYS) == 0) {
		agent.stays = true;
		argc--;
		argv++;
	}
	if (close_descriptors() < 0 || (argc > 1 && own_places(argv + 1) < 0)) {
		return 125;
	}
	network_init(&agent);
	agent.file = agent.input.fd = agent.to_driver.fd = agent.value = -1;
	for (int i = 0; i < AGENT_OUTPUTS; i++) {
		agent.output[i] = -1;
	}
	/* The numbers 0 to 2 are the program's. */
	agent.in = agent_lift(0);
	agent.out = agent_lift(1);
	if (agent.in < 0 || agent.out < 0 || set_up(&agent) < 0) {
		return 125;
	}
	for (;;) {
		turn(&agent);
	}
}
