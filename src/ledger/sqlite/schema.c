/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the ledger: see schema.h. */
#include "ledger/sqlite/schema.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "ledger/sqlite/sqlite_store.h"

/*
 * One string for each version: the migration from the version before it. Strings are never changed
 * once they are released; new ones are added.
 *
 * executions.state: 0 queued, 1 running, 2 ended. requests has a row while its execution is queued;
 * results as long as it is kept. All executions below progress.ended_below have ended, and that
 * never changes back: so open ones are found without an index that every run would have to write.
 * The chain only ever grows, and the triggers are there to stop our own mistakes; hashes and
 * signatures protect it against others. Its front is deleted after the anchor was moved, which
 * sqlite_archive.c does. A session without an end is open; after a start there is none. usage is
 * the processor time that callers with a daily limit have used on the day of their last run. For a
 * long result the row has only the beginning, and result_parts the rest: k is 4096 times its n plus
 * the number of the part. For a long request the row is empty, and request_parts has it in the same
 * way, with m in place of n. The row of long_requests exists before its parts and until they are
 * deleted; it has no n before the last part is stored, and is marked gone when they may be deleted.
 * logged is the last record of the ledger's log that is in the database: it is written in the same
 * transaction as the record's own rows. Triggers keep the owner of each result and the total bytes
 * of each tenant, so that finding the results to delete needs no full scan.
 */
static const char *const migrations[] = {
	"CREATE TABLE executions ("
	" n INTEGER PRIMARY KEY,"
	" id TEXT NOT NULL UNIQUE,"
	" tenant TEXT NOT NULL,"
	" caller TEXT NOT NULL,"
	" session TEXT,"
	" language TEXT,"
	" policy TEXT,"
	" code_sha256 TEXT,"
	" key TEXT,"
	" digest TEXT,"
	" state INTEGER NOT NULL CHECK (state IN (0, 1, 2)),"
	" status TEXT,"
	" created_ms INTEGER NOT NULL,"
	" started_ms INTEGER,"
	" ended_ms INTEGER,"
	" CHECK ((state = 2) = (status IS NOT NULL))"
	") STRICT;"
	"CREATE INDEX executions_of_tenant ON executions (tenant, id);"
	"CREATE UNIQUE INDEX executions_by_key ON executions (tenant, key) WHERE key IS NOT NULL;"
	"CREATE TABLE progress ("
	" one INTEGER PRIMARY KEY CHECK (one = 1),"
	" ended_below INTEGER NOT NULL"
	") STRICT;"
	"INSERT INTO progress VALUES (1, 0);"
	"CREATE TABLE requests ("
	" n INTEGER PRIMARY KEY REFERENCES executions (n) ON DELETE CASCADE,"
	" data BLOB NOT NULL"
	") STRICT;"
	"CREATE TABLE results ("
	" n INTEGER PRIMARY KEY REFERENCES executions (n) ON DELETE CASCADE,"
	" ended_ms INTEGER NOT NULL,"
	" size INTEGER NOT NULL,"
	" data BLOB NOT NULL"
	") STRICT;"
	"CREATE TABLE audit ("
	" sequence INTEGER PRIMARY KEY,"
	" time_ms INTEGER NOT NULL,"
	" kind TEXT NOT NULL,"
	" tenant TEXT NOT NULL,"
	" facts TEXT NOT NULL,"
	" hash BLOB NOT NULL CHECK (length(hash) = 32)"
	") STRICT;"
	"CREATE TABLE checkpoints ("
	" number INTEGER PRIMARY KEY,"
	" line TEXT NOT NULL"
	") STRICT;"
	"CREATE TRIGGER audit_stays BEFORE UPDATE ON audit"
	" BEGIN SELECT RAISE(ABORT, 'the audit chain only grows'); END;"
	"CREATE TRIGGER audit_remains BEFORE DELETE ON audit"
	" BEGIN SELECT RAISE(ABORT, 'the audit chain only grows'); END;"
	"CREATE TRIGGER checkpoints_stay BEFORE UPDATE ON checkpoints"
	" BEGIN SELECT RAISE(ABORT, 'checkpoints only grow'); END;"
	"CREATE TRIGGER checkpoints_remain BEFORE DELETE ON checkpoints"
	" BEGIN SELECT RAISE(ABORT, 'checkpoints only grow'); END;",
	"CREATE TABLE sessions ("
	" n INTEGER PRIMARY KEY,"
	" id TEXT NOT NULL UNIQUE,"
	" tenant TEXT NOT NULL,"
	" caller TEXT NOT NULL,"
	" language TEXT,"
	" policy TEXT,"
	" idle_ms INTEGER NOT NULL,"
	" runs INTEGER NOT NULL,"
	" created_ms INTEGER NOT NULL,"
	" ended_ms INTEGER,"
	" reason TEXT,"
	" CHECK ((ended_ms IS NULL) = (reason IS NULL))"
	") STRICT;"
	"CREATE INDEX sessions_of_tenant ON sessions (tenant, id);"
	"CREATE INDEX sessions_open ON sessions (n) WHERE ended_ms IS NULL;",
	"CREATE TABLE anchor ("
	" one INTEGER PRIMARY KEY CHECK (one = 1),"
	" sequence INTEGER NOT NULL,"
	" number INTEGER NOT NULL,"
	" line TEXT NOT NULL"
	") STRICT;"
	"DROP TRIGGER audit_remains;"
	"CREATE TRIGGER audit_remains BEFORE DELETE ON audit"
	" WHEN OLD.sequence > ifnull((SELECT sequence FROM anchor), 0)"
	" BEGIN SELECT RAISE(ABORT, 'the audit chain only grows'); END;"
	"DROP TRIGGER checkpoints_remain;"
	"CREATE TRIGGER checkpoints_remain BEFORE DELETE ON checkpoints"
	" WHEN OLD.number > ifnull((SELECT number FROM anchor), 0)"
	" BEGIN SELECT RAISE(ABORT, 'checkpoints only grow'); END;",
	"CREATE TABLE usage ("
	" caller TEXT PRIMARY KEY,"
	" day INTEGER NOT NULL,"
	" cpu_ns INTEGER NOT NULL"
	") STRICT, WITHOUT ROWID;",
	"CREATE TABLE result_parts ("
	" k INTEGER PRIMARY KEY,"
	" data BLOB NOT NULL"
	") STRICT;",
	"CREATE TABLE long_requests ("
	" m INTEGER PRIMARY KEY,"
	" n INTEGER,"
	" size INTEGER NOT NULL,"
	" gone INTEGER NOT NULL CHECK (gone IN (0, 1))"
	") STRICT;"
	"CREATE INDEX long_requests_of ON long_requests (n);"
	"CREATE TABLE request_parts ("
	" k INTEGER PRIMARY KEY,"
	" data BLOB NOT NULL"
	") STRICT;",
	"CREATE TABLE result_owners ("
	" tenant TEXT NOT NULL,"
	" n INTEGER NOT NULL,"
	" PRIMARY KEY (tenant, n)"
	") STRICT, WITHOUT ROWID;"
	"CREATE TABLE result_sums ("
	" tenant TEXT PRIMARY KEY,"
	" bytes INTEGER NOT NULL"
	") STRICT, WITHOUT ROWID;"
	"CREATE INDEX result_sums_by_bytes ON result_sums (bytes);"
	"CREATE INDEX results_half_gone ON results (n) WHERE length(data) = 0;"
	"INSERT INTO result_owners SELECT e.tenant, r.n FROM results r"
	" JOIN executions e ON e.n = r.n;"
	"INSERT INTO result_sums SELECT e.tenant, sum(r.size) FROM results r"
	" JOIN executions e ON e.n = r.n GROUP BY e.tenant;"
	"CREATE TRIGGER results_come AFTER INSERT ON results BEGIN"
	" INSERT INTO result_owners SELECT tenant, n FROM executions WHERE n = NEW.n;"
	" INSERT INTO result_sums SELECT tenant, NEW.size FROM executions WHERE n = NEW.n"
	" ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;"
	" END;"
	"CREATE TRIGGER results_go BEFORE DELETE ON results BEGIN"
	" UPDATE result_sums SET bytes = bytes - OLD.size"
	" WHERE tenant = (SELECT tenant FROM executions WHERE n = OLD.n);"
	" DELETE FROM result_owners"
	" WHERE tenant = (SELECT tenant FROM executions WHERE n = OLD.n) AND n = OLD.n;"
	" DELETE FROM result_sums WHERE bytes <= 0;"
	" END;",
	"CREATE TABLE logged ("
	" one INTEGER PRIMARY KEY CHECK (one = 1),"
	" sequence INTEGER NOT NULL"
	") STRICT;"
	"INSERT INTO logged VALUES (1, 0);",
};

#define VERSION ((int)ARRAY_SIZE(migrations))

static int read_version(sqlite3 *db, int *ret, struct brig_error *error)
{
	sqlite3_stmt *statement = NULL;
	int rc = sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &statement, NULL);

	if (rc == SQLITE_OK) {
		rc = sqlite3_step(statement);
	}
	if (rc == SQLITE_ROW) {
		*ret = sqlite3_column_int(statement, 0);
	}
	sqlite3_finalize(statement);
	return rc == SQLITE_ROW ? 0 : sqlite_error(db, rc, error, "cannot read the version");
}

static int migrate(sqlite3 *db, int version, int to, struct brig_error *error)
{
	char mark[48];
	int rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);

	for (int i = version; i < to && rc == SQLITE_OK; i++) {
		rc = sqlite3_exec(db, migrations[i], NULL, NULL, NULL);
	}
	(void)snprintf(mark, sizeof(mark), "PRAGMA user_version = %d; COMMIT", to);
	if (rc == SQLITE_OK) {
		rc = sqlite3_exec(db, mark, NULL, NULL, NULL);
	}
	if (rc != SQLITE_OK) {
		int r = sqlite_error(db, rc, error, "cannot make the tables");
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
		return r;
	}
	return 0;
}

int schema_apply(sqlite3 *db, struct brig_error *error)
{
	int version = -1;
	int r = read_version(db, &version, error);

	if (r < 0) {
		return r;
	}
	if (version > VERSION || version < 0) {
		error_set(error, BRIG_E_SYSTEM, ENOTSUP,
			  "the ledger has version %d; this brig supports up to %d", version,
			  VERSION);
		error_remedy(error, "use the newer brig that has written it");
		return -ENOTSUP;
	}
	return version < VERSION ? migrate(db, version, VERSION, error) : 0;
}

/* All definitions, as one text. */
static int describe(sqlite3 *db, struct buf *out, struct brig_error *error)
{
	static const char sql[] = "SELECT type || ' ' || name || ' on ' || tbl_name || ': ' || "
				  "ifnull(sql, '') FROM sqlite_schema ORDER BY type, name";
	sqlite3_stmt *statement = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

	if (rc == SQLITE_OK) {
		while ((rc = sqlite3_step(statement)) == SQLITE_ROW && out->size < (1u << 20)) {
			const unsigned char *text = sqlite3_column_text(statement, 0);
			buf_adds(out, text ? (const char *)text : "?");
			buf_addc(out, '\n');
		}
	}
	sqlite3_finalize(statement);
	return rc == SQLITE_DONE ? 0 : sqlite_error(db, rc, error, "cannot read the schema");
}

/* The first line that differs. */
static int differs(const struct buf *have, const struct buf *want, struct brig_error *error)
{
	const char *a = have->data ? have->data : "", *b = want->data;
	const char *line = a;

	for (; *a && *a == *b; a++, b++) {
		line = *a == '\n' ? a + 1 : line;
	}
	int length = (int)strcspn(line, ":\n");
	error_set(error, BRIG_E_SYSTEM, EBADMSG,
		  "the database has other tables, indexes or triggers than brig makes: %.*s",
		  length > 80 ? 80 : length, *line ? line : "something is missing");
	error_remedy(error, "the file was changed: restore it from a copy that verifies");
	return -EBADMSG;
}

static void close_database(sqlite3 **db)
{
	sqlite3_close(*db);
}

/* The definitions that brig makes for this version. */
static int describe_version(int version, struct buf *out, struct brig_error *error)
{
	_cleanup_(close_database)
	sqlite3 *fresh = NULL;
	int rc = sqlite3_open_v2(":memory:", &fresh,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX,
				 NULL);

	if (rc != SQLITE_OK) {
		return sqlite_error(fresh, rc, error, "cannot open a database in memory");
	}
	int r = migrate(fresh, 0, version, error);
	return r < 0 ? r : describe(fresh, out, error);
}

int schema_check(sqlite3 *db, struct brig_error *error)
{
	_cleanup_(buf_done)
	struct buf have = { 0 }, want = { 0 };
	int version = VERSION;

	/* A copy of an old ledger has the definitions of its version. */
	if (read_version(db, &version, error) < 0 || version < 1 || version > VERSION) {
		version = VERSION;
	}
	int r = describe_version(version, &want, error);
	if (r < 0) {
		return r;
	}
	r = describe(db, &have, error);
	if (r < 0) {
		return r;
	}
	if (want.failed || have.failed || !want.data) {
		return error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	return !have.data || strcmp(have.data, want.data) != 0 ? differs(&have, &want, error) : 0;
}
