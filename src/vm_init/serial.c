/* SPDX-License-Identifier: Apache-2.0 */
/* The process between the streams of a machine and its serial port: see serial.h. */
#include "vm_init/serial.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "vm_line/line.h"

/* All bytes as they are, without echo, signals or flow control: the line has its own. */
static int make_raw(int port)
{
	struct termios settings;

	if (tcgetattr(port, &settings) < 0) {
		return -errno;
	}
	cfmakeraw(&settings);
	settings.c_cflag &= ~(tcflag_t)(CRTSCTS | CSTOPB | HUPCL);
	settings.c_cflag |= CLOCAL | CREAD;
	settings.c_cc[VMIN] = 1;
	settings.c_cc[VTIME] = 0;
	/* The fastest that every such port has: emulators wait by it before they announce input. */
	cfsetspeed(&settings, B115200);
	if (tcsetattr(port, TCSANOW, &settings) < 0 || tcflush(port, TCIOFLUSH) < 0) {
		return -errno;
	}
	return 0;
}

static _Noreturn void serve(int port, int plain, int text)
{
	static struct line line; /* large */

	signal(SIGPIPE, SIG_IGN);
	line_init(&line, true);
	line.wire_in = line.wire_out = port;
	line.plain = plain;
	line.text = text;
	_exit(line_run(&line) < 0);
}

int serial_start(int port, int *ret_stream, int *ret_report, pid_t *ret_pid)
{
	int ends[2] = { -1, -1 }, texts[2] = { -1, -1 };
	int r = make_raw(port);

	if (r == 0 && (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0 ||
		       pipe2(texts, O_CLOEXEC) < 0 || fcntl(ends[1], F_SETFL, O_NONBLOCK) < 0 ||
		       fcntl(texts[0], F_SETFL, O_NONBLOCK) < 0)) {
		r = -errno;
	}
	pid_t pid = r < 0 ? r : fork();
	if (pid == 0) {
		close(ends[0]);
		close(texts[1]);
		serve(port, ends[1], texts[0]);
	}
	r = r < 0 ? r : pid < 0 ? -errno : 0;
	close_fd(&ends[1]);
	close_fd(&texts[0]);
	if (r < 0) {
		close_fd(&ends[0]);
		close_fd(&texts[1]);
		return r;
	}
	*ret_stream = ends[0];
	*ret_report = texts[1];
	*ret_pid = pid;
	return 0;
}
