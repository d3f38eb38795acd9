/* SPDX-License-Identifier: Apache-2.0 */
/* S10: terminal ioctls, plain and with bits above the 32 that the kernel reads. */
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "say.h"

int main(void)
{
	static const struct {
		const char *name;
		unsigned long number;
	} tried[] = { { "TIOCSTI", TIOCSTI },   { "TIOCLINUX", TIOCLINUX },
		      { "TIOCSETD", TIOCSETD }, { "TIOCCONS", TIOCCONS },
		      { "TCGETS", TCGETS },     { "FIONREAD", FIONREAD } };
	char name[64], room[64] = "";

	for (size_t i = 0; i < sizeof(tried) / sizeof(tried[0]); i++) {
		try(tried[i].name, syscall(SYS_ioctl, 0, tried[i].number, room));
		snprintf(name, sizeof(name), "%s-high", tried[i].name);
		try(name, syscall(SYS_ioctl, 0, tried[i].number | (0xdeadbeefUL << 32), room));
	}
}
