/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brig audit archive FILE`: copies the oldest part of the chain to a file and verifies it; then
 * marks it in the ledger as archived. The ledger deletes the entries itself, at its next clean-up.
 * If this is interrupted at any point, the entries are in the ledger, in the file, or in both.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/publish.h"
#include "base/json/json_out.h"
#include "cli/audit/cli_audit.h"
#include "cli/cli_report.h"
#include "cli/exit_status.h"
#include "ledger/audit/audit_text.h"
#include "ledger/chain_key.h"
#include "ledger/sqlite/sqlite_store.h"

#define CHUNK (1u << 20)

struct archiver {
	struct audit_file *file;
	int fd;
	struct buf out;
	sqlite3_stmt *checkpoints;
	struct chain_checkpoint anchor, until; /* from after the first up to the second */
	struct chain_checkpoint next;
	bool has_next;
	struct brig_error *error;
};

static int write_out(struct archiver *archiver)
{
	size_t done = 0;

	if (archiver->out.failed) {
		return error_set(archiver->error, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	while (done < archiver->out.size) {
		ssize_t n =
			write(archiver->fd, archiver->out.data + done, archiver->out.size - done);
		if (n < 0 && errno != EINTR) {
			return error_errno(archiver->error, BRIG_E_SYSTEM, errno,
					   "cannot write the archive");
		}
		done += n < 0 ? 0 : (size_t)n;
	}
	archiver->out.size = 0;
	return 0;
}

static void add_line(struct archiver *archiver, const struct chain_checkpoint *checkpoint)
{
	char line[CHAIN_LINE_MAX];

	chain_line(checkpoint, line);
	buf_addf(&archiver->out, "%s\n", line);
}

static void next_checkpoint(struct archiver *archiver)
{
	sqlite3_stmt *row = archiver->checkpoints;
	const char *line =
		sqlite3_step(row) == SQLITE_ROW ? (const char *)sqlite3_column_text(row, 0) : NULL;

	archiver->has_next = line && chain_line_parse(line, strlen(line), &archiver->next);
}

static int each_entry(void *user, const struct audit_row *row)
{
	struct archiver *archiver = user;
	uint64_t sequence = row->entry.sequence;

	if (sequence > archiver->until.sequence) {
		return 1;
	}
	if (row->odd) {
		return error_set(archiver->error, BRIG_E_INPUT, EBADMSG,
				 "entry %" PRIu64 "was changed: run brig audit verify for details",
				 sequence);
	}
	audit_text_entry(row, &archiver->out);
	for (; archiver->has_next && archiver->next.sequence == sequence;
	     next_checkpoint(archiver)) {
		if (archiver->next.number <= archiver->until.number) {
			add_line(archiver, &archiver->next);
		}
	}
	return archiver->out.size < CHUNK ? 0 : write_out(archiver);
}

/*
 * Chooses the checkpoint to archive up to. The last one stays, so that the ledger can continue from
 * it.
 */
static int choose(struct archiver *archiver, uint64_t before_ms, struct brig_error *error)
{
	uint64_t last = 0;

	for (next_checkpoint(archiver); archiver->has_next; next_checkpoint(archiver)) {
		last = archiver->next.sequence;
	}
	sqlite3_reset(archiver->checkpoints);
	for (next_checkpoint(archiver); archiver->has_next; next_checkpoint(archiver)) {
		if (archiver->next.time_ms <= before_ms && archiver->next.sequence < last &&
		    archiver->next.sequence > archiver->anchor.sequence) {
			archiver->until = archiver->next;
		}
	}
	sqlite3_reset(archiver->checkpoints);
	next_checkpoint(archiver);
	if (archiver->until.number) {
		return 0;
	}
	error_set(error, BRIG_E_INPUT, ENOENT, "nothing to archive");
	error_remedy(
		error,
		"only entries signed by a checkpoint, except the last one, can be archived; give a "
		"later --before, or wait");
	return -ENOENT;
}

static int copy_out(struct archiver *archiver, const char *path, uint64_t before_ms,
		    struct brig_error *error)
{
	int rc = sqlite3_prepare_v2(archiver->file->db,
				    "SELECT line FROM checkpoints NOT INDEXED ORDER BY number", -1,
				    &archiver->checkpoints, NULL);
	int r = rc == SQLITE_OK ? audit_file_anchor(archiver->file, &archiver->anchor)
				: sqlite_error(archiver->file->db, rc, error, "cannot read");

	if (r < 0 || choose(archiver, before_ms, error) < 0) {
		return r < 0 ? r : -ENOENT;
	}
	if (r == 1) {
		add_line(archiver, &archiver->anchor);
	}
	archiver->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (archiver->fd < 0) {
		return error_errno(error, BRIG_E_INPUT, errno, "cannot make %s", path);
	}
	const struct audit_query rest = { .after = archiver->anchor.sequence };
	r = audit_file_query(archiver->file, &rest, each_entry, archiver, error);
	r = r < 0 ? r : write_out(archiver);
	if (r == 0 && fsync(archiver->fd) < 0) {
		r = error_errno(error, BRIG_E_SYSTEM, errno, "cannot write %s", path);
	}
	return r;
}

static void found(void *user, uint64_t sequence, const char *what)
{
	struct brig_error *error = user;

	if (!error->message[0]) {
		error_set(error, BRIG_E_INPUT, EBADMSG, "entry %" PRIu64 ": %s", sequence, what);
	}
}

/* Verifies the file on the disk, not the bytes in memory. */
static int check(const char *path, const struct chain_checkpoint *until,
		 const struct audit_claims *claims, struct brig_error *error)
{
	_cleanup_(audit_file_done)
	struct audit_file file = { 0 };
	struct audit_claims key = { 0 };
	struct audit_report report;
	int r = audit_file_open(path, &file, error);

	if (r < 0) {
		return r;
	}
	memcpy(key.public, claims->public, sizeof(key.public));
	r = audit_verify(&file, 1, &key, found, error, &report, error);
	if (r < 0) {
		return r;
	}
	if (report.findings || report.head.sequence != until->sequence ||
	    memcmp(report.head.hash, until->hash, CHAIN_HASH_SIZE) != 0) {
		found(error, until->sequence, "the archive does not end with this entry");
		return -EBADMSG;
	}
	return 0;
}

/* Next to the database, with the same owner: the ledger reads it there. */
static int mark_archived(const char *path, const struct chain_checkpoint *until,
			 struct brig_error *error)
{
	char line[CHAIN_LINE_MAX], parent[PATH_MAX];
	const char *slash = strrchr(path, '/');
	size_t length = !slash ? 0 : slash == path ? 1 : (size_t)(slash - path);
	struct stat owner = { 0 };

	if (length >= sizeof(parent)) {
		return error_errno(error, BRIG_E_INPUT, ENAMETOOLONG, "%.80s...", path);
	}
	memcpy(parent, path, length);
	parent[length] = '\0';
	_cleanup_close_ int dir = open(length ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	chain_line(until, line);
	int r = dir < 0 || stat(path, &owner) < 0 ? -errno
		: unlinkat(dir, CHAIN_ARCHIVED_NAME, 0) < 0 && errno != ENOENT
			? -errno
			: publish_file(dir, CHAIN_ARCHIVED_NAME, line, strlen(line));
	if (r == 0 && fchownat(dir, CHAIN_ARCHIVED_NAME, owner.st_uid, owner.st_gid,
			       AT_SYMLINK_NOFOLLOW) < 0) {
		r = -errno;
	}
	return r < 0 ? error_errno(error, BRIG_E_SYSTEM, -r,
				   "cannot mark the entries as archived in %s", parent)
		     : 0;
}

static int archive(const struct audit_args *args, const char *path, uint64_t before_ms,
		   struct archiver *archiver, struct brig_error *error)
{
	_cleanup_(audit_claims_done)
	struct audit_claims claims = { 0 };
	_cleanup_(buf_done)
	struct buf partial = { 0 };
	int r = audit_claims_read(args, path, &claims, error);

	buf_addf(&partial, "%s.partial", args->operand);
	if (r < 0 || partial.failed) {
		return r < 0 ? r : error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	r = audit_file_open(path, archiver->file, error);
	r = r < 0 ? r : copy_out(archiver, partial.data, before_ms, error);
	r = r < 0 ? r : check(partial.data, &archiver->until, &claims, error);
	/* Never replaces another archive. */
	if (r == 0 && link(partial.data, args->operand) < 0) {
		r = error_errno(error, BRIG_E_INPUT, errno, "cannot make %s", args->operand);
	}
	if (archiver->fd >= 0) {
		(void)unlink(partial.data);
	}
	return r < 0 || args->keep ? r : mark_archived(path, &archiver->until, error);
}

static int print(const struct audit_args *args, const struct archiver *archiver)
{
	_cleanup_(buf_done)
	struct buf out = { 0 };
	struct json_out json = { .buf = &out };
	uint64_t first = archiver->anchor.sequence + 1, last = archiver->until.sequence;

	if (args->json) {
		json_open(&json, NULL, '{');
		json_text(&json, "file", args->operand);
		json_u64(&json, "first", first);
		json_u64(&json, "last", last);
		json_bool(&json, "kept", args->keep);
		json_close(&json, '}');
		return report_json(out.failed ? NULL : out.data);
	}
	buf_addf(&out, "entries %" PRIu64 " to %" PRIu64 " are in %s, which was verified\n%s\n",
		 first, last, args->operand,
		 args->keep ? "the ledger keeps them"
			    : "the ledger deletes them at its next clean-up");
	return report_text(&out);
}

int audit_command_archive(const struct audit_args *args)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_(audit_file_done)
	struct audit_file file = { 0 };
	struct brig_error error = { 0 };
	struct archiver archiver = { .file = &file, .fd = -1, .error = &error };
	uint64_t before_ms = UINT64_MAX;

	if (!args->operand) {
		error_set(&error, BRIG_E_INPUT, EINVAL, "audit archive: missing file name");
		return report_usage(&error, args->json);
	}
	if (audit_time_of("--before", args->before, &before_ms, &error) < 0) {
		return report_usage(&error, args->json);
	}
	int r = audit_path(args, &path, &error);
	r = r < 0 ? r : archive(args, path, before_ms, &archiver, &error);
	sqlite3_finalize(archiver.checkpoints);
	close_fd(&archiver.fd);
	buf_done(&archiver.out);
	return r < 0 ? report_error(&error, args->json) : print(args, &archiver);
}
