/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading, writing and executing, by the system calls themselves: only they ask Landlock as well,
 * which access(2) does not. The cell is thrown away, but the files of a mount are the host's, so:
 *
 * - A file is made only on the cell's own tmpfs. Elsewhere the directory is asked for a file
 *   without a name (O_TMPFILE): the same permissions, and nothing that anyone could find; where the
 *   file system has no such files, access(2) answers.
 * - A file that exists is opened, without O_CREAT and O_TRUNC, and closed. Nothing is read or
 *   written.
 * - A FIFO is not opened: that would wake the process at its other end. access(2) answers.
 * - Nothing is executed: execve(2) runs in a child without room for any program (RLIMIT_AS). Beyond
 *   all checks, where it can no longer return an error, the kernel kills the child.
 */
#include "prober/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Room for the path as an argument, but not for the stack that every program starts with. */
#define EXEC_ROOM_BYTES (16u << 10)
/* The child's exit status when it could not ask; no errno is that large. */
#define EXEC_UNASKED 255

static struct attempt tried(int result)
{
	return (struct attempt){ result < 0 ? errno : 0, PROBER_TRIED };
}

static struct attempt by_mode(int directory, const char *path, int mode)
{
	int r = faccessat(directory, path, mode, AT_EACCESS);

	return (struct attempt){ r < 0 ? errno : 0, PROBER_MODE };
}

/* Never blocks, and gets no terminal. */
static struct attempt by_open(const char *path, int flags)
{
	int fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct attempt found = tried(fd);

	if (fd >= 0) {
		close(fd);
	}
	return found;
}

/* May a file be made in this directory? */
static struct attempt by_unnamed(int directory)
{
	int fd = openat(directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	struct attempt found = tried(fd);

	if (fd >= 0) {
		close(fd);
	}
	/* In /proc no file can be made, whatever access(2) says. */
	if (found.errnum == EOPNOTSUPP && !path_is_proc(directory)) {
		return by_mode(directory, ".", W_OK | X_OK);
	}
	return found;
}

static void exec_in_child(const char *path)
{
	const struct rlimit none = { EXEC_ROOM_BYTES, EXEC_ROOM_BYTES };
	char *const argv[] = { (char[]){ "x" }, NULL };
	char *const envp[] = { NULL };

	if (setrlimit(RLIMIT_AS, &none) == 0) {
		execve(path, argv, envp);
		_exit(errno < EXEC_UNASKED ? errno : EXEC_UNASKED);
	}
	_exit(EXEC_UNASKED);
}

static struct attempt by_exec(const char *path)
{
	const struct attempt unknown = { 0, PROBER_UNKNOWN };
	int status;
	pid_t child = fork();

	if (child == 0) {
		exec_in_child(path);
	}
	if (child < 0 || waitpid(child, &status, 0) != child) {
		return unknown;
	}
	if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGSEGV)) {
		return (struct attempt){ 0, PROBER_TRIED };
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) == EXEC_UNASKED || !WEXITSTATUS(status)) {
		return unknown;
	}
	return (struct attempt){ WEXITSTATUS(status), PROBER_TRIED };
}

static struct attempt by_call(enum prober_wish wish, const char *path)
{
	return wish == PROBER_EXEC ? by_exec(path)
				   : by_open(path, wish == PROBER_READ ? O_RDONLY : O_WRONLY);
}

/* A path that does not exist, in a directory of the cell's own: with a file there. */
static struct attempt by_making(enum prober_wish wish, const char *path,
				const struct path_walk *walk)
{
	struct made_file made;
	int errnum = made_file_create(walk, &made);

	/* Where no file can be made, there is none to read or to execute. */
	if (errnum) {
		return (struct attempt){ wish == PROBER_WRITE ? errnum : walk->errnum,
					 PROBER_TRIED };
	}
	struct attempt found = by_call(wish, path);
	made_file_remove(&made);
	/* It is empty: of no known format, which is found out after all permissions. */
	if (wish == PROBER_EXEC && found.errnum == ENOEXEC) {
		found.errnum = 0;
	}
	found.means = found.means == PROBER_TRIED ? PROBER_MADE : found.means;
	return found;
}

struct attempt attempt(enum prober_wish wish, const char *path, const struct path_walk *walk,
		       dev_t own)
{
	bool missing = walk->errnum == ENOENT && S_ISDIR(walk->info.st_mode);
	bool there = walk->errnum == 0;

	if (walk->depends) {
		return (struct attempt){ 0, PROBER_DEPENDS };
	}
	if (missing && walk->info.st_dev == own) {
		return by_making(wish, path, walk);
	}
	if (wish == PROBER_WRITE && (missing || (there && S_ISDIR(walk->info.st_mode)))) {
		return by_unnamed(walk->fd);
	}
	if (wish != PROBER_EXEC && there && S_ISFIFO(walk->info.st_mode)) {
		return by_mode(AT_FDCWD, path, wish == PROBER_READ ? R_OK : W_OK);
	}
	return by_call(wish, path);
}
