/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long results are stored and read a part at a time: one part of one of them in each round of the
 * loop, by turns, and between two parts whatever else has come. Some of each kind are under way;
 * the others wait behind them, and have nothing but the bytes that came (stores) or an id (reads).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memfile.h"
#include "base/write_all.h"
#include "ledger/ledger_role_internal.h"

struct long_job {
	struct long_job *next;
	enum long_kind kind;
	uint64_t serial; /* of the call */
	char id[27];     /* of the execution */
	struct brig_error error;
	/* Storing: */
	void *block; /* owned: a mapping */
	size_t block_size;
	struct store_ended *ended; /* owned; NULL: it has not begun */
	/* Reading: */
	struct store_more more;
	int answer; /* owned: a memory file; -1: it has not begun */
};

static void job_free(struct long_job *job)
{
	store_ended_free(job->ended);
	message_block_unmap(job->block, job->block_size);
	close_fd(&job->answer);
	free(job);
}

static void list_add(struct long_list *list, struct long_job *job)
{
	job->next = NULL;
	*list->end = job;
	list->end = &job->next;
}

static struct long_job *list_take(struct long_list *list)
{
	struct long_job *job = list->first;

	list->first = job->next;
	if (!list->first) {
		list->end = &list->first;
	}
	return job;
}

static bool go_on_later(struct ledger_role *role)
{
	return role->jobs_due.place || loop_timer_set(role->loop, &role->jobs_due, 0) == 0;
}

/* NULL: no memory. */
static struct long_job *job_new(struct ledger_role *role, enum long_kind kind, uint64_t serial,
				const char *id)
{
	struct long_job *job = go_on_later(role) ? calloc(1, sizeof(*job)) : NULL;

	if (job) {
		job->kind = kind;
		job->serial = serial;
		job->answer = -1;
		(void)strncat(job->id, id, sizeof(job->id) - 1);
		list_add(&role->waiting[kind], job);
	}
	return job;
}

static void refuse(struct ledger_role *role, uint64_t serial, const char *what)
{
	struct message message = { .kind = LEDGER_ANSWER, .serial = serial };
	struct brig_error error = { 0 };

	error_errno(&error, BRIG_E_SYSTEM, ENOMEM, "%s", what);
	role_sent(role, role_send_error(role, &message, &error));
}

/* --- storing ---------------------------------------------------------------------------------- */

bool role_long_store(struct ledger_role *role, uint64_t serial, const char *id, void *block,
		     size_t size)
{
	if (size <= STORE_LONG_BYTES) {
		return false;
	}
	struct long_job *job = job_new(role, LONG_STORE, serial, id);
	if (job) {
		job->block = block;
		job->block_size = size;
	} else {
		message_block_unmap(block, size);
		refuse(role, serial, "the record cannot be taken");
	}
	return true;
}

/* In a transaction of its own. */
static int in_transaction(struct ledger_role *role, struct store_ended *ended,
			  int (*act)(struct store *store, struct store_ended *ended,
				     struct brig_error *error),
			  struct brig_error *error)
{
	int r = store_begin(role->store, error);

	if (r < 0) {
		return r;
	}
	r = act(role->store, ended, error);
	if (r < 0) {
		store_rollback(role->store);
		return r;
	}
	int committed = store_commit(role->store, error);
	return committed < 0 ? committed : r;
}

/* 1: it is done; 0: there is more to do. */
static int store_some(struct ledger_role *role, struct long_job *job)
{
	if (!job->ended) {
		return store_ended_open(role->store, job->id, job->block, job->block_size,
					&job->ended, &job->error);
	}
	int r = in_transaction(role, job->ended, store_ended_step, &job->error);

	if (r > 0) {
		r = in_transaction(role, job->ended, store_ended_finish, &job->error);
		return r < 0 ? r : 1;
	}
	return r;
}

/* On a full disk its parts would be in the way of others, who need less. */
static void take_back(struct ledger_role *role, struct long_job *job)
{
	struct brig_error unused = { 0 };

	role_failed(role, &job->error);
	if (job->ended && job->error.errnum != ESTALE) {
		(void)in_transaction(role, job->ended, store_ended_undo, &unused);
	}
}

static void answer_stored(struct ledger_role *role, struct long_job *job)
{
	struct message message = { .kind = LEDGER_ANSWER, .serial = job->serial };

	if (job->error.errnum == EPROTO) { /* as for a short one */
		role_note(role, true, "refused", ledger_forms[LEDGER_ENDED].name);
		role->options.gone(role->options.user, "sends what is no result");
		return;
	}
	if (job->error.errnum && job->error.code != BRIG_E_INPUT) {
		take_back(role, job);
	}
	role_sent(role, job->error.errnum ? role_send_error(role, &message, &job->error)
					  : role_send_text(role, &message, "{}", 2));
}

/* --- reading ---------------------------------------------------------------------------------- */

void role_long_read(struct ledger_role *role, const struct answer *answer)
{
	if (!job_new(role, LONG_READ, answer->serial, answer->more.id)) {
		refuse(role, answer->serial, "no memory for the answer");
	}
}

/* Its beginning, as it is by now: a result may be deleted while somebody waits for it. */
static int read_begin(struct ledger_role *role, struct long_job *job, struct buf *out)
{
	int r = store_execution_get(role->store, LEDGER_ANY_TENANT, job->id, out, &job->more,
				    &job->error);

	if (r < 0) {
		return r;
	}
	job->answer = message_block_open(0);
	if (job->answer < 0) {
		return error_errno(&job->error, BRIG_E_SYSTEM, -job->answer,
				   "no memory for the answer");
	}
	return job->more.n == 0;
}

static int read_part(struct ledger_role *role, struct long_job *job, struct buf *out)
{
	int r = store_more_read(role->store, &job->more, out, &job->error);

	if (r > 0) {
		buf_addc(out, '}');
	}
	return r;
}

static int read_some(struct ledger_role *role, struct long_job *job)
{
	_cleanup_(buf_done)
	struct buf part = { 0 };
	int r = job->answer < 0 ? read_begin(role, job, &part) : read_part(role, job, &part);

	if (r < 0) {
		return r;
	}
	int written = part.failed ? -ENOMEM : write_all(job->answer, part.data, part.size);
	if (written == 0 && r > 0) {
		written = memfile_seal(job->answer);
	}
	if (written < 0) {
		error_errno(&job->error, BRIG_E_SYSTEM, -written, "no memory for the answer");
		return written;
	}
	return r;
}

static void answer_read(struct ledger_role *role, struct long_job *job)
{
	struct message message = { .kind = LEDGER_ANSWER, .serial = job->serial };

	role_sent(role, job->error.errnum ? role_send_error(role, &message, &job->error)
					  : role_send_block(role, &message, job->answer));
}

/* --- turns ------------------------------------------------------------------------------------ */

/* How many of a kind are under way at once, and what a turn of one does: 0, or 1 at its end. */
static const struct {
	unsigned most;
	int (*step)(struct ledger_role *role, struct long_job *job);
	void (*answer)(struct ledger_role *role, struct long_job *job);
} kinds[LONG_KINDS] = {
	[LONG_STORE] = { 16, store_some, answer_stored },
	[LONG_READ] = { 12, read_some, answer_read },
};

/* Those that wait take the places that are free. */
static void fill_places(struct ledger_role *role)
{
	for (unsigned kind = 0; kind < LONG_KINDS; kind++) {
		while (role->waiting[kind].first && role->active[kind] < kinds[kind].most) {
			role->active[kind]++;
			list_add(&role->jobs, list_take(&role->waiting[kind]));
		}
	}
}

static void one_turn(struct ledger_role *role)
{
	struct long_job *job = list_take(&role->jobs);
	int r = kinds[job->kind].step(role, job);

	if (r == 0) {
		list_add(&role->jobs, job);
		return;
	}
	if (r < 0 && !job->error.errnum) {
		error_set(&job->error, BRIG_E_SYSTEM, EIO, "the record cannot be taken");
	}
	role->active[job->kind]--;
	kinds[job->kind].answer(role, job);
	job_free(job);
	role_commit_now(role); /* what follows a commit: signing, flushing */
}

static void jobs_due(void *user)
{
	struct ledger_role *role = user;

	/* What others have said so far is theirs, whatever becomes of this part. */
	role_commit_now(role);
	fill_places(role);
	if (role->jobs.first) {
		one_turn(role);
	}
	fill_places(role);
	if (role->jobs.first && !go_on_later(role)) {
		role_long_finish(role);
	}
}

void role_long_finish(struct ledger_role *role)
{
	/* Whoever asks for a result can ask again; what has ended is told only once. */
	while (role->waiting[LONG_READ].first) {
		struct long_job *job = list_take(&role->waiting[LONG_READ]);

		refuse(role, job->serial, "no time for the answer");
		job_free(job);
	}
	for (fill_places(role); role->jobs.first; fill_places(role)) {
		one_turn(role);
	}
}

void role_long_init(struct ledger_role *role)
{
	role->jobs.end = &role->jobs.first;
	for (unsigned kind = 0; kind < LONG_KINDS; kind++) {
		role->waiting[kind].end = &role->waiting[kind].first;
	}
	role->jobs_due = (struct loop_timer){ .due = jobs_due, .user = role };
}
