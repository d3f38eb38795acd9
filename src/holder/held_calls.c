/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listener of the program's filter: the agent asks for it and passes it on, before it lets the
 * program begin. From then on only the warden has it, so it does not depend on the agent.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "holder/held.h"

/* An anonymous file of the kernel's own, and no other: reads and waits on it are harmless. */
static bool is_listener(int fd)
{
	static const char kind[] = "anon_inode:seccomp notify";
	char link[32], target[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, target, sizeof(target));
	return n == sizeof(kind) - 1 && memcmp(target, kind, sizeof(kind) - 1) == 0;
}

static int take_listener(struct run *run, int fd)
{
	struct call_listener *calls = &held_of(run)->calls;

	if (!is_listener(fd)) {
		close(fd);
		return -EPROTO;
	}
	calls->denials.listener = fd;
	return call_listener_add(calls);
}

int (*held_listener(const struct spec *spec))(struct run *run, int fd)
{
	return spec->layers & LAYER_BIT(LAYER_NOTIFY) ? take_listener : NULL;
}

int held_on_calls(struct run *run)
{
	struct call_listener *calls = &held_of(run)->calls;

	return call_listener_settle(calls, denials_receive(&calls->denials));
}

void held_next_round(struct run *run)
{
	held_of(run)->asked = false;
	call_listener_next_round(&held_of(run)->calls);
}

void held_take_options(struct run *run)
{
	call_listener_take_options(&held_of(run)->calls);
	/* An agent that cannot be reached any more ends the cell. */
	if (run->state == RUN_RESTING) {
		(void)agent_link_mark(&held_of(run)->link, run);
	}
}
