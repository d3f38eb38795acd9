/* SPDX-License-Identifier: Apache-2.0 */
/*
 * X4 to X7: uses memory of one of several kinds. usage: x_memory KIND MIB [PROCESSES]
 *
 * taken= is the number of MiB that it had when it ended or was refused. Each process uses less than
 * a cell's limit would allow for one: only the sum is too much.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "say.h"

#define MIB (1024L * 1024)

static char chunk[MIB];
static int *total; /* MiB, of all processes */

static int anonymous(int serial)
{
	char *at = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)serial;
	if (at == MAP_FAILED) {
		return -1;
	}
	memset(at, 1, MIB);
	return 0;
}

static int write_file(int fd)
{
	return fd < 0 || write(fd, chunk, MIB) != MIB ? -1 : 0;
}

/* Never mapped: it is in no resident set. */
static int memfd(int serial)
{
	(void)serial;
	return write_file(memfd_create("x", 0));
}

static int tmpfs(int serial)
{
	static const char *const dirs[] = { "/sandbox", "/tmp", "/dev/shm" };
	char path[64];

	snprintf(path, sizeof(path), "%s/x-%d", dirs[serial % 3], serial);
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
	int r = write_file(fd);
	close(fd);
	return r;
}

/* Attached only while it is filled; outside of a cell it is removed with the last process. */
static int sysv(int serial)
{
	int id = shmget(IPC_PRIVATE, MIB, IPC_CREAT | 0600);
	char *at = id < 0 ? (char *)-1 : shmat(id, NULL, 0);

	(void)serial;
	if (at == (char *)-1) {
		return -1;
	}
	memset(at, 1, MIB);
	if (getenv("TIDY")) {
		shmctl(id, IPC_RMID, NULL);
		return 0;
	}
	return shmdt(at);
}

/* Filled by a child that has ended before any check. */
static int shared(int serial)
{
	char *at = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)serial;
	if (at == MAP_FAILED) {
		return -1;
	}
	pid_t pid = fork();
	if (pid == 0) {
		memset(at, 1, MIB);
		_exit(0);
	}
	return pid < 0 || waitpid(pid, NULL, 0) < 0 ? -1 : 0;
}

/* One MiB each, in a pipe of the maximum size for a user; in a cell that is 64 KiB. */
static int pipes(int serial)
{
	long sum = 0;

	(void)serial;
	while (sum < MIB) {
		int ends[2];
		if (pipe2(ends, O_NONBLOCK) < 0) {
			return -1;
		}
		fcntl(ends[1], F_SETPIPE_SZ, MIB);
		long size = fcntl(ends[1], F_GETPIPE_SZ);
		for (long at = 0; at + 4096 <= size && write(ends[1], chunk, 4096) > 0;
		     at += 4096) {
			sum += 4096;
		}
	}
	return 0;
}

static int sockets(int serial)
{
	long sum = 0;

	(void)serial;
	while (sum < MIB) {
		int ends[2];
		long n;
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) < 0) {
			return -1;
		}
		for (int i = 0; i < 2; i++) {
			while ((n = write(ends[i], chunk, 32768)) > 0) {
				sum += n;
			}
		}
	}
	return 0;
}

/* 256 page tables of 4 KiB: each MiB maps 512 MiB of nothing but the zero page. */
static int tables(int serial)
{
	const long step = 2 * MIB, span = 256 * step;
	char *at = mmap(NULL, span + step, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			-1, 0);

	(void)serial;
	if (at == MAP_FAILED) {
		return -1;
	}
	madvise(at, span + step, MADV_NOHUGEPAGE);
	for (long i = 0; i < 256; i++) {
		(void)*(volatile char *)(at + i * step);
	}
	return 0;
}

static const struct {
	const char *name;
	int (*take)(int serial);
} kinds[] = {
	{ "anonymous", anonymous }, { "memfd", memfd },   { "tmpfs", tmpfs },
	{ "sysv", sysv },           { "shared", shared }, { "pipes", pipes },
	{ "sockets", sockets },     { "tables", tables },
};

static int take(int kind, int serial, int mib)
{
	for (int i = 0; i < mib; i++) {
		if (kinds[kind].take(serial + i) < 0) {
			say("refused", "%s", outcome(-1));
			return 1;
		}
		__atomic_add_fetch(total, 1, __ATOMIC_SEQ_CST);
	}
	return 0;
}

int main(int argc, char **argv)
{
	int mib = argc > 2 ? atoi(argv[2]) : 0;
	int processes = argc > 3 ? atoi(argv[3]) : 1;
	int kind = 0, failed = 0, status, life[2], ready[2];

	total = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (argc < 3 || total == MAP_FAILED || pipe(life) < 0 || pipe(ready) < 0) {
		return 99;
	}
	while (kind < 7 && strcmp(kinds[kind].name, argv[1]) != 0) {
		kind++;
	}
	memset(chunk, 1, sizeof(chunk));
	for (int i = 0; i < processes; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			char byte;
			close(life[1]);
			status = take(kind, i * mib / processes, mib / processes);
			if (write(ready[1], &status, sizeof(status)) < 0) {
				_exit(99);
			}
			/* Memory is held until all processes have theirs. */
			while (read(life[0], &byte, 1) < 0) {
			}
			_exit(status);
		}
		if (pid < 0) {
			say("refused", "%s", outcome(-1));
			return 1;
		}
	}
	for (int i = 0; i < processes; i++) {
		if (read(ready[0], &status, sizeof(status)) == sizeof(status)) {
			failed |= status;
		}
	}
	/* Long enough for a periodic watch. */
	usleep(100000);
	say("taken", "%d", *total);
	close(life[1]);
	while (wait(NULL) > 0) {
	}
	return failed;
}
