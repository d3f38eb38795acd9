/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The actions of the broker, as a table: each kind of request, the phase in which it is allowed,
 * and the function that handles it. A request contains nothing that must be trusted: no path, no
 * number, no id.
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
#include "broker_client/broker_messages.h"
#include "kernel/devices.h"
#include "kernel/own_ids.h"
#include "role/log.h"

#define REMOVE_TRIES   100
#define REMOVE_WAIT_NS 20000000

/* Field 4 of stat, behind the name, which may contain any character. */
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

/*
 * The open directory refers to this process: if it ends, its number cannot be mistaken for another
 * process here.
 */
static int handle_map(struct broker_state *state, const struct broker_request *request, int *ret_fd)
{
	char path[32];

	(void)ret_fd;
	snprintf(path, sizeof(path), "/proc/%d", (int)request->pid);
	_cleanup_close_ int proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0 || parent_of(proc) != state->supervisor) {
		return -EPROTO;
	}
	int r = own_ids_map(proc, state->warden_id);
	if (r < 0) {
		return r;
	}
	state->phase = PHASE_MAPPED;
	r = state->groups ? cgroup_delegate(state->groups, state->warden_id, request->pid) : 0;
	if (r < 0) {
		/*
		 * Cells then have no control groups, as on a host without them; each result reports
		 * it.
		 */
		role_log(ROLE_WARNING, "no-group", "cause=%s", strerror(-r));
	}
	state->delegated = state->groups != NULL;
	return 0;
}

static int handle_devices(struct broker_state *state, const struct broker_request *request,
			  int *ret_fd)
{
	(void)state;
	(void)request;
	*ret_fd = devices_make();
	return *ret_fd < 0 ? *ret_fd : 0;
}

static int handle_owned_by_root(struct broker_state *state, const struct broker_request *request,
				int *ret_fd)
{
	struct stat st;

	(void)state;
	(void)ret_fd;
	return fstat(request->fd, &st) < 0 ? -errno : st.st_uid == 0;
}

static const struct {
	uint32_t kind;
	enum broker_phase phase; /* in which it is allowed */
	bool fd;                 /* a descriptor is required */
	int (*handle)(struct broker_state *state, const struct broker_request *request,
		      int *ret_fd);
} rules[] = {
	{ BROKER_MAP, PHASE_NEW, false, handle_map },
	{ BROKER_DEVICES, PHASE_MAPPED, false, handle_devices },
	{ BROKER_OWNED_BY_ROOT, PHASE_MAPPED, true, handle_owned_by_root },
};

int broker_handle(struct broker_state *state, const struct broker_request *request, int *ret_fd)
{
	*ret_fd = -1;
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rules[i].kind == request->kind && rules[i].phase == state->phase &&
		    rules[i].fd == (request->fd >= 0)) {
			return rules[i].handle(state, request, ret_fd);
		}
	}
	return -EPROTO;
}

void broker_state_done(struct broker_state *state)
{
	for (int i = 0; state->delegated && i < REMOVE_TRIES; i++) {
		if (cgroup_delegate_remove(state->groups)) {
			break;
		}
		nanosleep(&(struct timespec){ .tv_nsec = REMOVE_WAIT_NS }, NULL);
	}
	cgroup_manager_free(state->groups);
	state->groups = NULL;
}
