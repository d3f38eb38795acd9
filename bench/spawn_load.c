/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a number of processes, several at a time: the other contenders are measured with it. Reads
 * the same commands as warm_driver.c; START and READY are ignored. In the words of CMD, {slot}
 * stands for a number that no other running process has.
 *
 * --floor: no program at all, but fork, _exit and wait, in a process with BYTES bytes in use:
 * nothing that clones a process of this size can be faster.
 *
 * usage: spawn_load [--open FD FILE] CMD [ARGS...]
 *        spawn_load --floor BYTES
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sample.h"

#define SLOTS_MAX 64
#define ARGS_MAX  512
#define WORD_MAX  8192

extern char **environ;

struct slot {
	pid_t pid; /* 0: free */
	uint64_t start_ns;
	char *args[ARGS_MAX + 1];
};

static struct slot slots[SLOTS_MAX];

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "spawn_load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static char *with_slot(const char *word, unsigned slot)
{
	const char *mark = strstr(word, "{slot}");
	char text[WORD_MAX];

	if (!mark) {
		return strdup(word);
	}
	snprintf(text, sizeof(text), "%.*s%u%s", (int)(mark - word), word, slot, mark + 6);
	return strdup(text);
}

static void make_slots(char **words, int count)
{
	if (count > ARGS_MAX) {
		errno = E2BIG;
		fail(words[0]);
	}
	for (unsigned slot = 0; slot < SLOTS_MAX; slot++) {
		for (int i = 0; i < count; i++) {
			slots[slot].args[i] = with_slot(words[i], slot);
			if (!slots[slot].args[i]) {
				fail("memory");
			}
		}
	}
}

static void start(struct slot *slot, const posix_spawn_file_actions_t *actions)
{
	slot->start_ns = now_ns();
	if (slot->args[0]) {
		errno = posix_spawnp(&slot->pid, slot->args[0], actions, NULL, slot->args, environ);
		if (errno) {
			fail(slot->args[0]);
		}
		return;
	}
	slot->pid = fork();
	if (slot->pid == 0) {
		_exit(0);
	}
	if (slot->pid < 0) {
		fail("fork");
	}
}

static uint64_t wait_one(void)
{
	int status;
	pid_t pid = waitpid(-1, &status, 0);
	uint64_t end = now_ns();

	if (pid < 0) {
		fail("wait");
	}
	if (status != 0) {
		fprintf(stderr, "spawn_load: a process ended with status %#x\n", (unsigned)status);
		exit(1);
	}
	for (unsigned i = 0; i < SLOTS_MAX; i++) {
		if (slots[i].pid == pid) {
			slots[i].pid = 0;
			return end - slots[i].start_ns;
		}
	}
	errno = ECHILD;
	fail("wait");
}

static void load(unsigned in_flight, unsigned runs, const posix_spawn_file_actions_t *actions)
{
	uint64_t begin = now_ns();
	uint64_t *walls = calloc(runs, sizeof(*walls));
	unsigned started = 0, ended = 0;

	if (!walls) {
		fail("memory");
	}
	while (ended < runs) {
		for (unsigned i = 0; i < in_flight && started < runs; i++) {
			if (slots[i].pid == 0) {
				start(&slots[i], actions);
				started++;
			}
		}
		walls[ended++] = wait_one();
	}
	printf("{\"elapsed_ns\":%" PRIu64 ",\"warm\":0,\"wall_ns\":[", now_ns() - begin);
	for (unsigned i = 0; i < runs; i++) {
		printf("%s%" PRIu64, i ? "," : "", walls[i]);
	}
	puts("]}");
	free(walls);
}

static void grow(size_t bytes)
{
	char *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED) {
		fail("memory");
	}
	/* Small pages, as in an interpreter's heap. */
	madvise(area, bytes, MADV_NOHUGEPAGE);
	memset(area, 1, bytes);
}

int main(int argc, char **argv)
{
	posix_spawn_file_actions_t actions;
	unsigned in_flight, runs;
	char line[256];

	if (argc < 2) {
		fprintf(stderr,
			"usage: spawn_load [--open FD FILE] CMD [ARGS...] | --floor BYTES\n");
		return 2;
	}
	posix_spawn_file_actions_init(&actions);
	if (argc > 4 && strcmp(argv[1], "--open") == 0) {
		/* Opened anew for each process: a reader moves the offset. */
		posix_spawn_file_actions_addopen(&actions, atoi(argv[2]), argv[3], O_RDONLY, 0);
		argc -= 3;
		argv += 3;
	}
	if (strcmp(argv[1], "--floor") == 0) {
		grow(argc > 2 ? strtoul(argv[2], NULL, 10) : 1);
	} else {
		make_slots(argv + 1, argc - 1);
	}
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "load %*s %u %u", &in_flight, &runs) != 2 || in_flight < 1 ||
		    in_flight > SLOTS_MAX) {
			puts("{\"error\":{\"message\":\"invalid command\"}}");
		} else {
			load(in_flight, runs, &actions);
		}
		fflush(stdout);
	}
	return 0;
}
