/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of long results, as jobs: see ledger_role_long.h. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/files/memfile.h"
#include "base/files/write_all.h"
#include "ledger/role/ledger_role_long.h"

void role_long_read(struct ledger_role *role, const struct answer *answer)
{
	if (!long_job_new(role, LONG_READ, answer->serial, answer->more.id)) {
		long_refuse(role, answer->serial, "no memory for the answer");
	}
}

/* Its beginning, in its current state: a result may be deleted while a client waits for it. */
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

int long_read_some(struct ledger_role *role, struct long_job *job)
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

void long_answer_read(struct ledger_role *role, struct long_job *job)
{
	struct message message = { .kind = LEDGER_ANSWER, .serial = job->serial };

	role_sent(role, job->error.errnum ? role_send_error(role, &message, &job->error)
					  : role_send_block(role, &message, job->answer));
}
