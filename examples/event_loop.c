/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several runs inside a program that has an event loop, a timer and a child of its own.
 *
 * Each run is one descriptor for poll(): readable means "call brig_run_step()", which never blocks.
 * Output is passed to a callback while the programs run. The fourth program never ends, and is
 * cancelled by the host's own timer. The host also has a child, is notified of its end by SIGCHLD,
 * and reaps it with waitpid(-1): neither ever involves a process of brig.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <brig/brig.h>

#define JOBS         4
#define CANCEL_AFTER 2 /* seconds */

struct line {
	char text[256];
	size_t size;
};

struct job {
	const char *name;
	const char *language;
	const char *code;
	struct brig_run *run; /* NULL: ended */
	struct line lines[2]; /* of each stream, the current line so far */
};

struct host {
	struct job jobs[JOBS];
	int timer;
	int signals;
	int children; /* still running */
};

static void print_line(struct job *job, int stream)
{
	struct line *line = &job->lines[stream - 1];

	printf("%s[%d] %.*s\n", job->name, stream, (int)line->size, line->text);
	line->size = 0;
}

/*
 * Receives output. Pieces have no meaning: a line may arrive in several, and several lines in one.
 * Only the order within a stream is guaranteed.
 */
static void on_output(void *user, int stream, const void *data, size_t size)
{
	struct job *job = user;
	struct line *line = &job->lines[stream - 1];

	for (const char *at = data; size > 0; at++, size--) {
		if (*at != '\n') {
			line->text[line->size++] = *at;
		}
		if (*at == '\n' || line->size == sizeof(line->text)) {
			print_line(job, stream);
		}
	}
}

static int start_job(struct brig_context *brig, struct job *job)
{
	struct brig_error error = { 0 };
	struct brig_request request = {
		.size = sizeof(request),
		.language = job->language,
		.code = job->code,
		.on_output = on_output,
		.user = job,
		.discard_output = true, /* the callback gets it */
	};
	int r = brig_run_start(brig, &request, &job->run, &error);

	if (r < 0) {
		fprintf(stderr, "%s: %s\n  %s\n", job->name, error.message, error.remedy);
	}
	return r;
}

static void end_job(struct job *job)
{
	struct brig_result *result = brig_run_take_result(job->run);

	for (int stream = 1; stream <= 2; stream++) {
		if (job->lines[stream - 1].size) {
			print_line(job, stream);
		}
	}
	printf("%s: %s, cause %s, exit %d\n", job->name, brig_status_name(result->status),
	       result->cause, result->exit_code);
	brig_result_free(result);
	brig_run_free(job->run);
	job->run = NULL;
}

static void step_job(struct job *job)
{
	struct brig_error error = { 0 };
	int r = brig_run_step(job->run, &error);

	if (r < 0) {
		fprintf(stderr, "%s: %s\n", job->name, error.message);
		brig_run_free(job->run);
		job->run = NULL;
	} else if (r == 1) {
		end_job(job);
	}
}

/* The host's own child. */
static int start_child(struct host *host)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "sleep 0.2; exit 3", (char *)NULL);
		_exit(127);
	}
	host->children += pid > 0;
	return pid < 0 ? -errno : 0;
}

static void on_signal(struct host *host)
{
	struct signalfd_siginfo info;
	int status;

	while (read(host->signals, &info, sizeof(info)) > 0) {
	}
	while (waitpid(-1, &status, WNOHANG) > 0) {
		printf("host: own child ended with %d\n", WEXITSTATUS(status));
		host->children--;
	}
}

static void on_timer(struct host *host)
{
	uint64_t expirations;

	if (read(host->timer, &expirations, sizeof(expirations)) < 0) {
		return;
	}
	for (int i = 0; i < JOBS; i++) {
		if (host->jobs[i].run) {
			printf("host: cancels %s\n", host->jobs[i].name);
			brig_run_cancel(host->jobs[i].run);
		}
	}
}

static int set_up(struct host *host)
{
	struct itimerspec once = { .it_value = { .tv_sec = CANCEL_AFTER } };
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &child, NULL) < 0) {
		return -errno;
	}
	host->signals = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
	host->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (host->signals < 0 || host->timer < 0 ||
	    timerfd_settime(host->timer, 0, &once, NULL) < 0) {
		return -errno;
	}
	return start_child(host);
}

/* One round: false when nothing is left to wait for. */
static bool turn(struct host *host)
{
	struct pollfd ready[JOBS + 2] = {
		{ .fd = host->timer, .events = POLLIN },
		{ .fd = host->signals, .events = POLLIN },
	};
	bool left = host->children > 0;

	for (int i = 0; i < JOBS; i++) {
		struct job *job = &host->jobs[i];
		/* poll() ignores a negative descriptor. */
		ready[i + 2] = (struct pollfd){ .fd = job->run ? brig_run_fd(job->run) : -1,
						.events = POLLIN };
		left |= job->run != NULL;
	}
	if (!left || (poll(ready, JOBS + 2, -1) < 0 && errno != EINTR)) {
		return false;
	}
	if (ready[0].revents) {
		on_timer(host);
	}
	if (ready[1].revents) {
		on_signal(host);
	}
	for (int i = 0; i < JOBS; i++) {
		if (ready[i + 2].revents && host->jobs[i].run) {
			step_job(&host->jobs[i]);
		}
	}
	return true;
}

int main(void)
{
	struct host host = {
		.jobs = {
			{ .name = "count", .language = "python",
			  .code = "import time\n"
				  "for i in range(3): print(i, flush=True); time.sleep(0.1)\n" },
			{ .name = "shell", .language = "bash", .code = "echo out; echo err >&2" },
			{ .name = "fails", .language = "python", .code = "print(1 / 0)" },
			{ .name = "never", .language = "python",
			  .code = "print('waiting', flush=True)\nimport time\ntime.sleep(1000)" },
		},
	};
	struct brig_context *brig = NULL;
	struct brig_error error = { 0 };
	int status = EXIT_SUCCESS;

	if (brig_context_new(NULL, &brig, &error) < 0) {
		fprintf(stderr, "%s\n", error.message);
		return EXIT_FAILURE;
	}
	if (set_up(&host) < 0) {
		perror("event_loop");
		status = EXIT_FAILURE;
	}
	for (int i = 0; i < JOBS && status == EXIT_SUCCESS; i++) {
		status = start_job(brig, &host.jobs[i]) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
	}
	while (status == EXIT_SUCCESS && turn(&host)) {
	}
	/* Also ends active runs, and leaves nothing behind. */
	for (int i = 0; i < JOBS; i++) {
		brig_run_free(host.jobs[i].run);
	}
	brig_context_free(brig);
	return status;
}
