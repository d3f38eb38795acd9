/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of the benchmark. Reads a list of contenders from standard input, runs every one of
 * them once per round in an order that is shuffled anew each time, and prints all samples as JSON.
 *
 * Contenders are interleaved so that other load on the machine affects all of them alike.
 *
 * Where a contender runs:
 *  - in this process: spawned or forked, and waited for;
 *  - "as user": the same, by a copy of this process that dropped root before the first round;
 *  - "mask": the same, by a copy of this process in a mount namespace of its own, in which one
 *    file is empty (crun refuses hosts whose cgroup v2 has a controller beside v1's);
 *  - "worker": by a program of its own that measures itself (libbrig in process).
 *
 * The list: lines of KEY TAB VALUE, a record ends at an empty line. Keys: name, method (spawn,
 * fork, worker), as (user), mask (a file), open (the file that the child gets as OPEN_FD), env,
 * arg.
 *
 * usage: driver ROUNDS WARMUP SEED UID < LIST
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sample.h"

#define OPEN_FD        10
#define CONTENDERS_MAX 64
#define ARGS_MAX       256
#define ENV_MAX        32
#define ROUNDS_MAX     100000

enum method { METHOD_SPAWN, METHOD_FORK, METHOD_WORKER };

struct contender {
	char *name;
	enum method method;
	bool as_user;
	char *mask;
	char *open;
	char *env[ENV_MAX + 1];
	size_t env_count;
	char *args[ARGS_MAX + 1];
	size_t args_count;
	int channel; /* to the process that measures it; -1: this process */
	struct sample *samples;
	uint64_t failed;
};

struct field {
	struct contender contenders[CONTENDERS_MAX];
	size_t count;
};

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "driver: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
	exit(1);
}

/* --- the list ----------------------------------------------------------------------------------*/

static enum method method_of(const char *name)
{
	static const char *const names[] = { "spawn", "fork", "worker" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(name, names[i]) == 0) {
			return (enum method)i;
		}
	}
	fail("a method is spawn, fork or worker");
}

static void read_key(struct contender *contender, const char *key, const char *value)
{
	char *copy = strdup(value);

	if (!copy) {
		fail("memory");
	}
	if (strcmp(key, "name") == 0) {
		contender->name = copy;
	} else if (strcmp(key, "method") == 0) {
		contender->method = method_of(copy);
	} else if (strcmp(key, "as") == 0) {
		contender->as_user = strcmp(copy, "user") == 0;
	} else if (strcmp(key, "mask") == 0) {
		contender->mask = copy;
	} else if (strcmp(key, "open") == 0) {
		contender->open = copy;
	} else if (strcmp(key, "env") == 0 && contender->env_count < ENV_MAX) {
		contender->env[contender->env_count++] = copy;
	} else if (strcmp(key, "arg") == 0 && contender->args_count < ARGS_MAX) {
		contender->args[contender->args_count++] = copy;
	} else {
		fail("an unknown key, or too many arguments");
	}
}

static void read_list(struct field *field)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t length;

	while ((length = getline(&line, &room, stdin)) > 0) {
		line[length - 1] = '\0';
		if (line[0] == '\0') {
			field->count++;
			continue;
		}
		char *value = strchr(line, '\t');
		if (!value || field->count == CONTENDERS_MAX) {
			fail("a line without a value, or too many contenders");
		}
		*value++ = '\0';
		read_key(&field->contenders[field->count], line, value);
	}
	free(line);
	for (size_t i = 0; i < field->count; i++) {
		if (!field->contenders[i].name || field->contenders[i].args_count == 0) {
			fail("a contender without a name or a program");
		}
	}
}

/* --- one run -----------------------------------------------------------------------------------*/

static pid_t start_spawn(const struct contender *contender)
{
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;

	posix_spawn_file_actions_init(&actions);
	if (contender->open) {
		posix_spawn_file_actions_addopen(&actions, OPEN_FD, contender->open, O_RDONLY, 0);
	}
	errno = posix_spawn(&pid, contender->args[0], &actions, NULL, contender->args,
			    contender->env);
	posix_spawn_file_actions_destroy(&actions);
	return errno ? -1 : pid;
}

static pid_t start_fork(const struct contender *contender)
{
	pid_t pid = fork();

	if (pid == 0) {
		execve(contender->args[0], contender->args, contender->env);
		_exit(127);
	}
	return pid;
}

static uint64_t time_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

static struct sample measure(const struct contender *contender)
{
	struct sample sample = { .status = -1 };
	struct rusage usage;
	int status;
	uint64_t start = now_ns();
	pid_t pid =
		contender->method == METHOD_FORK ? start_fork(contender) : start_spawn(contender);

	if (pid > 0 && wait4(pid, &status, 0, &usage) == pid) {
		sample.wall_ns = now_ns() - start;
		sample.status = status;
		sample.cpu_ns = time_ns(&usage.ru_utime) + time_ns(&usage.ru_stime);
	}
	return sample;
}

/* --- measuring processes -----------------------------------------------------------------------*/

static void serve(const struct field *field, int channel)
{
	uint32_t which;

	while (read(channel, &which, sizeof(which)) == (ssize_t)sizeof(which)) {
		struct sample sample = measure(&field->contenders[which]);
		if (write(channel, &sample, sizeof(sample)) != (ssize_t)sizeof(sample)) {
			break;
		}
	}
	_exit(0);
}

/* A socket to a child that does not outlive us; the child gets the other end from `fd`. */
static int branch(int *fd)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		fail("socketpair");
	}
	fflush(NULL);
	pid_t pid = fork();
	if (pid < 0) {
		fail("fork");
	}
	if (pid > 0) {
		close(pair[1]);
		*fd = pair[0];
		return 1;
	}
	close(pair[0]);
	*fd = pair[1];
	return 0;
}

static int start_user(const struct field *field, uid_t uid)
{
	int channel;

	if (branch(&channel)) {
		return channel;
	}
	if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
	    setresuid(uid, uid, uid) < 0) {
		fail("cannot become the ordinary user");
	}
	/* A change of ids makes a process undumpable: it would not own the files in its /proc. */
	prctl(PR_SET_DUMPABLE, 1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	serve(field, channel);
	_exit(1);
}

static int start_masked(const struct field *field, const char *path)
{
	int channel;

	if (branch(&channel)) {
		return channel;
	}
	/* A device over a file: reading it ends at once, and no file has to be made for this. */
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("/dev/null", path, NULL, MS_BIND, NULL) < 0) {
		fail("cannot mask a file");
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	serve(field, channel);
	_exit(1);
}

static int start_worker(const struct contender *contender)
{
	int channel;

	if (branch(&channel)) {
		return channel;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (channel == WORKER_FD) {
		fcntl(channel, F_SETFD, 0);
	} else {
		dup2(channel, WORKER_FD);
	}
	execve(contender->args[0], contender->args, contender->env);
	_exit(127);
}

static struct sample ask(const struct contender *contender, uint32_t which)
{
	struct sample sample = { .status = -1 };

	if (write(contender->channel, &which, sizeof(which)) != (ssize_t)sizeof(which) ||
	    read(contender->channel, &sample, sizeof(sample)) != (ssize_t)sizeof(sample)) {
		sample.status = -1;
	}
	return sample;
}

static void start_helpers(struct field *field, uid_t uid)
{
	int user = -1;
	int masked = -1;

	for (size_t i = 0; i < field->count; i++) {
		struct contender *contender = &field->contenders[i];
		contender->channel = -1;
		if (contender->as_user) {
			user = user < 0 ? start_user(field, uid) : user;
			contender->channel = user;
		} else if (contender->mask) {
			masked = masked < 0 ? start_masked(field, contender->mask) : masked;
			contender->channel = masked;
		} else if (contender->method == METHOD_WORKER) {
			contender->channel = start_worker(contender);
		}
	}
}

/* --- rounds ------------------------------------------------------------------------------------*/

/* xorshift64*: any even distribution is good enough, and the seed makes the order repeatable. */
static uint64_t draw(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 2685821657736338717u;
}

static void shuffle(uint32_t *order, size_t count, uint64_t *state)
{
	for (size_t i = count - 1; i > 0; i--) {
		size_t other = (size_t)(draw(state) % (i + 1));
		uint32_t kept = order[i];
		order[i] = order[other];
		order[other] = kept;
	}
}

static void play(struct field *field, long rounds, long warmup, uint64_t seed)
{
	uint32_t order[CONTENDERS_MAX];

	for (uint32_t i = 0; i < CONTENDERS_MAX; i++) {
		order[i] = i;
	}
	for (long round = -warmup; round < rounds; round++) {
		shuffle(order, field->count, &seed);
		for (size_t i = 0; i < field->count; i++) {
			struct contender *contender = &field->contenders[order[i]];
			struct sample sample = contender->channel >= 0 ? ask(contender, order[i])
								       : measure(contender);
			if (sample.status != 0) {
				contender->failed++;
			}
			if (round >= 0) {
				contender->samples[round] = sample;
			}
		}
	}
}

static void print_column(FILE *out, const struct contender *contender, long rounds, bool cpu)
{
	for (long i = 0; i < rounds; i++) {
		const struct sample *sample = &contender->samples[i];
		fprintf(out, "%s%" PRIu64, i ? "," : "", cpu ? sample->cpu_ns : sample->wall_ns);
	}
}

/* Names are the caller's own and hold no quotes. */
static void print_samples(FILE *out, const struct field *field, long rounds)
{
	fputs("{\"contenders\":[", out);
	for (size_t i = 0; i < field->count; i++) {
		const struct contender *contender = &field->contenders[i];
		fprintf(out, "%s\n{\"name\":\"%s\",\"failed\":%" PRIu64 ",\"wall_ns\":[",
			i ? "," : "", contender->name, contender->failed);
		print_column(out, contender, rounds, false);
		fputs("],\"cpu_ns\":[", out);
		print_column(out, contender, rounds, true);
		fputs("]}", out);
	}
	fputs("\n]}\n", out);
}

/* The list has been read and the answer goes to a copy: contenders get /dev/null three times. */
static FILE *take_stdio(void)
{
	int kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 20);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (kept < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0) {
		fail("cannot arrange standard input and output");
	}
	return fdopen(kept, "w");
}

int main(int argc, char **argv)
{
	struct field *field = calloc(1, sizeof(*field));

	if (argc != 5 || !field) {
		fprintf(stderr, "usage: driver ROUNDS WARMUP SEED UID < LIST\n");
		return 2;
	}
	long rounds = strtol(argv[1], NULL, 10);
	long warmup = strtol(argv[2], NULL, 10);
	uint64_t seed = strtoull(argv[3], NULL, 10) | 1; /* the generator must not start at zero */
	if (rounds < 1 || rounds > ROUNDS_MAX || warmup < 0 || warmup > ROUNDS_MAX) {
		fail("rounds are 1 to 100000");
	}
	read_list(field);
	if (field->count == 0) {
		fail("no contenders");
	}
	for (size_t i = 0; i < field->count; i++) {
		struct contender *contender = &field->contenders[i];
		contender->samples = calloc((size_t)rounds, sizeof(*contender->samples));
		if (!contender->samples) {
			fail("memory");
		}
	}
	FILE *out = take_stdio();
	start_helpers(field, (uid_t)strtoul(argv[4], NULL, 10));
	play(field, rounds, warmup, seed);
	print_samples(out, field, rounds);
	return fclose(out) == 0 ? 0 : 1;
}
