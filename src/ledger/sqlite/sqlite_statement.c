/* SPDX-License-Identifier: Apache-2.0 */
/* Every statement of the ledger, and the functions that run them. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "ledger/sqlite/sqlite_store.h"

#define EXECUTION_COLUMNS                                                                          \
	"e.id, e.state, e.status, e.created_ms, e.started_ms, e.ended_ms, e.language, e.policy, "  \
	"e.session, r.n IS NOT NULL, e.tenant"

#define SESSION_COLUMNS "id, language, policy, idle_ms, runs, created_ms, ended_ms, reason, caller"

static const char *const texts[SQL_STATEMENTS] = {
	[SQL_BEGIN] = "BEGIN IMMEDIATE",
	[SQL_COMMIT] = "COMMIT",
	[SQL_ROLLBACK] = "ROLLBACK",
	[SQL_MARK] = "SAVEPOINT call",
	[SQL_RELEASE] = "RELEASE call",
	[SQL_BACK] = "ROLLBACK TO call",
	[SQL_INSERT] = "INSERT INTO executions (id, tenant, caller, session, language, policy, "
		       "code_sha256, key, digest, state, created_ms, started_ms) "
		       "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, nullif(?, 0))",
	[SQL_BY_KEY] = "SELECT id, digest FROM executions WHERE tenant = ? AND key = ?",
	[SQL_REQUEST_PUT] = "INSERT INTO requests (n, data) VALUES (?, ?)",
	[SQL_REQUEST_DROP] = "DELETE FROM requests WHERE n = ?",
	[SQL_LONG_PUT] = "INSERT INTO long_requests (size, gone) VALUES (?, 0)",
	[SQL_LONG_TAKEN] = "UPDATE long_requests SET n = ? WHERE m = ?",
	[SQL_LONG_UNDO] = "UPDATE long_requests SET gone = 1 WHERE m = ? AND n IS NULL",
	[SQL_LONG_DROP] = "UPDATE long_requests SET gone = 1 WHERE n = ?",
	[SQL_LONG_LOST] = "UPDATE long_requests SET gone = 1 WHERE n IS NULL",
	[SQL_LONG_GONE] = "SELECT m FROM long_requests WHERE gone = 1 ORDER BY m LIMIT 1",
	[SQL_LONG_FORGET] = "DELETE FROM long_requests WHERE m = ?",
	[SQL_REQUEST_PART_PUT] = "INSERT INTO request_parts (k, data) VALUES (?, ?)",
	[SQL_REQUEST_PART_GET] = "SELECT data FROM request_parts WHERE k = ?",
	[SQL_REQUEST_PARTS_DROP] = "DELETE FROM request_parts WHERE k IN (SELECT k FROM "
				   "request_parts WHERE k BETWEEN ? AND ? ORDER BY k DESC LIMIT ?)",
	[SQL_KEY_DROP] = "UPDATE executions SET key = NULL WHERE n = ?",
	[SQL_OPEN_ONE] = "SELECT n, state, tenant, caller, session, language, policy, code_sha256 "
			 "FROM executions WHERE id = ?",
	[SQL_START] = "UPDATE executions SET state = 1, started_ms = ? WHERE n = ?",
	[SQL_END] = "UPDATE executions SET state = 2, status = ?, ended_ms = ? WHERE n = ?",
	[SQL_RESULT_PUT] = "INSERT INTO results (n, ended_ms, size, data) VALUES (?, ?, ?, ?)",
	[SQL_PART_PUT] = "INSERT OR REPLACE INTO result_parts (k, data) VALUES (?, ?)",
	[SQL_PART_GET] = "SELECT data FROM result_parts WHERE k = ?",
	[SQL_PARTS_DROP] = "DELETE FROM result_parts WHERE k IN (SELECT k FROM result_parts "
			   "WHERE k BETWEEN ? AND ? ORDER BY k DESC LIMIT ?)",
	[SQL_GET] = "SELECT " EXECUTION_COLUMNS ", r.data, r.size, r.n FROM executions e "
		    "LEFT JOIN results r ON r.n = e.n WHERE e.tenant = ? AND e.id = ?",
	[SQL_GET_ANY] = "SELECT " EXECUTION_COLUMNS ", r.data, r.size, r.n FROM executions e "
			"LEFT JOIN results r ON r.n = e.n WHERE e.id = ?",
	[SQL_LIST_ANY] = "SELECT " EXECUTION_COLUMNS " FROM executions e "
			 "LEFT JOIN results r ON r.n = e.n "
			 "WHERE e.id < ? ORDER BY e.id DESC LIMIT ?",
	[SQL_LIST] = "SELECT " EXECUTION_COLUMNS " FROM executions e "
		     "LEFT JOIN results r ON r.n = e.n "
		     "WHERE e.tenant = ? AND e.id < ? ORDER BY e.id DESC LIMIT ?",
	[SQL_PENDING] = "SELECT e.n, e.id, e.tenant, e.caller, e.session, e.language, e.policy, "
			"e.code_sha256, e.key, e.created_ms, q.data, l.m, l.size FROM requests q "
			"JOIN executions e ON e.n = q.n "
			"LEFT JOIN long_requests l ON l.n = q.n AND l.gone = 0 WHERE q.n > ? AND "
			"q.n <= ? AND e.state = 0 "
			"ORDER BY q.n LIMIT ?",
	/* The columns of SQL_LOST. */
	[SQL_PENDING_NEXT] = "SELECT e.id, e.language, e.policy, e.n FROM requests q "
			     "JOIN executions e ON e.n = q.n WHERE q.n > ? AND q.n <= ? AND "
			     "e.state = 0 ORDER BY q.n LIMIT 1",
	[SQL_PENDING_COUNT] = "SELECT count(*) FROM requests q JOIN executions e ON e.n = q.n "
			      "WHERE q.n > ? AND q.n <= ? AND e.state = 0",
	[SQL_LOST] = "SELECT e.id, e.language, e.policy, e.n FROM executions e WHERE e.n > ? AND "
		     "e.n >= (SELECT ended_below FROM progress) AND e.state < 2 AND "
		     "(e.state = 1 OR NOT EXISTS (SELECT 1 FROM requests q WHERE q.n = e.n)) "
		     "ORDER BY e.n LIMIT 1",
	[SQL_PROGRESS] = "UPDATE progress SET ended_below = ifnull((SELECT n FROM executions "
			 "WHERE n >= ended_below AND state < 2 ORDER BY n LIMIT 1), "
			 "(SELECT ifnull(max(n), 0) + 1 FROM executions))",
	[SQL_TOTALS] = "SELECT (SELECT count(*) FROM executions), (SELECT ifnull(sum(size), 0) "
		       "FROM results), (SELECT ifnull(max(n), 0) FROM executions)",
	[SQL_HALF_GONE] = "SELECT n, size FROM results WHERE length(data) = 0 ORDER BY n LIMIT ?",
	[SQL_OLDEST] = "SELECT n, size, ended_ms FROM results ORDER BY n LIMIT ?",
	[SQL_LARGEST] = "SELECT tenant, bytes FROM result_sums ORDER BY bytes DESC LIMIT 2",
	[SQL_OLDEST_OF] = "SELECT r.n, r.size FROM result_owners o JOIN results r ON r.n = o.n "
			  "WHERE o.tenant = ? ORDER BY o.n LIMIT ?",
	[SQL_RESULT_EMPTY] = "UPDATE results SET data = x'' WHERE n = ?",
	[SQL_RESULT_DROP] = "DELETE FROM results WHERE n = ?",
	/* Only the oldest rows are checked: a full scan would take long when none is due. */
	[SQL_FORGET] = "DELETE FROM executions WHERE n IN (SELECT n FROM (SELECT n, state, "
		       "ended_ms FROM executions ORDER BY n LIMIT ?) WHERE state = 2 AND "
		       "ended_ms <= ?) AND n NOT IN (SELECT n FROM results)",
	[SQL_SESSION_PUT] = "INSERT INTO sessions (id, tenant, caller, language, policy, idle_ms, "
			    "runs, created_ms) VALUES (?, ?, ?, ?, ?, ?, 0, ?)",
	[SQL_SESSION_RUN] = "UPDATE sessions SET runs = runs + 1 WHERE tenant = ? AND id = ? AND "
			    "ended_ms IS NULL",
	[SQL_SESSION_ONE] = "SELECT " SESSION_COLUMNS " FROM sessions WHERE tenant = ? AND id = ?",
	[SQL_SESSION_END] = "UPDATE sessions SET ended_ms = ?, reason = ?, runs = max(runs, ?) "
			    "WHERE tenant = ? AND id = ? AND ended_ms IS NULL",
	[SQL_SESSION_LIST] = "SELECT " SESSION_COLUMNS " FROM sessions WHERE tenant = ? AND id < ? "
			     "AND ended_ms IS NOT NULL ORDER BY id DESC LIMIT ?",
	[SQL_SESSION_OPEN] = "SELECT tenant, id FROM sessions WHERE ended_ms IS NULL "
			     "ORDER BY n LIMIT 1",
	[SQL_SESSION_TRIM] = "DELETE FROM sessions WHERE n IN (SELECT n FROM sessions WHERE "
			     "tenant = ? AND ended_ms IS NOT NULL ORDER BY id DESC "
			     "LIMIT 16 OFFSET ?)",
	[SQL_SESSION_FORGET] = "DELETE FROM sessions WHERE n IN (SELECT n FROM (SELECT n, ended_ms "
			       "FROM sessions ORDER BY n LIMIT ?) WHERE ended_ms <= ?)",
	[SQL_USAGE_PUT] = "INSERT INTO usage (caller, day, cpu_ns) VALUES (?, ?, ?) "
			  "ON CONFLICT (caller) DO UPDATE SET day = excluded.day, "
			  "cpu_ns = CASE WHEN day = excluded.day "
			  "THEN max(cpu_ns, excluded.cpu_ns) ELSE excluded.cpu_ns END",
	[SQL_USAGE_LIST] = "SELECT caller, cpu_ns FROM usage WHERE day = ? LIMIT ?",
	[SQL_USAGE_FORGET] = "DELETE FROM usage WHERE day <> ?",
	[SQL_APPEND] = "INSERT INTO audit (sequence, time_ms, kind, tenant, facts, hash) "
		       "VALUES (?, ?, ?, ?, ?, ?)",
	[SQL_LAST_ENTRY] =
		"SELECT sequence, time_ms, kind, tenant, facts, hash FROM audit "
		"WHERE sequence = ifnull(nullif(?, 0), (SELECT max(sequence) FROM audit))",
	[SQL_CHECKPOINT_PUT] = "INSERT INTO checkpoints (number, line) VALUES (?, ?)",
	[SQL_CHECKPOINT_LAST] = "SELECT line FROM checkpoints ORDER BY number DESC LIMIT 1",
	[SQL_CHECKPOINTS_OLD] =
		"SELECT line FROM checkpoints WHERE number > ? ORDER BY number LIMIT ?",
	[SQL_CHECKPOINTS_DROP] =
		"DELETE FROM checkpoints WHERE number IN (SELECT number FROM checkpoints "
		"WHERE number <= ? ORDER BY number LIMIT ?)",
	[SQL_AUDIT_DROP] = "DELETE FROM audit WHERE sequence IN (SELECT sequence FROM audit "
			   "WHERE sequence <= ? ORDER BY sequence LIMIT ?)",
	[SQL_ANCHOR_PUT] = "INSERT OR REPLACE INTO anchor (one, sequence, number, line) "
			   "VALUES (1, ?, ?, ?)",
	[SQL_ANCHOR_GET] = "SELECT line FROM anchor",
	[SQL_LOGGED_PUT] = "UPDATE logged SET sequence = ?",
	[SQL_LOGGED_GET] = "SELECT sequence FROM logged",
};

static const struct {
	int code;
	int errnum;
} errnos[] = {
	{ SQLITE_FULL, ENOSPC },       { SQLITE_NOMEM, ENOMEM },    { SQLITE_BUSY, EBUSY },
	{ SQLITE_LOCKED, EBUSY },      { SQLITE_CORRUPT, EBADMSG }, { SQLITE_NOTADB, EBADMSG },
	{ SQLITE_READONLY, EROFS },    { SQLITE_CANTOPEN, EACCES }, { SQLITE_TOOBIG, EFBIG },
	{ SQLITE_CONSTRAINT, EEXIST }, { SQLITE_PERM, EACCES },     { SQLITE_AUTH, EACCES },
};

int sqlite_error(sqlite3 *db, int rc, struct brig_error *error, const char *what)
{
	int errnum = EIO;

	for (size_t i = 0; i < ARRAY_SIZE(errnos); i++) {
		if (errnos[i].code == (rc & 0xff)) {
			errnum = errnos[i].errnum;
		}
	}
	error_set(error, BRIG_E_SYSTEM, errnum, "%s: %s", what,
		  db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
	if (errnum == ENOSPC) {
		error_remedy(error, "make room on the file system of the state directory");
	} else if (errnum == EBADMSG) {
		error_remedy(error, "the database is damaged: restore it from a copy");
	}
	return -errnum;
}

int sqlite_prepare(struct store *store, struct brig_error *error)
{
	for (size_t i = 0; i < SQL_STATEMENTS; i++) {
		int rc = sqlite3_prepare_v3(sqlite_of(store)->db, texts[i], -1,
					    SQLITE_PREPARE_PERSISTENT,
					    &sqlite_of(store)->statements[i], NULL);
		if (rc != SQLITE_OK) {
			return sqlite_error(sqlite_of(store)->db, rc, error, texts[i]);
		}
	}
	return 0;
}

static int bind(sqlite3_stmt *statement, const char *types, va_list args)
{
	int rc = SQLITE_OK;

	for (int i = 1; *types && rc == SQLITE_OK; types++, i++) {
		if (*types == 't') {
			rc = sqlite3_bind_text(statement, i, va_arg(args, const char *), -1,
					       SQLITE_STATIC);
		} else if (*types == 'i') {
			rc = sqlite3_bind_int64(statement, i, va_arg(args, int64_t));
		} else {
			const void *data = va_arg(args, const void *);
			size_t size = va_arg(args, size_t);
			rc = sqlite3_bind_blob64(statement, i, data ? data : "", size,
						 SQLITE_STATIC);
		}
	}
	return rc;
}

static int run(struct store *store, enum statement which, const char *types, va_list args)
{
	int rc = bind(sqlite_of(store)->statements[which], types, args);

	return rc == SQLITE_OK ? sqlite3_step(sqlite_of(store)->statements[which]) : rc;
}

int sqlite_run(struct store *store, enum statement which, const char *types, ...)
{
	va_list args;

	va_start(args, types);
	int rc = run(store, which, types, args);
	va_end(args);
	return rc;
}

void sqlite_done(struct store *store, enum statement which)
{
	sqlite3_reset(sqlite_of(store)->statements[which]);
	sqlite3_clear_bindings(sqlite_of(store)->statements[which]);
}

int sqlite_result(struct store *store, int rc, enum statement which, struct brig_error *error)
{
	/* Before the reset, which may change the error message of the connection. */
	int r = rc == SQLITE_DONE || rc == SQLITE_ROW
			? 0
			: sqlite_error(sqlite_of(store)->db, rc, error, "the ledger cannot write");
	sqlite_done(store, which);
	return r;
}

int sqlite_write(struct store *store, struct brig_error *error, enum statement which,
		 const char *types, ...)
{
	va_list args;

	va_start(args, types);
	int rc = run(store, which, types, args);
	va_end(args);
	return sqlite_result(store, rc, which, error);
}
