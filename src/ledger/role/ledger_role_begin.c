/* SPDX-License-Identifier: Apache-2.0 */
/* Queued executions with long requests, as jobs: see ledger_role_long.h. */
#include <errno.h>

#include "ledger/role/ledger_role_long.h"

bool role_long_begin(struct ledger_role *role, uint64_t serial, const void *form, size_t form_size,
		     void *block, size_t size)
{
	if (size <= STORE_LONG_BYTES) {
		return false;
	}
	struct buf copy = { 0 };
	buf_add(&copy, form, form_size);
	struct long_job *job = copy.failed ? NULL : long_job_new(role, LONG_BEGIN, serial, "");
	if (job) {
		job->form = copy;
		job->block = block;
		job->block_size = size;
		job->request = (struct store_request){ .data = block, .size = size };
	} else {
		buf_done(&copy);
		message_block_unmap(block, size);
		long_refuse(role, serial, "the record cannot be stored");
	}
	return true;
}

static int request_step(struct store *store, struct long_job *job, struct brig_error *error)
{
	return store_request_step(store, &job->request, error);
}

static int request_undo(struct store *store, struct long_job *job, struct brig_error *error)
{
	return store_request_undo(store, &job->request, error);
}

/* The execution is stored last: it exists with its whole request, or not at all. */
static int request_finish(struct store *store, struct long_job *job, struct brig_error *error)
{
	struct ledger_text texts[LEDGER_FIELDS_MAX] = { 0 };
	int r = ledger_form_unpack(&ledger_forms[LEDGER_BEGIN], job->form.data, job->form.size,
				   texts);

	texts[BEGIN_REQUEST] = (struct ledger_text){ job->block, job->block_size };
	if (r == 0) {
		r = store_execution_begin(store, texts, true, &job->request, &job->begun, error);
	}
	if (r == 0 && job->begun.failed) {
		r = error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory for the answer");
	}
	/* If its key is known, the request is not needed. */
	return r < 0 ? r : store_request_undo(store, &job->request, error);
}

int long_begin_some(struct ledger_role *role, struct long_job *job)
{
	int r = long_in_transaction(role, job, request_step, &job->error);

	if (r > 0) {
		r = long_in_transaction(role, job, request_finish, &job->error);
		return r < 0 ? r : 1;
	}
	return r;
}

void long_answer_begun(struct ledger_role *role, struct long_job *job)
{
	struct message message = { .kind = LEDGER_ANSWER, .serial = job->serial };
	struct brig_error unused = { 0 };

	if (job->error.errnum) {
		if (job->error.code != BRIG_E_INPUT) {
			role_failed(role, &job->error);
		}
		(void)long_in_transaction(role, job, request_undo, &unused);
		role_sent(role, role_send_error(role, &message, &job->error));
		return;
	}
	role_sent(role, role_send_text(role, &message, job->begun.data, job->begun.size));
}
