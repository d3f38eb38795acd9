/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ledger and a client of it, from outside. The role is a child, in a process of its own.
 *
 * 	driver pairs DIR COUNT      begins and ends COUNT executions, one call at a time; prints the
 * 	                            time of a pair
 * 	driver stream DIR COUNT     the same with many concurrent calls; prints how many in a second
 * 	driver write DIR ACKS       begins and ends for ever; each acknowledged id is a line
 * 	                            of the file ACKS, "b ID" or "e ID"; SIGKILL it or its child
 * 	driver role DIR             the role alone on descriptor 3, until that is closed
 * 	driver full DIR COUNT       RLIMIT_FSIZE in the role; prints how many calls were errors
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id.h"
#include "ledger/ledger.h"
#include "ledger/role/ledger_role.h"

#define CODE "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct driver {
	struct loop *loop;
	struct ledger *ledger;
	pid_t role;
	char id[27];
	long left, done, errors;
	int acks;
	bool gone;       /* the role has left */
	unsigned depth;  /* how many more may be in progress */
	unsigned target; /* and when none is */
};

static void die(const char *what)
{
	fprintf(stderr, "driver: %s\n", what);
	exit(3);
}

static void role_note(void *user, bool bad, const char *event, const char *text)
{
	(void)user;
	if (getenv("DRIVER_NOTES")) {
		fprintf(stderr, "%s %s %s\n", bad ? "bad" : "ok", event, text);
	}
}

static void role_gone(void *user, const char *why)
{
	(void)why;
	loop_stop(user);
}

/* From the environment; 0: not set. */
static long number_of(const char *name)
{
	const char *text = getenv(name);

	return text ? atol(text) : 0;
}

static int be_role(const char *path, int socket)
{
	struct brig_error error = { 0 };
	struct ledger_role *role = NULL;
	struct loop *loop = NULL;
	const char *every = getenv("DRIVER_CHECKPOINT");
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0 || loop_new(&loop) < 0) {
		die("no directory, or no loop");
	}
	struct ledger_options options = { .note = role_note, .gone = role_gone, .user = loop };
	options.checkpoint_entries = every ? (unsigned)atoi(every) : 0;
	options.sweep_ns = (uint64_t)number_of("DRIVER_SWEEP_MS") * 1000000;
	options.audit_age_ms = (uint64_t)number_of("DRIVER_AUDIT_AGE_MS");
	options.fill_ns = (uint64_t)number_of("DRIVER_FILL_MS") * 1000000;
	options.durable = number_of("DRIVER_DURABLE");
	if (ledger_role_new(loop, socket, dir, &options, &role, &error) < 0) {
		fprintf(stderr, "driver: %s (%s)\n", error.message, error.remedy);
		return 4;
	}
	loop_run(loop);
	ledger_role_free(role);
	loop_free(loop);
	close(dir);
	return 0;
}

static void client_gone(void *user, const char *why)
{
	struct driver *driver = user;

	(void)why;
	driver->gone = true;
	loop_stop(driver->loop);
}

static void start(struct driver *driver, const char *path, rlim_t file_size)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ||
	    loop_new(&driver->loop) < 0) {
		die("no sockets");
	}
	driver->role = fork();
	if (driver->role == 0) {
		struct rlimit limit = { file_size, file_size };
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		if (file_size) {
			setrlimit(RLIMIT_FSIZE, &limit);
		}
		_exit(be_role(path, pair[1]));
	}
	close(pair[1]);
	if (ledger_new(driver->loop, pair[0], client_gone, driver, &driver->ledger) < 0) {
		die("no client");
	}
}

static int stop(struct driver *driver)
{
	int status = 0;

	ledger_free(driver->ledger);
	waitpid(driver->role, &status, 0);
	loop_free(driver->loop);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static size_t result_of(const char *id, char *text, size_t size)
{
	struct brig_result result = {
		.cause = "exit",
		.exit_code = 0,
		.provider = "native",
		.start = "warm",
		.language = "python",
		.policy = "default@sha256:" CODE,
		.layers = "userns pidns",
	};
	char out[] = "42\n", none[] = "";

	memcpy(result.id, id, sizeof(result.id));
	result.stdout_data = out;
	result.stdout_size = 3;
	result.stderr_data = none;
	char *json = brig_result_json(&result);
	size_t length = json ? strlen(json) : 0;
	if (!json || length >= size) {
		die("no result");
	}
	memcpy(text, json, length + 1);
	free(json);
	return length;
}

static void acknowledge(struct driver *driver, char kind, const char *id)
{
	char line[32];
	int size = snprintf(line, sizeof(line), "%c %s\n", kind, id);

	if (driver->acks >= 0 && write(driver->acks, line, (size_t)size) != size) {
		die("cannot write what was acknowledged");
	}
}

struct one {
	struct driver *driver;
	char id[27];
};

static void fill(struct driver *driver);

static void over(struct one *one, const struct brig_error *error)
{
	struct driver *driver = one->driver;

	driver->errors += error != NULL;
	driver->done++;
	driver->depth++;
	free(one);
	if (error && error->errnum == EPIPE) {
		return;
	}
	if (driver->left <= 0 && driver->depth == driver->target) {
		loop_stop(driver->loop);
	}
	fill(driver);
}

static void ended(void *user, const struct brig_error *error, const char *data, size_t size)
{
	struct one *one = user;

	(void)data;
	(void)size;
	if (!error) {
		acknowledge(one->driver, 'e', one->id);
	}
	over(one, error);
}

static void begun(void *user, const struct brig_error *error, const char *data, size_t size)
{
	struct one *one = user;
	char text[4096];

	(void)data;
	(void)size;
	if (error) {
		over(one, error);
		return;
	}
	acknowledge(one->driver, 'b', one->id);
	size_t length = result_of(one->id, text, sizeof(text));
	if (ledger_ended(one->driver->ledger, one->id, text, length, ended, one) < 0) {
		one->driver->gone = true; /* killed meanwhile */
		loop_stop(one->driver->loop);
		free(one);
	}
}

static void fill(struct driver *driver)
{
	while (!driver->gone && driver->depth > 0 && driver->left > 0) {
		struct one *one = calloc(1, sizeof(*one));
		if (!one || id_make(one->id) < 0) {
			die("no memory");
		}
		one->driver = driver;
		struct ledger_execution execution = {
			.id = one->id,
			.tenant = "tenant",
			.caller = "uid:1000",
			.language = "python",
			.policy = "default",
			.code_sha256 = CODE,
		};
		driver->left--;
		driver->depth--;
		if (ledger_begin(driver->ledger, &execution, begun, one) < 0) {
			free(one);
			driver->gone = true;
			loop_stop(driver->loop);
			return;
		}
	}
}

static int run(const char *mode, const char *path, long count, const char *acks)
{
	struct driver driver = { .left = count + 1, .acks = -1, .depth = 1, .target = 1 };
	bool stream = strcmp(mode, "stream") == 0 || acks;

	if (acks) {
		driver.acks = open(acks, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	}
	start(&driver, path, strcmp(mode, "full") == 0 ? 2 << 20 : 0);
	/* The first one also waits until the role is up. */
	driver.left = 1;
	fill(&driver);
	loop_run(driver.loop);
	driver.depth = driver.target = stream ? 32 : 1;
	driver.left = count;
	driver.done = 0;
	uint64_t begin = clock_now_ns();
	fill(&driver);
	if (driver.depth < driver.target && !driver.gone) {
		loop_run(driver.loop);
	}
	uint64_t ns = clock_now_ns() - begin;
	printf("done=%ld errors=%ld pair_us=%.1f per_second=%.0f\n", driver.done, driver.errors,
	       (double)ns / 1e3 / (double)(driver.done ? driver.done : 1),
	       (double)driver.done * 1e9 / (double)ns);
	fflush(stdout);
	/* The role has work of its own. */
	struct timespec linger = { .tv_nsec = number_of("DRIVER_LINGER_MS") * 1000000 };
	nanosleep(&linger, NULL);
	int status = stop(&driver);
	printf("role=%d\n", status);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "role") == 0) {
		return be_role(argv[2], 3);
	}
	if (argc != 4) {
		die("usage: driver pairs|stream|write|full DIR COUNT|ACKS");
	}
	bool forever = strcmp(argv[1], "write") == 0;
	return run(argv[1], argv[2], forever ? 1000000000 : atol(argv[3]),
		   forever ? argv[3] : NULL);
}
