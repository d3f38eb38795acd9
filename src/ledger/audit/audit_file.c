/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the audit chain of a database: see audit_file.h. */
#include "ledger/audit/audit_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "ledger/audit/audit_log.h"
#include "ledger/audit/audit_text.h"
#include "ledger/sqlite/schema.h"
#include "ledger/sqlite/sqlite_store.h"

/* SQLite accepts "immutable" only in a URI. */
static void uri_of(const char *path, bool immutable, struct buf *out)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789/._-";

	buf_adds(out, "file:");
	if (path[0] != '/') {
		buf_adds(out, "./");
	}
	for (; *path; path++) {
		if (strchr(plain, *path)) {
			buf_addc(out, *path);
		} else {
			buf_addf(out, "%%%02x", (unsigned)(unsigned char)*path);
		}
	}
	buf_adds(out, immutable ? "?mode=ro&immutable=1" : "?mode=ro");
}

static void close_database(sqlite3 **db)
{
	sqlite3_close(*db);
}

static int open_once(const char *path, bool immutable, sqlite3 **ret, struct brig_error *error)
{
	_cleanup_(buf_done)
	struct buf uri = { 0 };
	_cleanup_(close_database)
	sqlite3 *db = NULL;

	uri_of(path, immutable, &uri);
	if (uri.failed) {
		return error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	int rc = sqlite3_open_v2(
		uri.data, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc != SQLITE_OK) {
		return sqlite_error(db, rc, error, path);
	}
	int r = sqlite_harden(db, error);
	if (r < 0) {
		return r;
	}
	rc = sqlite3_exec(db, "BEGIN; SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
	if (rc != SQLITE_OK) {
		return sqlite_error(db, rc, error, path);
	}
	*ret = TAKE_PTR(db);
	return 0;
}

/* A log next to it may have newer entries: then it must not be read without the log. */
static bool has_log(const char *path)
{
	_cleanup_(buf_done)
	struct buf name = { 0 };
	struct stat info;

	buf_addf(&name, "%s-wal", path);
	return name.failed || (stat(name.data, &info) == 0 && info.st_size > 0);
}

/* Are the two tables that are read exactly ours? A virtual table could run any code. */
static int check_tables(sqlite3 *db, struct brig_error *error)
{
	static const char sql[] =
		"SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND "
		"((name = 'audit' AND sql LIKE 'CREATE TABLE audit (%) STRICT') OR "
		"(name = 'checkpoints' AND sql LIKE 'CREATE TABLE checkpoints (%) STRICT'))";
	sqlite3_stmt *statement = NULL;
	int count = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW) {
		count = sqlite3_column_int(statement, 0);
	}
	sqlite3_finalize(statement);
	if (count == 2) {
		return 0;
	}
	return error_set(error, BRIG_E_INPUT, EBADMSG, "it has no audit chain of brig");
}

/*
 * A text is loaded into a temporary database, which SQLite removes; then both are read in the same
 * way.
 */
static int open_text(const char *path, struct audit_file *ret, struct brig_error *error)
{
	_cleanup_(close_database)
	sqlite3 *db = NULL;
	int rc = sqlite3_open_v2(
		"", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);

	if (rc != SQLITE_OK) {
		return sqlite_error(db, rc, error, path);
	}
	int r = schema_apply(db, error);
	if (r < 0) {
		return r;
	}
	rc = sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
	if (rc != SQLITE_OK) {
		return sqlite_error(db, rc, error, path);
	}
	r = audit_text_load(path, db, error);
	if (r < 0) {
		return r;
	}
	*ret = (struct audit_file){ .db = TAKE_PTR(db) };
	return 0;
}

int audit_file_anchor(const struct audit_file *file, struct chain_checkpoint *ret)
{
	sqlite3_stmt *statement = NULL;
	int r = 0;

	/* Old ledgers have no such table. */
	if (sqlite3_prepare_v2(file->db, "SELECT line FROM anchor NOT INDEXED", -1, &statement,
			       NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW) {
		const char *line = (const char *)sqlite3_column_text(statement, 0);
		r = line && chain_line_parse(line, strlen(line), ret) ? 1 : -EBADMSG;
	}
	sqlite3_finalize(statement);
	return r;
}

int audit_file_open(const char *path, struct audit_file *ret, struct brig_error *error)
{
	_cleanup_(close_database)
	sqlite3 *db = NULL;
	struct audit_file file = { 0 };
	struct brig_error foreign = { 0 };
	struct stat info;

	if (stat(path, &info) < 0) {
		return error_errno(error, BRIG_E_INPUT, errno, "cannot open %s", path);
	}
	if (audit_text_is(path)) {
		return open_text(path, ret, error);
	}
	int r = open_once(path, false, &db, error);
	/*
	 * In a directory without write permission SQLite cannot share a log with other processes.
	 */
	if ((r == -EACCES || r == -EROFS) && !has_log(path)) {
		r = open_once(path, true, &db, error);
	}
	if (r < 0) {
		return r;
	}
	r = check_tables(db, error);
	if (r < 0) {
		error_wrap(error, "%s: ", path);
		return r;
	}
	if (schema_check(db, &foreign) < 0) {
		file.foreign = true;
		memcpy(file.what, foreign.message, sizeof(file.what));
	}
	file.db = TAKE_PTR(db);
	r = audit_log_wait(path, &file, error);
	if (r < 0) {
		audit_file_done(&file);
		return r;
	}
	*ret = file;
	return 0;
}

void audit_file_done(struct audit_file *file)
{
	sqlite3_close(file->db);
	file->db = NULL;
}

int audit_file_again(struct audit_file *file, struct brig_error *error)
{
	int rc = sqlite3_exec(file->db, "COMMIT; BEGIN", NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : sqlite_error(file->db, rc, error, "cannot start a new read");
}

static void fill_row(sqlite3_stmt *statement, struct audit_row *row)
{
	const char *texts[3];
	size_t sizes[3];

	for (int i = 0; i < 3; i++) {
		const char *text = (const char *)sqlite3_column_text(statement, 2 + i);
		texts[i] = text ? text : "";
		sizes[i] = text ? (size_t)sqlite3_column_bytes(statement, 2 + i) : 0;
	}
	row->entry = (struct chain_entry){
		.sequence = (uint64_t)sqlite3_column_int64(statement, 0),
		.time_ms = (uint64_t)sqlite3_column_int64(statement, 1),
		.kind = texts[0],
		.kind_size = sizes[0],
		.tenant = texts[1],
		.tenant_size = sizes[1],
		.facts = texts[2],
		.facts_size = sizes[2],
	};
}

/* The ledger's own tables reject such values; a file that was changed by others may have them. */
static const char *find_type(sqlite3_stmt *statement)
{
	static const struct {
		const char *name;
		int type;
	} columns[] = {
		{ "sequence", SQLITE_INTEGER }, { "time_ms", SQLITE_INTEGER },
		{ "kind", SQLITE_TEXT },        { "tenant", SQLITE_TEXT },
		{ "facts", SQLITE_TEXT },       { "hash", SQLITE_BLOB },
	};

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		if (sqlite3_column_type(statement, (int)i) != columns[i].type) {
			return columns[i].name;
		}
	}
	return NULL;
}

/* Comparing and printing end at a zero byte; hashing does not. */
static const char *find_end(const struct chain_entry *entry)
{
	return memchr(entry->kind, 0, entry->kind_size)       ? "kind"
	       : memchr(entry->tenant, 0, entry->tenant_size) ? "tenant"
	       : memchr(entry->facts, 0, entry->facts_size)   ? "facts"
							      : NULL;
}

static int walk(struct audit_file *file, sqlite3_stmt *statement,
		int (*each)(void *user, const struct audit_row *row), void *user,
		struct brig_error *error)
{
	static const unsigned char none[CHAIN_HASH_SIZE];
	int rc;

	while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
		struct audit_row row = { .hash = none };

		/* First: reading a value as text converts it. */
		const char *odd = find_type(statement);
		fill_row(statement, &row);
		row.odd = odd ? odd : find_end(&row.entry);
		const void *hash = sqlite3_column_blob(statement, 5);
		if (hash && sqlite3_column_bytes(statement, 5) == CHAIN_HASH_SIZE) {
			row.hash = hash;
		}
		int r = each(user, &row);
		if (r != 0) {
			return r;
		}
	}
	return rc == SQLITE_DONE ? 0
				 : sqlite_error(file->db, rc, error, "cannot read the audit chain");
}

static int bind(sqlite3_stmt *statement, const struct audit_query *query)
{
	/* No number of ours exceeds SQLite's range. */
	const uint64_t most = INT64_MAX;
	uint64_t numbers[] = { query->after, query->since_ms, query->sequence,
			       query->limit ? query->limit : most };
	const char *texts[] = { query->kind, query->tenant, query->execution };
	int rc = SQLITE_OK;

	for (int i = 0; i < 4 && rc == SQLITE_OK; i++) {
		rc = sqlite3_bind_int64(statement, 1 + i,
					(sqlite3_int64)(numbers[i] < most ? numbers[i] : most));
	}
	for (int i = 0; i < 3 && rc == SQLITE_OK; i++) {
		rc = sqlite3_bind_text(statement, 5 + i, texts[i], -1, SQLITE_STATIC);
	}
	return rc;
}

/* From the table itself: an index could have been changed to show something else. */
#define QUERY                                                                                      \
	"SELECT sequence, time_ms, kind, tenant, facts, hash FROM audit NOT INDEXED "              \
	"WHERE sequence > ?1 AND time_ms >= ?2 AND (?3 = 0 OR sequence = ?3) AND "                 \
	"(?5 IS NULL OR CAST(kind AS TEXT) = ?5 OR "                                               \
	"substr(CAST(kind AS TEXT), 1, length(?5) + 1) = ?5 || '.') AND "                          \
	"(?6 IS NULL OR CAST(tenant AS TEXT) = ?6) AND "                                           \
	"(?7 IS NULL OR instr(CAST(facts AS TEXT), '\"execution\":\"' || ?7 || '\"') > 0) ORDER "  \
	"BY sequence "

int audit_file_query(struct audit_file *file, const struct audit_query *query,
		     int (*each)(void *user, const struct audit_row *row), void *user,
		     struct brig_error *error)
{
	sqlite3_stmt *statement = NULL;
	const char *sql = query->last ? "SELECT * FROM (" QUERY "DESC LIMIT ?4) ORDER BY sequence"
				      : QUERY "LIMIT ?4";
	int rc = sqlite3_prepare_v2(file->db, sql, -1, &statement, NULL);

	if (rc == SQLITE_OK) {
		rc = bind(statement, query);
	}
	int r = rc == SQLITE_OK ? walk(file, statement, each, user, error)
				: sqlite_error(file->db, rc, error, "cannot read the audit chain");
	sqlite3_finalize(statement);
	return r;
}
