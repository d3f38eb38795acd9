/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long results are stored and read a part at a time: one part of one of them in each round of the
 * loop, by turns, and between two parts whatever else has come. What does not find a place among
 * them is done in one go.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/memfile.h"
#include "base/write_all.h"
#include "ledger/ledger_role_internal.h"

#define JOBS_MAX  16
#define READS_MAX 12 /* of these: what has ended finds a place sooner than who asks */

/* One that is stored or one that is read. */
struct long_job {
	struct long_job *next;
	uint64_t serial; /* of the call */
	struct brig_error error;
	/* Storing: */
	void *block; /* owned: a mapping */
	size_t block_size;
	struct store_ended *ended; /* owned; NULL: it is read */
	/* Reading: */
	struct store_more more;
	int answer; /* owned: a memory file; -1: none */
};

static void job_free(struct long_job *job)
{
	store_ended_free(job->ended);
	message_block_unmap(job->block, job->block_size);
	close_fd(&job->answer);
	free(job);
}

static void append(struct ledger_role *role, struct long_job *job)
{
	job->next = NULL;
	*role->jobs_end = job;
	role->jobs_end = &job->next;
}

static struct long_job *take_first(struct ledger_role *role)
{
	struct long_job *job = role->jobs;

	role->jobs = job->next;
	if (!role->jobs) {
		role->jobs_end = &role->jobs;
	}
	return job;
}

static struct long_job *job_new(struct ledger_role *role, unsigned most, uint64_t serial)
{
	struct long_job *job = role->jobs_count < most ? calloc(1, sizeof(*job)) : NULL;

	if (job) {
		job->serial = serial;
		job->answer = -1;
	}
	return job;
}

static bool go_on_later(struct ledger_role *role)
{
	return role->jobs_due.place || loop_timer_set(role->loop, &role->jobs_due, 0) == 0;
}

/* --- storing ---------------------------------------------------------------------------------- */

bool role_long_store(struct ledger_role *role, uint64_t serial, const char *id, void *block,
		     size_t size)
{
	struct long_job *job = size > STORE_LONG_BYTES && go_on_later(role)
				       ? job_new(role, JOBS_MAX, serial)
				       : NULL;
	struct brig_error error = { 0 };

	if (!job) {
		return false;
	}
	/* The number of a row that is not committed can become another's. */
	role_commit_now(role);
	if (store_ended_open(role->store, id, block, size, &job->ended, &error) < 0) {
		job_free(job); /* the call in one go says why */
		return false;
	}
	job->block = block;
	job->block_size = size;
	role->jobs_count++;
	append(role, job);
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
	if (job->error.errnum != ESTALE) {
		(void)in_transaction(role, job->ended, store_ended_undo, &unused);
	}
}

static void answer_stored(struct ledger_role *role, struct long_job *job)
{
	struct message message = { .kind = LEDGER_ANSWER, .serial = job->serial };

	if (job->error.errnum && job->error.code != BRIG_E_INPUT) {
		take_back(role, job);
	}
	role_sent(role, job->error.errnum ? role_send_error(role, &message, &job->error)
					  : role_send_text(role, &message, "{}", 2));
}

/* --- reading ---------------------------------------------------------------------------------- */

/* All that is left of it, behind what is there already: an answer like any other. */
static int read_rest(struct ledger_role *role, struct answer *answer)
{
	int r = 0;

	while (r == 0) {
		r = store_more_read(role->store, &answer->more, &answer->data, &answer->error);
	}
	if (r > 0) {
		buf_addc(&answer->data, '}');
		r = answer->data.failed ? error_set(&answer->error, BRIG_E_SYSTEM, ENOMEM,
						    "no memory for the answer")
					: 0;
	}
	return r;
}

void role_long_read(struct ledger_role *role, struct answer *answer)
{
	struct long_job *job = go_on_later(role) ? job_new(role, READS_MAX, answer->serial) : NULL;

	if (job) {
		job->answer = message_block_open(0);
		if (job->answer >= 0 &&
		    write_all(job->answer, answer->data.data, answer->data.size) == 0) {
			job->more = answer->more;
			role->jobs_count++;
			append(role, job);
			return;
		}
		job_free(job);
	}
	struct message message = { .kind = LEDGER_ANSWER, .serial = answer->serial };

	role_sent(role,
		  read_rest(role, answer) < 0
			  ? role_send_error(role, &message, &answer->error)
			  : role_send_text(role, &message, answer->data.data, answer->data.size));
}

static int read_some(struct ledger_role *role, struct long_job *job)
{
	_cleanup_(buf_done)
	struct buf part = { 0 };
	int r = store_more_read(role->store, &job->more, &part, &job->error);

	if (r < 0) {
		return r;
	}
	if (r > 0) {
		buf_addc(&part, '}');
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

static void one_turn(struct ledger_role *role)
{
	struct long_job *job = take_first(role);
	int r = job->ended ? store_some(role, job) : read_some(role, job);

	if (r == 0) {
		append(role, job);
		return;
	}
	if (r < 0 && !job->error.errnum) {
		error_set(&job->error, BRIG_E_SYSTEM, EIO, "the record cannot be taken");
	}
	role->jobs_count--;
	if (job->ended) {
		answer_stored(role, job);
	} else {
		answer_read(role, job);
	}
	job_free(job);
	role_commit_now(role); /* what follows a commit: signing, flushing */
}

static void jobs_due(void *user)
{
	struct ledger_role *role = user;

	/* What others have said so far is theirs, whatever becomes of this part. */
	role_commit_now(role);
	if (role->jobs) {
		one_turn(role);
	}
	if (role->jobs && !go_on_later(role)) {
		role_long_finish(role);
	}
}

void role_long_finish(struct ledger_role *role)
{
	while (role->jobs) {
		one_turn(role);
	}
}

void role_long_init(struct ledger_role *role)
{
	role->jobs_end = &role->jobs;
	role->jobs_due = (struct loop_timer){ .due = jobs_due, .user = role };
}
