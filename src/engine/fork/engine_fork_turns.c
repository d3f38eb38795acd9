/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules forks. The number of active ones is bounded, in total and for each tenant; the next one
 * to begin is of the tenant with the fewest active ones. Of those that copy, one does a slice in a
 * round of the loop.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "engine/fork/engine_fork.h"

static unsigned count_forks(const struct local *local, const char *tenant, bool waiting)
{
	unsigned count = 0;

	LIST_EACH(const struct local_fork, f, &local->forks, node) {
		count += (f->state == FORK_WAITING) == waiting &&
			 (!tenant || strcmp(f->tenant, tenant) == 0);
	}
	return count;
}

/* NULL: none may begin. */
static struct local_fork *next_to_begin(const struct local *local)
{
	struct local_fork *best = NULL;
	unsigned least = FORKS_TENANT;

	if (count_forks(local, NULL, false) >= FORKS_MAX) {
		return NULL;
	}
	LIST_EACH(struct local_fork, f, &local->forks, node) {
		unsigned own =
			f->state == FORK_WAITING ? count_forks(local, f->tenant, false) : least;
		if (own < least) {
			least = own;
			best = f;
		}
		if (least == 0) {
			break;
		}
	}
	return best;
}

static struct local_fork *next_to_copy(const struct local *local)
{
	LIST_EACH(struct local_fork, fork, &local->forks, node) {
		if (fork_is_copying(fork)) {
			return fork;
		}
	}
	return NULL;
}

static void go_on(struct local *local);

static void turn(void *user)
{
	struct local *local = user;
	struct local_fork *fork = next_to_begin(local);

	if (fork) {
		fork_begin(fork);
	} else if ((fork = next_to_copy(local)) != NULL) {
		list_move_last(&local->forks, &fork->node);
		fork_copy_step(fork);
	}
	go_on(local);
}

static void go_on(struct local *local)
{
	if (!local->forks_turn.place && (next_to_begin(local) || next_to_copy(local))) {
		local->forks_turn.due = turn;
		local->forks_turn.user = local;
		(void)loop_timer_set(local->loop, &local->forks_turn, clock_now_ns());
	}
}

void fork_start_copy(struct local_fork *fork)
{
	fork_enter(fork, FORK_COPY_STATE);
	go_on(fork->run->local);
}

static void fork_free(struct local_fork *fork)
{
	fork_copy_done(&fork->copy);
	strlist_done(&fork->carried);
	strlist_done(&fork->left);
	strlist_done(&fork->files_left);
	free(fork->tenant);
	free(fork);
}

/* Removes the traces of the fork in both sessions. */
static void clear_away(struct local_fork *fork)
{
	struct local_session *from = fork_session(fork, fork->from);
	struct local_session *to = fork->to[0] ? fork_session(fork, fork->to) : NULL;

	if (from && fork->to[0]) {
		(void)brig_session_delete(from->session, fork->state_path, NULL);
		(void)brig_session_delete(from->session, fork->names_path, NULL);
	}
	if (to) {
		local_session_end(to, "its fork was not completed");
	}
}

void local_fork_drop(struct engine_run *run)
{
	struct local_fork *fork = TAKE_PTR(run->fork);
	struct local *local = run->local;

	if (!fork) {
		return;
	}
	list_remove(&local->forks, &fork->node);
	if (fork->inner) {
		engine_forget(fork->inner);
	}
	clear_away(fork);
	fork_free(fork);
	go_on(local);
}

/* --- new forks ------------------------------------------------------------------------------- */

static int name_files(struct local_fork *fork)
{
	char id[27];
	int r = id_make(id);

	if (r == 0) {
		snprintf(fork->state_path, sizeof(fork->state_path), ".brig-fork-%s", id);
		snprintf(fork->names_path, sizeof(fork->names_path), "%s.names", fork->state_path);
	}
	return r;
}

static int fork_new(const struct engine_call *call, const struct local_session *from,
		    struct local_fork **ret)
{
	struct local_fork *fork = calloc(1, sizeof(*fork));

	if (!fork) {
		return -ENOMEM;
	}
	fork->copy.from = fork->copy.upload.fd = fork->copy.upload.dir = -1;
	fork->most = call->run.limits_most;
	memcpy(fork->from, from->id, sizeof(fork->from));
	snprintf(fork->caller, sizeof(fork->caller), "%s", call->caller ? call->caller : "");
	fork->tenant = strdup(call->tenant);
	int r = fork->tenant ? name_files(fork) : -ENOMEM;
	if (r < 0) {
		fork_free(fork);
		return r;
	}
	*ret = fork;
	return 0;
}

int local_session_fork(struct local *local, const struct engine_call *call, struct engine_run *run,
		       struct brig_error *err)
{
	struct local_session *from = local_session_find(local, call, err);
	struct local_fork *fork = NULL;

	if (!from) {
		return err && err->errnum ? -err->errnum : -ENOENT;
	}
	if (from->state == LOCAL_SESSION_BUSY) {
		return error_set(err, BRIG_E_INPUT, EBUSY, "a run is under way in the session");
	}
	if (count_forks(local, call->tenant, true) >= FORKS_WAITING_TENANT) {
		return error_set(err, BRIG_E_INPUT, EAGAIN,
				 "%u of your forks are waiting already: try later",
				 FORKS_WAITING_TENANT);
	}
	int r = fork_check_limits(from, &call->run.limits_most, err);
	if (r < 0) {
		return r;
	}
	r = fork_new(call, from, &fork);
	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "cannot fork a session");
	}
	fork->run = run;
	run->fork = fork;
	list_append(&local->forks, &fork->node);
	go_on(local);
	return 0;
}
