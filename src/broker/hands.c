/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the broker does, as a table: each kind of question, when it may be asked, and by what. There
 * is nothing in a question to believe: no path, no number, no id.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "broker/broker.h"
#include "kernel/broker_messages.h"
#include "kernel/devices.h"
#include "kernel/own_ids.h"
#include "role/log.h"

#define REMOVE_TRIES   100
#define REMOVE_WAIT_NS 20000000

/* Field 4 of stat, behind the name, which may hold anything. */
static pid_t parent_of(int proc)
{
	char text[512];
	_cleanup_close_ int fd = openat(proc, "stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0) {
		return -1;
	}
	text[n] = '\0';
	/* ") S 123 ..." */
	const char *at = strrchr(text, ')');
	return at && strlen(at) > 4 ? (pid_t)strtol(at + 4, NULL, 10) : -1;
}

/* The directory holds the process: should it end, its number means nobody here. */
static int take_map(struct hands *hands, const struct question *question, int *ret_fd)
{
	char path[32];

	(void)ret_fd;
	snprintf(path, sizeof(path), "/proc/%d", (int)question->pid);
	_cleanup_close_ int proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0 || parent_of(proc) != hands->supervisor) {
		return -EPROTO;
	}
	int r = own_ids_map(proc, hands->warden_id);
	if (r < 0) {
		return r;
	}
	hands->state = HANDS_MAPPED;
	r = hands->groups ? cgroup_delegate(hands->groups, hands->warden_id, question->pid) : 0;
	if (r < 0) {
		/* Cells then go without, as on a host that has none; each result says so. */
		role_log(ROLE_WARNING, "no-group", "cause=%s", strerror(-r));
	}
	hands->delegated = hands->groups != NULL;
	return 0;
}

static int take_devices(struct hands *hands, const struct question *question, int *ret_fd)
{
	(void)hands;
	(void)question;
	*ret_fd = devices_make();
	return *ret_fd < 0 ? *ret_fd : 0;
}

static int take_whose(struct hands *hands, const struct question *question, int *ret_fd)
{
	struct stat st;

	(void)hands;
	(void)ret_fd;
	return fstat(question->fd, &st) < 0 ? -errno : st.st_uid == 0;
}

static const struct {
	uint32_t kind;
	enum hands_state state; /* in which it may be asked */
	bool fd;                /* comes along */
	int (*take)(struct hands *hands, const struct question *question, int *ret_fd);
} rules[] = {
	{ BROKER_MAP, HANDS_FRESH, false, take_map },
	{ BROKER_DEVICES, HANDS_MAPPED, false, take_devices },
	{ BROKER_WHOSE, HANDS_MAPPED, true, take_whose },
};

int hands_answer(struct hands *hands, const struct question *question, int *ret_fd)
{
	*ret_fd = -1;
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rules[i].kind == question->kind && rules[i].state == hands->state &&
		    rules[i].fd == (question->fd >= 0)) {
			return rules[i].take(hands, question, ret_fd);
		}
	}
	return -EPROTO;
}

void hands_done(struct hands *hands)
{
	for (int i = 0; hands->delegated && i < REMOVE_TRIES; i++) {
		if (cgroup_delegate_remove(hands->groups)) {
			break;
		}
		nanosleep(&(struct timespec){ .tv_nsec = REMOVE_WAIT_NS }, NULL);
	}
	cgroup_manager_free(hands->groups);
	hands->groups = NULL;
}
