/* SPDX-License-Identifier: Apache-2.0 */
/* The log of the ledger role: taking calls, filling the store behind them, and the start. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* --- at the start ----------------------------------------------------------------------------- */

struct replay {
	struct ledger_role *role;
	int fd;           /* owned; -1 */
	const char *name; /* of the file */
	bool cut;         /* its end is not whole */
	bool after_cut;   /* so is that of the other file, which was before it */
	struct log_reader reader;
};

static void replay_done(struct replay *replay)
{
	log_reader_done(&replay->reader);
	close_fd(&replay->fd);
}

static int damaged(const struct replay *replay, struct brig_error *error)
{
	error_set(error, BRIG_E_SYSTEM, EBADMSG, "%s is damaged at byte %" PRIu64 " of %" PRIu64,
		  replay->name, replay->reader.at, replay->reader.size);
	error_remedy(error, "restore the state directory from a copy; or remove this file, and the "
			    "ends of runs that only it has are lost");
	return -EBADMSG;
}

/*
 * After a loss of power the end of a file may be anything: only what was flushed is promised. While
 * the host runs, a file holds what was written to it.
 */
static bool written_before_boot(const struct replay *replay)
{
	const char *boot = replay->role->backlog.boot;

	return replay->reader.header.boot[0] && boot[0] &&
	       strcmp(replay->reader.header.boot, boot) != 0;
}

static void tell_cut(const struct replay *replay, bool bad)
{
	char text[128];

	(void)snprintf(text, sizeof(text),
		       "%s: its last %" PRIu64 " bytes are not a whole record, and are dropped",
		       replay->name, replay->reader.size - replay->reader.at);
	role_note(replay->role, bad, "log.cut", text);
}

static int missing(const struct replay *replay, uint64_t from, uint64_t to,
		   struct brig_error *error)
{
	error_set(error, BRIG_E_SYSTEM, EBADMSG,
		  "%s continues with record %" PRIu64 ", but the ledger ends at record %" PRIu64,
		  replay->name, to, from);
	error_remedy(error, "restore the state directory from a copy that is complete");
	return -EBADMSG;
}

/*
 * A loss of power may have kept this file, and not the end of the one before it, that was written
 * to earlier. What is left is stored: an end without a beginning is refused, and reported.
 */
static bool go_on_after_gap(const struct replay *replay, uint64_t sequence)
{
	struct backlog *backlog = &replay->role->backlog;
	char text[128];

	if (!replay->after_cut || !written_before_boot(replay)) {
		return false;
	}
	(void)snprintf(text, sizeof(text), "%" PRIu64 " records before %s were lost with the power",
		       sequence - backlog->next, replay->name);
	role_note(replay->role, true, "log.cut", text);
	backlog->next = sequence;
	return true;
}

/* One that the store has not is added; when there are enough of them they are stored. */
static int take_record(const struct replay *replay, const struct log_record *record,
		       struct brig_error *error)
{
	struct backlog *backlog = &replay->role->backlog;

	if (record->sequence < backlog->next) {
		return 0;
	}
	if (record->sequence > backlog->next && !go_on_after_gap(replay, record->sequence)) {
		return missing(replay, backlog->next - 1, record->sequence, error);
	}
	int r = backlog_read(backlog, record, replay->reader.form);
	if (r < 0) {
		return r == -EBADMSG ? damaged(replay, error)
				     : error_errno(error, BRIG_E_SYSTEM, -r, "no memory");
	}
	return backlog_full(backlog) ? role_backlog_settle(replay->role, error) : 0;
}

static int read_records(struct replay *replay, struct brig_error *error)
{
	struct log_record record;
	int end, r = 0;

	while (r == 0 && (end = log_reader_next(&replay->reader, &record)) == LOG_RECORD) {
		r = take_record(replay, &record, error);
	}
	if (r < 0) {
		return r;
	}
	if (end < 0) {
		return error_errno(error, BRIG_E_SYSTEM, -end, "%s cannot be read", replay->name);
	}
	replay->cut = end == LOG_TORN || (end == LOG_DAMAGED && written_before_boot(replay));
	if (replay->cut) {
		tell_cut(replay, end == LOG_DAMAGED);
	}
	return end == LOG_END || replay->cut ? 0 : damaged(replay, error);
}

/* 1: it has records. */
static int open_file(struct replay *replay, int dir, struct brig_error *error)
{
	/* A pipe is no log; opening one must not wait. */
	replay->fd = openat(dir, replay->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (replay->fd < 0) {
		return errno == ENOENT ? 0
				       : error_errno(error, BRIG_E_SYSTEM, errno,
						     "%s cannot be opened", replay->name);
	}
	int r = log_reader_open(&replay->reader, replay->fd);
	if (r < 0) {
		return error_errno(error, BRIG_E_SYSTEM, -r, "%s cannot be read", replay->name);
	}
	replay->cut = r == LOG_TORN;
	return r == LOG_DAMAGED ? damaged(replay, error) : r == LOG_END;
}

static int replay_files(struct replay replays[LOG_FILES], int dir, struct brig_error *error)
{
	bool have[LOG_FILES];

	for (unsigned i = 0; i < LOG_FILES; i++) {
		int r = open_file(&replays[i], dir, error);
		if (r < 0) {
			return r;
		}
		have[i] = r > 0;
	}
	/* In the order of their records. */
	unsigned first = have[1] && (!have[0] || replays[1].reader.header.first <
							 replays[0].reader.header.first);
	for (unsigned i = 0; i < LOG_FILES; i++) {
		unsigned which = (first + i) % LOG_FILES;

		replays[which].after_cut = replays[(which + 1) % LOG_FILES].cut;
		int r = have[which] ? read_records(&replays[which], error) : 0;
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static int replay_all(struct ledger_role *role, int dir, struct brig_error *error)
{
	struct replay replays[LOG_FILES];
	char text[64];
	uint64_t before = role->store->now.logged;

	for (unsigned i = 0; i < LOG_FILES; i++) {
		replays[i] = (struct replay){ .role = role, .fd = -1, .name = log_names[i] };
	}
	int r = replay_files(replays, dir, error);
	for (unsigned i = 0; i < LOG_FILES; i++) {
		replay_done(&replays[i]);
	}
	r = r < 0 ? r : role_backlog_settle(role, error);
	if (r == 0 && role->store->now.logged > before) {
		(void)snprintf(text, sizeof(text), "%" PRIu64 " records",
			       role->store->now.logged - before);
		role_note(role, false, "log.stored", text);
	}
	return r;
}

int role_backlog_open(struct ledger_role *role, int dir, struct brig_error *error)
{
	const char *boot = role->options.boot ? role->options.boot : "";
	int r = backlog_open(&role->backlog, dir, boot, role->options.durable);

	if (r < 0) {
		return error_errno(error, BRIG_E_SYSTEM, -r, "the state directory");
	}
	role->backlog.next = role->store->now.logged + 1;
	r = replay_all(role, dir, error);
	if (r < 0) {
		error_wrap(error, "ledger: ");
	}
	return r;
}

int role_backlog_begin(struct ledger_role *role, struct brig_error *error)
{
	int r = store_flush(role->store, false, error);

	if (r < 0) {
		return r;
	}
	r = backlog_clear(&role->backlog);
	return r < 0 ? error_errno(error, BRIG_E_SYSTEM, -r, "the ledger's log cannot be removed")
		     : 0;
}

void role_backlog_end(struct ledger_role *role)
{
	struct brig_error error = { 0 };

	(void)role_backlog_settle(role, &error);
}
