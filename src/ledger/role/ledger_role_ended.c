/* SPDX-License-Identifier: Apache-2.0 */
/* Ends with long results, as jobs: see ledger_role_long.h. */
#include <errno.h>

#include "ledger/role/ledger_role_long.h"

bool role_long_store(struct ledger_role *role, uint64_t serial, const char *id, void *block,
		     size_t size)
{
	if (size <= STORE_LONG_BYTES) {
		return false;
	}
	struct long_job *job = long_job_new(role, LONG_STORE, serial, id);
	if (job) {
		job->block = block;
		job->block_size = size;
	} else {
		message_block_unmap(block, size);
		long_refuse(role, serial, "the record cannot be stored");
	}
	return true;
}

static int ended_step(struct store *store, struct long_job *job, struct brig_error *error)
{
	return store_ended_step(store, job->ended, error);
}

static int ended_finish(struct store *store, struct long_job *job, struct brig_error *error)
{
	return store_ended_finish(store, job->ended, error);
}

static int ended_undo(struct store *store, struct long_job *job, struct brig_error *error)
{
	return store_ended_undo(store, job->ended, error);
}

static int open_end(struct ledger_role *role, struct long_job *job)
{
	struct ended_result result;
	/* Its beginning may be in the log. */
	int r = role_backlog_settle(role, &job->error);

	if (r < 0) {
		return r;
	}
	r = ended_result_read(&result, job->id, job->block, job->block_size, &job->error);

	return r < 0 ? r
		     : store_ended_open(role->store, job->id, &result, &job->ended, &job->error);
}

int long_store_some(struct ledger_role *role, struct long_job *job)
{
	if (!job->ended) {
		return open_end(role, job);
	}
	int r = long_in_transaction(role, job, ended_step, &job->error);
	if (r > 0) {
		r = long_in_transaction(role, job, ended_finish, &job->error);
		(void)open_set_remove(&role->backlog.open, job->id);
		return r < 0 ? r : 1;
	}
	return r;
}

/* On a full disk its parts would take the space of others that need less. */
static void take_back(struct ledger_role *role, struct long_job *job)
{
	struct brig_error unused = { 0 };

	role_failed(role, &job->error);
	if (job->ended && job->error.errnum != ESTALE) {
		(void)long_in_transaction(role, job, ended_undo, &unused);
	}
}

void long_answer_stored(struct ledger_role *role, struct long_job *job)
{
	struct message message = { .kind = LEDGER_ANSWER, .serial = job->serial };

	if (job->error.errnum == EPROTO) { /* as for a short one */
		role_note(role, true, "refused", ledger_forms[LEDGER_ENDED].name);
		role->options.gone(role->options.user, "sends an invalid result");
		return;
	}
	if (job->error.errnum && job->error.code != BRIG_E_INPUT) {
		take_back(role, job);
	}
	role_sent(role, job->error.errnum ? role_send_error(role, &message, &job->error)
					  : role_send_text(role, &message, "{}", 2));
}
