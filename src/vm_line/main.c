/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brig-vm-line: the program between brig and the monitor of a virtual machine whose only stream is
 * a serial port.
 *
 *	brig-vm-line stdio|SOCKET MONITOR ARGUMENT...
 *
 * Theory of operation. Its standard input is a socket to brig. It starts the monitor, whose serial
 * port is its standard input and output (two pipes), or a Unix socket at the path SOCKET on which
 * the monitor listens. Then it passes bytes on in both directions, as packets on the side of the
 * machine (line.h), until the guest says that this is the end, or brig leaves. Reports of the
 * guest, and faults of the line, go to standard error. Its end is that of the machine: it kills the
 * monitor, and the kernel does if it is killed itself.
 *
 * Its exit status: 0; the monitor's, if that has ended by itself; or 1.
 *
 * Privileges: those of the monitor, which are none: the holder has dropped all before. It parses
 * what a hostile guest sends, and passes bytes on that brig does not trust either.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "vm_line/line.h"

#define LOOK_MS   10
#define END_LOOKS 100 /* for the exit status of a monitor whose port is closed */

struct monitor {
	pid_t pid;
	int status; /* of waitpid, once pid is 0 */
	int in[2], out[2];
};

static void pause_ms(void)
{
	poll(NULL, 0, LOOK_MS);
}

/* True: it has ended. */
static bool look(struct monitor *monitor)
{
	if (monitor->pid > 0 && waitpid(monitor->pid, &monitor->status, WNOHANG) == monitor->pid) {
		monitor->pid = 0;
	}
	return monitor->pid == 0;
}

static void end_monitor(struct monitor *monitor)
{
	if (monitor->pid > 0) {
		kill(monitor->pid, SIGKILL);
		waitpid(monitor->pid, NULL, 0);
	}
}

/* --- the start -------------------------------------------------------------------------------- */

static _Noreturn void become_monitor(const struct monitor *monitor, bool stdio, char **command)
{
	signal(SIGPIPE, SIG_DFL);
	/* A monitor with a socket has an input that is silent, and prints to the log. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && dup2(monitor->in[0], 0) == 0 &&
	    dup2(stdio ? monitor->out[1] : 2, 1) == 1) {
		execv(command[0], command);
	}
	fprintf(stderr, "cannot execute %.200s: %s\n", command[0], strerror(errno));
	_exit(127);
}

static int start(struct monitor *monitor, bool stdio, char **command)
{
	if (pipe2(monitor->in, O_CLOEXEC) < 0 || pipe2(monitor->out, O_CLOEXEC) < 0) {
		return -errno;
	}
	monitor->pid = fork();
	if (monitor->pid < 0) {
		return -errno;
	}
	if (monitor->pid == 0) {
		become_monitor(monitor, stdio, command);
	}
	close(monitor->in[0]);
	close(monitor->out[1]);
	return 0;
}

/* The socket is there as soon as the monitor has made it. */
static int connect_to(struct monitor *monitor, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(address.sun_path)) {
		return -ENAMETOOLONG;
	}
	memcpy(address.sun_path, path, strlen(path) + 1);
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		return -errno;
	}
	while (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		bool soon = errno == ENOENT || errno == ECONNREFUSED || errno == EINTR;
		if (!soon) {
			return -errno;
		}
		if (look(monitor)) {
			return -EPIPE;
		}
		pause_ms();
	}
	return TAKE_FD(fd);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* The monitor's own end is the reason, if there is one. */
static int ended_alone(struct monitor *monitor)
{
	for (int i = 0; i < END_LOOKS && !look(monitor); i++) {
		pause_ms();
	}
	if (monitor->pid > 0) {
		fprintf(stderr, "the monitor has closed its serial port\n");
		return 1;
	}
	if (WIFSIGNALED(monitor->status)) {
		fprintf(stderr, "the monitor was killed by signal %d\n", WTERMSIG(monitor->status));
		return 1;
	}
	return WEXITSTATUS(monitor->status);
}

static void put_odd(const struct line *line)
{
	fprintf(stderr, "the serial port has bytes that are not brig's: ");
	for (size_t i = 0; i < line->odd_size && !line->met; i++) {
		unsigned char c = line->odd[i];
		fputc(c < 0x20 || c > 0x7e ? '?' : c, stderr);
	}
	fputc('\n', stderr);
}

static int report(const struct line *line, struct monitor *monitor, int r)
{
	switch (r) {
	case 0:
		return 0;
	case -EPIPE:
		return ended_alone(monitor);
	case -EPROTO:
		put_odd(line);
		return 1;
	case -ETIMEDOUT:
		fprintf(stderr, "bytes of the serial port were lost\n");
		return 1;
	default:
		fprintf(stderr, "the serial port fails: %s\n", strerror(-r));
		return 1;
	}
}

static int set_non_blocking(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int flags = fcntl(fds[i], F_GETFL);
		if (flags < 0 || fcntl(fds[i], F_SETFL, flags | O_NONBLOCK) < 0) {
			return -errno;
		}
	}
	return 0;
}

static int work(struct line *line, struct monitor *monitor, const char *where)
{
	bool stdio = where[0] != '/';
	int wire = stdio ? -1 : connect_to(monitor, where);

	if (!stdio && wire < 0) {
		return wire;
	}
	line_init(line, false);
	line->wire_in = stdio ? monitor->out[0] : wire;
	line->wire_out = stdio ? monitor->in[1] : wire;
	line->plain = 0;
	line->text = 2;
	const int ours[] = { line->wire_in, line->wire_out, line->plain };
	int r = set_non_blocking(ours, ARRAY_SIZE(ours));
	return r < 0 ? r : line_run(line);
}

int main(int argc, char **argv)
{
	static struct line line; /* large */
	struct monitor monitor = { .in = { -1, -1 }, .out = { -1, -1 } };

	if (argc < 3 || syscall(SYS_close_range, LINE_FIRST_FD, ~0u, 0) < 0) {
		return 125;
	}
	signal(SIGPIPE, SIG_IGN);
	int r = start(&monitor, argv[1][0] != '/', argv + 2);
	r = r < 0 ? r : work(&line, &monitor, argv[1]);
	int status = report(&line, &monitor, r);
	end_monitor(&monitor);
	return status;
}
