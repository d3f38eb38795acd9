/* SPDX-License-Identifier: Apache-2.0 */
/*
 * F12: a work directory that is hard to collect. Prints the names of the files that could be made;
 * the directory tree is as deep as the argument and the inode limit allow.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "say.h"

static void make_socket(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	try("socket", bind(fd, (struct sockaddr *)&address, sizeof(address)));
}

static void make_links(const char *secret)
{
	try("link", symlink(secret, "link"));
	try("link-to-root", symlink("/", "root"));
	try("link-by-proc", symlink("/proc/self/root/etc/passwd", "proc"));
	try("loop", symlink("loop-b", "loop-a"));
	symlink("loop-a", "loop-b");
	try("self", symlink(".", "self"));
	try("up", symlink("..", "up"));
}

static void make_sparse(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	/* Over the limit this is a signal. */
	signal(SIGXFSZ, SIG_IGN);
	try("sparse-1T", ftruncate(fd, 1L << 40));
	try("sparse-64M", ftruncate(fd, 64L << 20));
	close(fd);
}

static void make_deep(int depth)
{
	int made = 0;

	while (made < depth && mkdir("d", 0755) == 0 && chdir("d") == 0) {
		made++;
	}
	say("depth", "%d", made);
	close(open("bottom", O_WRONLY | O_CREAT, 0644));
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		return 2;
	}
	try("fifo", mkfifo("fifo", 0666));
	make_socket("socket");
	try("device", mknod("device", S_IFCHR | 0666, (1 << 8) | 3));
	make_links(argv[1]);
	make_sparse("sparse-a");
	make_sparse("sparse-b");
	close(open("unreadable", O_WRONLY | O_CREAT, 0000));
	try("odd-name", close(open("new\nline\033[31m", O_WRONLY | O_CREAT, 0644)));
	try("not-text", close(open("\xff\xfe", O_WRONLY | O_CREAT, 0644)));
	try("shut", mkdir("shut", 0000));
	/* tmpfs lists the newest first: with this one taken, the large ones are over the limit. */
	int fd = open("plain.txt", O_WRONLY | O_CREAT, 0644);
	try("plain", write(fd, "x", 1));
	make_deep(atoi(argv[2]));
}
