/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An interpreter that is started before the request is known, and waits for it.
 *
 * It is started as a program is: it has its ids, Landlock and its filter before its first
 * instruction, and runs a script of brig's. Its descriptor 3 is a socket. It writes one byte when
 * it waits; then it reads to the end, and becomes the program:
 *
 *	number of arguments, newline, then each argument and each variable with a zero after it
 *
 * Until then nothing of a request has been in its memory, its files or its descriptors. The limits
 * of its process are set by the agent, before it gets anything: its filter might not let it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/cleanup.h"
#include "base/files/write_all.h"

#define ORDER_FD 3

static void forget(struct agent_texts *texts)
{
	for (size_t i = 0; i < texts->count; i++) {
		free(texts->items[i]);
	}
	free(texts->items);
	*texts = (struct agent_texts){ 0 };
}

int waiting_start(struct agent *agent, const unsigned char *name, size_t size,
		  enum frame_step *step)
{
	*step = FRAME_STEP_WAIT;
	agent->script = strndup((const char *)name, size);
	if (!agent->script) {
		return -ENOMEM;
	}
	agent->channel[0] = agent->channel[1] = ORDER_FD;
	int r = network_seal(agent);
	r = r < 0 ? r : program_start(agent, step);
	if (r < 0) {
		return r;
	}
	/* These were the interpreter's; the program's come later. */
	forget(&agent->arguments);
	forget(&agent->variables);
	agent->limits_count = 0;
	agent->state = AGENT_HOLDING;
	return 0;
}

static int remove_script(const struct agent *agent)
{
	_cleanup_close_ int dir = open(agent->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return dir < 0 || unlinkat(dir, agent->script, 0) < 0 ? -errno : 0;
}

void waiting_hear(struct agent *agent)
{
	char byte;
	ssize_t n = read(agent->output[AGENT_FROM_DRIVER], &byte, 1);

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return;
	}
	int r = n == 1 ? remove_script(agent) : -ECHILD;
	close_fd(&agent->output[AGENT_FROM_DRIVER]);
	if (r < 0) {
		agent_fail(agent, FRAME_STEP_WAIT, -r);
		return;
	}
	agent->state = AGENT_HOLDS;
	agent_send(agent, FRAME_WAITING, NULL, 0);
}

/* As lower_limit() in seal.c: for another process. */
static int lower_limit(pid_t pid, const struct agent_limit *limit)
{
	struct rlimit now, want;

	if (prlimit(pid, (__rlimit_resource_t)limit->resource, NULL, &now) < 0) {
		return -errno;
	}
	want.rlim_max = limit->value < now.rlim_max ? limit->value : now.rlim_max;
	want.rlim_cur = want.rlim_max;
	if (now.rlim_cur == want.rlim_cur && now.rlim_max == want.rlim_max) {
		return 0;
	}
	return prlimit(pid, (__rlimit_resource_t)limit->resource, &want, NULL) < 0 ? -errno : 0;
}

/* The clock of a process (clock_getcpuclockid(3)); 0 where the kernel has none. */
static uint64_t spent_ns(pid_t pid)
{
	const clockid_t clock = (clockid_t)(~(unsigned)pid << 3 | 2u);
	struct timespec spent;

	return clock_gettime(clock, &spent) < 0
		       ? 0
		       : (uint64_t)spent.tv_sec * 1000000000u + (uint64_t)spent.tv_nsec;
}

static int send_texts(int fd, const struct agent_texts *texts)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < texts->count; i++) {
		r = write_all(fd, texts->items[i], strlen(texts->items[i]) + 1);
	}
	return r;
}

/* It reads all the time, and nothing hostile is in it yet. */
static int send_order(const struct agent *agent)
{
	int fd = agent->to_driver.fd;
	char head[32];
	int size = snprintf(head, sizeof(head), "%zu\n", agent->arguments.count);
	int r = fcntl(fd, F_SETFL, O_RDWR) < 0 ? -errno : 0;

	r = r < 0 ? r : write_all(fd, head, (size_t)size);
	r = r < 0 ? r : send_texts(fd, &agent->arguments);
	return r < 0 ? r : send_texts(fd, &agent->variables);
}

int waiting_go(struct agent *agent, enum frame_step *step)
{
	int r = 0;

	*step = FRAME_STEP_LIMIT;
	close_fd(&agent->file);
	for (size_t i = 0; r == 0 && i < agent->limits_count; i++) {
		r = lower_limit(agent->program, &agent->limits[i]);
	}
	if (r < 0) {
		return r;
	}
	*step = FRAME_STEP_WAIT;
	agent->spent_ns = spent_ns(agent->program);
	r = send_order(agent);
	close_fd(&agent->to_driver.fd);
	agent->channel[0] = agent->channel[1] = 0;
	return r;
}
