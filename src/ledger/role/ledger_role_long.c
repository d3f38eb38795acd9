/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that take turns: see ledger_role_long.h. */
#include "ledger/role/ledger_role_long.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static void job_free(struct ledger_role *role, struct long_job *job)
{
	role->store->class->ended_free(job->ended);
	message_block_unmap(job->block, job->block_size);
	buf_done(&job->form);
	buf_done(&job->begun);
	close_fd(&job->answer);
	free(job);
}

/* The list must not be empty. */
static struct long_job *take_first(struct list *list)
{
	struct long_job *job = LIST_FIRST(list, struct long_job, node);

	list_remove(list, &job->node);
	return job;
}

static bool go_on_later(struct ledger_role *role)
{
	return role->jobs_due.place || loop_timer_set(role->loop, &role->jobs_due, 0) == 0;
}

struct long_job *long_job_new(struct ledger_role *role, enum long_kind kind, uint64_t serial,
			      const char *id)
{
	struct long_job *job = go_on_later(role) ? calloc(1, sizeof(*job)) : NULL;

	if (job) {
		job->kind = kind;
		job->serial = serial;
		job->answer = -1;
		(void)strncat(job->id, id, sizeof(job->id) - 1);
		list_append(&role->waiting[kind], &job->node);
	}
	return job;
}

void long_refuse(struct ledger_role *role, uint64_t serial, const char *what)
{
	struct message message = { .kind = LEDGER_ANSWER, .serial = serial };
	struct brig_error error = { 0 };

	error_errno(&error, BRIG_E_SYSTEM, ENOMEM, "%s", what);
	role_sent(role, role_send_error(role, &message, &error));
}

int long_in_transaction(struct ledger_role *role, struct long_job *job, long_act *act,
			struct brig_error *error)
{
	int r = store_begin(role->store, error);

	if (r < 0) {
		return r;
	}
	r = act(role->store, job, error);
	if (r < 0) {
		store_rollback(role->store);
		return r;
	}
	int committed = store_commit(role->store, error);
	return committed < 0 ? committed : r;
}

/* --- turns ------------------------------------------------------------------------------------ */

/* The most active jobs of a kind, and their functions. */
static const struct {
	unsigned most;
	int (*step)(struct ledger_role *role, struct long_job *job);
	void (*answer)(struct ledger_role *role, struct long_job *job);
} kinds[LONG_KINDS] = {
	[LONG_STORE] = { 16, long_store_some, long_answer_stored },
	[LONG_BEGIN] = { 8, long_begin_some, long_answer_begun },
	[LONG_READ] = { 12, long_read_some, long_answer_read },
};

/* Starts waiting jobs where places are free. */
static void fill_places(struct ledger_role *role)
{
	for (unsigned kind = 0; kind < LONG_KINDS; kind++) {
		while (!list_empty(&role->waiting[kind]) && role->active[kind] < kinds[kind].most) {
			role->active[kind]++;
			list_append(&role->jobs, &take_first(&role->waiting[kind])->node);
		}
	}
}

static void one_turn(struct ledger_role *role)
{
	struct long_job *job = take_first(&role->jobs);
	int r = kinds[job->kind].step(role, job);

	if (r == 0) {
		list_append(&role->jobs, &job->node);
		return;
	}
	if (r < 0 && !job->error.errnum) {
		error_set(&job->error, BRIG_E_SYSTEM, EIO, "the record cannot be stored");
	}
	role->active[job->kind]--;
	kinds[job->kind].answer(role, job);
	job_free(role, job);
	role_commit_now(role); /* after a commit: signing, flushing */
}

static void jobs_due(void *user)
{
	struct ledger_role *role = user;

	/* Calls of others are committed first, whatever the result of this part. */
	role_commit_now(role);
	fill_places(role);
	if (!list_empty(&role->jobs)) {
		one_turn(role);
	}
	fill_places(role);
	if (!list_empty(&role->jobs) && !go_on_later(role)) {
		role_long_finish(role);
	}
}

void role_long_finish(struct ledger_role *role)
{
	/* A client can read a result again; an end is sent only once. */
	while (!list_empty(&role->waiting[LONG_READ])) {
		struct long_job *job = take_first(&role->waiting[LONG_READ]);

		long_refuse(role, job->serial, "the service is stopping");
		job_free(role, job);
	}
	for (fill_places(role); !list_empty(&role->jobs); fill_places(role)) {
		one_turn(role);
	}
}

void role_long_init(struct ledger_role *role)
{
	role->jobs_due = (struct loop_timer){ .due = jobs_due, .user = role };
}
