/* SPDX-License-Identifier: Apache-2.0 */
/* O1: the caller's terminal: types into it, takes it, changes it. */
#include <fcntl.h>
#include <linux/tiocl.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "say.h"

static int type_in(int fd)
{
	for (const char *at = "typed\n"; *at; at++) {
		if (ioctl(fd, TIOCSTI, at) < 0) {
			return -1;
		}
	}
	return 0;
}

int main(void)
{
	char paste[] = { TIOCL_PASTESEL };
	int disc = 2;
	int tty = (int)try("tty", open("/dev/tty", O_RDWR));

	try("ptmx", open("/dev/ptmx", O_RDWR | O_NOCTTY));
	say("isatty", "%d%d%d", isatty(0), isatty(1), isatty(2));
	for (int fd = 0; fd < 3; fd++) {
		char name[32];
		snprintf(name, sizeof(name), "type%d", fd);
		try(name, type_in(fd));
	}
	try("type_tty", type_in(tty));
	try("paste", ioctl(0, TIOCLINUX, paste));
	try("discipline", ioctl(0, TIOCSETD, &disc));
	try("console", ioctl(0, TIOCCONS, 0));
	try("take", ioctl(0, TIOCSCTTY, 1));
	say("session", "%s", getsid(0) == getpid() ? "own" : "foreign");
	return 0;
}
