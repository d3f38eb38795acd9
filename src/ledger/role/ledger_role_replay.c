/* SPDX-License-Identifier: Apache-2.0 */
/* The start of the ledger role: what the last one has left in the log is stored. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ledger/role/ledger_role_internal.h"

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
 * A loss of power may have kept this file, and not the end of the one before it. That is the end of
 * the log: records are lost from the end, never from the middle.
 */
static bool is_behind_cut(const struct replay *replay, uint64_t sequence)
{
	char text[128];

	if (!replay->after_cut || !written_before_boot(replay)) {
		return false;
	}
	(void)snprintf(text, sizeof(text),
		       "%s: it begins %" PRIu64
		       " records behind the last whole one, and is dropped",
		       replay->name, sequence - replay->role->backlog.next);
	role_note(replay->role, true, "log.cut", text);
	return true;
}

/*
 * One that the store has not is added; when there are enough of them they are stored. 1: this and
 * all that follow are dropped.
 */
static int take_record(const struct replay *replay, const struct log_record *record,
		       struct brig_error *error)
{
	struct backlog *backlog = &replay->role->backlog;

	if (record->sequence < backlog->next) {
		return 0;
	}
	if (record->sequence > backlog->next) {
		return is_behind_cut(replay, record->sequence)
			       ? 1
			       : missing(replay, backlog->next - 1, record->sequence, error);
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
	if (r != 0) {
		return r < 0 ? r : 0;
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
