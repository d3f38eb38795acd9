/* SPDX-License-Identifier: Apache-2.0 */
/* Commits of the ledger role, and the tasks around them: flushing the log, signing, deleting. */
#include <poll.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "ledger/role/ledger_role_internal.h"

#define SWEEP_AGAIN (SEC / 50)
#define AGAIN       (SEC / 50)

void role_arm(struct ledger_role *role, struct loop_timer *timer, uint64_t in_ns)
{
	if (!timer->place && loop_timer_set(role->loop, timer, clock_now_ns() + in_ns) < 0) {
		role_note(role, true, "failed", "no memory for a timer");
	}
}

/* The disk may be full: when the log is in the database, the log's own space can be reused. */
void role_failed(struct ledger_role *role, const struct brig_error *error)
{
	role_note(role, true, "failed", error->message);
	(void)store_flush(role->store, false, NULL);
}

void role_sign_now(struct ledger_role *role)
{
	struct brig_error error = { 0 };
	char line[CHAIN_LINE_MAX];

	loop_timer_clear(&role->checkpoint);
	if (role->store->now.head.sequence == role->store->now.checkpoint.sequence) {
		return;
	}
	if (store_checkpoint(role->store, &error) < 0) {
		role_note(role, true, "failed", error.message);
		role_arm(role, &role->checkpoint, role->options.checkpoint_ns);
		return;
	}
	chain_line(&role->store->now.checkpoint, line);
	role_note(role, false, "checkpoint", line);
}

/* Parts of requests that have begun: new ones need their space. */
static void sweep_soon(struct ledger_role *role)
{
	uint64_t at = clock_now_ns() + SWEEP_AGAIN;

	if (!role->sweep.place || role->sweep.at_ns > at) {
		(void)loop_timer_set(role->loop, &role->sweep, at);
	}
}

void role_commit_now(struct ledger_role *role)
{
	struct brig_error failure = { 0 };
	bool stored = store_in_transaction(role->store);

	loop_timer_clear(&role->commit);
	if (stored && store_commit(role->store, &failure) < 0) {
		role_failed(role, &failure);
	}
	role_backlog_write(role);
	role_send_answers(role, &failure);
	if (stored) {
		role_committed(role);
	}
}

void role_committed(struct ledger_role *role)
{
	const struct store_tally *tally = &role->store->now;
	uint64_t fresh = tally->head.sequence - tally->checkpoint.sequence;
	if (fresh >= role->options.checkpoint_entries) {
		role_sign_now(role);
	} else if (fresh > 0) {
		role_arm(role, &role->checkpoint, role->options.checkpoint_ns);
		role_arm(role, &role->flush, role->options.flush_ns);
	}
	if (role->store->has_gone) {
		sweep_soon(role);
	}
}

/* --- timers ---------------------------------------------------------------------------------- */

static bool more_waits(const struct ledger_role *role)
{
	struct pollfd more = { .fd = role->socket, .events = POLLIN };

	return poll(&more, 1, 0) == 1 && more.revents == POLLIN;
}

static void commit_due(void *user)
{
	struct ledger_role *role = user;

	if (clock_now_ns() - role->begun_ns < role->options.window_ns && more_waits(role) &&
	    loop_timer_set(role->loop, &role->commit, 0) == 0) {
		return;
	}
	role_commit_now(role);
}

void role_flushed(void *user, int result)
{
	struct ledger_role *role = user;

	if (result < 0) {
		role_note(role, true, "failed", "cannot flush the ledger");
		role_arm(role, &role->flush, role->options.flush_ns);
		return;
	}
	backlog_flushed(&role->backlog, role->flushing);
}

/*
 * The file of the log that is written to gets its turn to be removed. True: the store does not have
 * all of the one before it yet.
 */
static bool log_is_ahead(struct ledger_role *role)
{
	const struct backlog *backlog = &role->backlog;

	(void)backlog_retire(&role->backlog);
	return backlog->retiring && role->store->now.logged < backlog->retired;
}

static void flush_due(void *user)
{
	struct ledger_role *role = user;
	struct brig_error error = { 0 };
	uint64_t now = clock_now_ns();

	if (role->flusher.busy) {
		role_arm(role, &role->flush, role->options.flush_ns);
		return;
	}
	role_commit_now(role);
	if (log_is_ahead(role)) {
		role_arm(role, &role->flush, AGAIN);
		return;
	}
	role->flushing = role->store->now.logged;
	if (flusher_ask(&role->flusher)) {
		return;
	}
	/*
	 * All clients wait while the disk is busy: so it is delayed to an idle moment, if there is
	 * one soon.
	 */
	role->flush_due_ns = role->flush_due_ns ? role->flush_due_ns : now;
	if (store_in_transaction(role->store) ||
	    (more_waits(role) && now - role->flush_due_ns < role->options.flush_ns)) {
		role_arm(role, &role->flush, role->options.window_ns);
		return;
	}
	role->flush_due_ns = 0;
	if (store_flush(role->store, false, &error) < 0) {
		role_note(role, true, "failed", error.message);
		return;
	}
	backlog_flushed(&role->backlog, role->flushing);
}

static void checkpoint_due(void *user)
{
	struct ledger_role *role = user;

	if (store_in_transaction(role->store)) {
		role_commit_now(role);
	}
	role_sign_now(role);
}

static void sweep_due(void *user)
{
	struct ledger_role *role = user;
	struct brig_error error = { 0 };
	int r = 1; /* a transaction is open: soon */

	if (!store_in_transaction(role->store)) {
		r = store_sweep(role->store, &error);
		if (r < 0) {
			role_note(role, true, "failed", error.message);
		}
	}
	role_arm(role, &role->sweep, r > 0 ? SWEEP_AGAIN : role->options.sweep_ns);
}

void role_timers_init(struct ledger_role *role)
{
	const struct {
		struct loop_timer *timer;
		void (*due)(void *user);
	} timers[] = {
		{ &role->commit, commit_due }, { &role->fill, role_backlog_fill_due },
		{ &role->flush, flush_due },   { &role->checkpoint, checkpoint_due },
		{ &role->sweep, sweep_due },
	};

	for (size_t i = 0; i < ARRAY_SIZE(timers); i++) {
		*timers[i].timer = (struct loop_timer){ .due = timers[i].due, .user = role };
	}
}

void role_timers_done(struct ledger_role *role)
{
	loop_timer_clear(&role->commit);
	loop_timer_clear(&role->fill);
	loop_timer_clear(&role->flush);
	loop_timer_clear(&role->checkpoint);
	loop_timer_clear(&role->sweep);
	loop_timer_clear(&role->jobs_due);
}
