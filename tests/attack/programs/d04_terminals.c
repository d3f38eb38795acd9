/* SPDX-License-Identifier: Apache-2.0 */
/* D4: a pseudo terminal, those of the host, and a controlling terminal. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "say.h"

int main(void)
{
	int count = 0;
	DIR *list = opendir("/dev/pts");

	try("pts", list ? 0 : -1);
	while (list && readdir(list)) {
		count++;
	}
	say("listed", "%d", count);
	try("ptmx", open("/dev/ptmx", O_RDWR | O_NOCTTY));
	try("pts-ptmx", open("/dev/pts/ptmx", O_RDWR | O_NOCTTY));
	try("openpt", posix_openpt(O_RDWR | O_NOCTTY));
	try("tty", open("/dev/tty", O_RDWR));
	try("console", open("/dev/console", O_RDWR | O_NOCTTY | O_NONBLOCK));
}
