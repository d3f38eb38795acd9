/* SPDX-License-Identifier: Apache-2.0 */
/* The log of the ledger role: taking calls, and filling the store behind them. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "ledger/role/ledger_role_internal.h"

#define FILL_RECORDS  64u /* as many are stored at once, without waiting for more */
#define SLICE_RECORDS 64u
#define SLICE_NS      (SEC / 1000)
/* Before another try when the store has failed. */
#define FILL_AGAIN_NS (SEC / 10)

/* --- taking ----------------------------------------------------------------------------------- */

int role_backlog_take(struct ledger_role *role, const struct message *message,
		      const struct ledger_text *texts, struct brig_error *error)
{
	struct brig_error failure = { 0 };

	if (!role->store->class->behind_log || store_in_transaction(role->store)) {
		return 0;
	}
	if (backlog_full(&role->backlog) && role_backlog_fill(role, &failure) < 0) {
		return 0; /* the store has failed, and fails for this call as well */
	}
	return backlog_take(&role->backlog, message, texts, &role->store->limits, error);
}

/* The calls of this round up to this record are in the log, or in the store. */
static void round_is_kept(struct ledger_role *role, uint64_t until)
{
	for (unsigned i = 0; i < role->answers_count; i++) {
		if (role->answers[i].sequence <= until) {
			role->answers[i].sequence = 0;
		}
	}
}

static void fill_soon(struct ledger_role *role)
{
	if (role->backlog.count >= FILL_RECORDS) {
		(void)loop_timer_set(role->loop, &role->fill, 0);
	} else {
		role_arm(role, &role->fill, role->options.fill_ns);
	}
	role_arm(role, &role->flush, role->options.flush_ns);
}

/* Neither the log nor the store has room: the calls of this round did not happen. */
static void round_is_lost(struct ledger_role *role, const struct brig_error *error)
{
	backlog_undo(&role->backlog);
	for (unsigned i = 0; i < role->answers_count; i++) {
		struct answer *answer = &role->answers[i];

		if (answer->sequence && !answer->error.errnum) {
			answer->error = *error;
		}
	}
}

void role_backlog_write(struct ledger_role *role)
{
	struct brig_error error = { 0 };

	if (!role->backlog.unwritten) {
		return;
	}
	if (backlog_write(&role->backlog) < 0 && role_backlog_settle(role, &error) < 0) {
		round_is_lost(role, &error);
		return;
	}
	round_is_kept(role, UINT64_MAX);
	fill_soon(role);
}

/* --- filling the store ------------------------------------------------------------------------ */

/* A signature is due, and is to be over no more entries than usual. */
static bool enough(const struct ledger_role *role)
{
	const struct store_tally *now = &role->store->now;

	return now->head.sequence - now->checkpoint.sequence >= role->options.checkpoint_entries;
}

/* In a transaction. How many entries it took; or the error, and a bad entry is marked. */
static int store_slice(struct ledger_role *role, struct brig_error *error)
{
	uint64_t until = clock_now_ns() + SLICE_NS, last = 0;
	unsigned count = 0;

	LIST_EACH(struct backlog_entry, entry, &role->backlog.entries, node) {
		int r = backlog_store(entry, role->store, error);
		if (r < 0) {
			entry->refused = error->code == BRIG_E_INPUT;
			return r;
		}
		last = entry->record.sequence;
		count++;
		if (count == SLICE_RECORDS || enough(role) || clock_now_ns() > until) {
			break;
		}
	}
	int r = store_logged(role->store, last, error);
	return r < 0 ? r : (int)count;
}

/* A call that the store refuses is left out, and the slice is tried again without it. */
static bool left_out(struct ledger_role *role, struct brig_error *error)
{
	if (error->code != BRIG_E_INPUT) {
		return false;
	}
	role_note(role, true, "failed", error->message);
	*error = (struct brig_error){ 0 };
	return true;
}

int role_backlog_fill(struct ledger_role *role, struct brig_error *error)
{
	struct backlog *backlog = &role->backlog;

	if (!backlog->count) {
		return 0;
	}
	if (backlog_write(backlog) == 0) {
		round_is_kept(role, UINT64_MAX);
	}
	int r = store_begin(role->store, error);
	if (r < 0) {
		return r;
	}
	int count = store_slice(role, error);
	if (count < 0) {
		store_rollback(role->store);
		return left_out(role, error) ? 1 : count;
	}
	r = store_commit(role->store, error);
	if (r < 0) {
		return r;
	}
	backlog_stored(backlog, (unsigned)count);
	round_is_kept(role, role->store->now.logged);
	role_committed(role);
	return backlog->count > 0;
}

int role_backlog_settle(struct ledger_role *role, struct brig_error *error)
{
	int r;

	do {
		r = role_backlog_fill(role, error);
	} while (r > 0);
	if (r < 0) {
		role_failed(role, error);
	}
	return r;
}

void role_backlog_fill_due(void *user)
{
	struct ledger_role *role = user;
	struct brig_error error = { 0 };
	/* A transaction is open: the calls in it came after a backlog that could not be stored. */
	bool later = store_in_transaction(role->store);
	int r = later ? 0 : role_backlog_fill(role, &error);

	if (r < 0) {
		role_failed(role, &error);
	}
	if (r > 0) {
		(void)loop_timer_set(role->loop, &role->fill, 0);
	} else if (role->backlog.count) {
		role_arm(role, &role->fill, FILL_AGAIN_NS);
	}
}

void role_backlog_end(struct ledger_role *role)
{
	struct brig_error error = { 0 };

	(void)role_backlog_settle(role, &error);
}
