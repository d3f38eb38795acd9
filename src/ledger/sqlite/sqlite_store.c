/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the ledger's database, and runs its transactions: see sqlite_store.h. */
#include "ledger/sqlite/sqlite_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ledger/sqlite/schema.h"

#define BUSY_MS      2000
#define LOCK_WAIT_MS 500
#define LOCK_TRIES   50

/*
 * NORMAL: a commit survives a crash of any process; it survives a power failure if the log was
 * flushed since (flush). That is done every second or two; within a commit only when the log
 * has reached 64 MiB before that.
 */
static const char settings[] = "PRAGMA auto_vacuum = NONE;"
			       "PRAGMA journal_mode = WAL;"
			       "PRAGMA synchronous = NORMAL;"
			       "PRAGMA journal_size_limit = 67108864;"
			       "PRAGMA wal_autocheckpoint = 16000;"
			       "PRAGMA cache_size = -16384;";

int sqlite_harden(sqlite3 *db, struct brig_error *error)
{
	static const struct {
		int option, value;
	} options[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 },
		{ SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
		{ SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
		{ SQLITE_DBCONFIG_ENABLE_FKEY, 1 },
		{ SQLITE_DBCONFIG_DQS_DML, 0 },
		{ SQLITE_DBCONFIG_DQS_DDL, 0 },
	};
	static const struct {
		int limit, value;
	} limits[] = {
		{ SQLITE_LIMIT_LENGTH, 160 << 20 },  { SQLITE_LIMIT_SQL_LENGTH, 1 << 16 },
		{ SQLITE_LIMIT_ATTACHED, 0 },        { SQLITE_LIMIT_EXPR_DEPTH, 32 },
		{ SQLITE_LIMIT_COMPOUND_SELECT, 4 }, { SQLITE_LIMIT_WORKER_THREADS, 0 },
		{ SQLITE_LIMIT_TRIGGER_DEPTH, 4 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		int rc = sqlite3_db_config(db, options[i].option, options[i].value, NULL);
		if (rc != SQLITE_OK) {
			return sqlite_error(db, rc, error, "SQLite lacks a safety setting");
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		sqlite3_limit(db, limits[i].limit, limits[i].value);
	}
	sqlite3_busy_timeout(db, BUSY_MS);
	int rc = sqlite3_exec(db,
			      "PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;"
			      "PRAGMA mmap_size = 0;",
			      NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : sqlite_error(db, rc, error, "cannot set SQLite up");
}

/*
 * Two ledgers on one database would each continue with a chain of their own. A ledger that was just
 * killed may need a moment to end.
 */
static int take_lock(struct store *store, struct brig_error *error)
{
	const struct timespec nap = { .tv_nsec = LOCK_WAIT_MS * 1000000L / LOCK_TRIES };

	sqlite_of(store)->lock = openat(sqlite_of(store)->dir, STORE_LOCK,
					O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (sqlite_of(store)->lock < 0) {
		return error_errno(error, BRIG_E_SYSTEM, errno, "cannot open %s", STORE_LOCK);
	}
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(sqlite_of(store)->lock, LOCK_EX | LOCK_NB) == 0) {
			return 0;
		}
		nanosleep(&nap, NULL);
	}
	error_set(error, BRIG_E_SYSTEM, EBUSY, "the state directory is in use");
	error_remedy(error, "another brig serve runs with it: end that one, or use --state");
	return -EBUSY;
}

/* SQLite gives its other files the mode of this one. */
static int make_file(struct store *store, struct brig_error *error)
{
	_cleanup_close_ int fd = openat(sqlite_of(store)->dir, STORE_NAME,
					O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 || fchmod(fd, 0600) < 0) {
		return error_errno(error, BRIG_E_SYSTEM, errno, "cannot open %s", STORE_NAME);
	}
	return 0;
}

static int connect_database(struct store *store, struct brig_error *error)
{
	int r = sqlite_vfs_register(store, error);

	if (r < 0) {
		return r;
	}
	int rc = sqlite3_open_v2(STORE_NAME, &sqlite_of(store)->db,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
				 sqlite_of(store)->vfs.zName);
	if (rc != SQLITE_OK) {
		return sqlite_error(sqlite_of(store)->db, rc, error, "cannot open the ledger");
	}
	return sqlite_harden(sqlite_of(store)->db, error);
}

/* A commit syncs SQLite's log. */
static int set_durable(struct store *store, struct brig_error *error)
{
	int rc = sqlite3_exec(sqlite_of(store)->db, "PRAGMA synchronous = FULL;", NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0
			       : sqlite_error(sqlite_of(store)->db, rc, error,
					      "cannot use the ledger's database");
}

static int open_database(struct store *store, struct brig_error *error)
{
	int r = make_file(store, error);

	if (r < 0) {
		return r;
	}
	r = connect_database(store, error);
	if (r < 0) {
		return r;
	}
	int rc = sqlite3_exec(sqlite_of(store)->db, settings, NULL, NULL, NULL);
	if (rc != SQLITE_OK) {
		return sqlite_error(sqlite_of(store)->db, rc, error,
				    "cannot use the ledger's database");
	}
	r = store->limits.durable ? set_durable(store, error) : 0;
	if (r < 0) {
		return r;
	}
	r = schema_apply(sqlite_of(store)->db, error);
	if (r < 0) {
		return r;
	}
	r = schema_check(sqlite_of(store)->db, error);
	return r < 0 ? r : sqlite_prepare(store, error);
}

static int read_totals(struct store *store, struct brig_error *error)
{
	sqlite3_stmt *row = sqlite_of(store)->statements[SQL_TOTALS];
	int rc = sqlite_run(store, SQL_TOTALS, "");

	if (rc == SQLITE_ROW) {
		store->now.executions = (uint64_t)sqlite3_column_int64(row, 0);
		store->now.result_bytes = (uint64_t)sqlite3_column_int64(row, 1);
		sqlite_of(store)->pending_last = sqlite3_column_int64(row, 2);
	}
	return sqlite_result(store, rc, SQL_TOTALS, error);
}

static int open_steps(struct store *store, struct brig_error *error)
{
	static int (*const steps[])(struct store * store, struct brig_error * error) = {
		take_lock, open_database, read_totals, sqlite_logged_read, sqlite_audit_open,
	};

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		int r = steps[i](store, error);
		if (r < 0) {
			return r;
		}
	}
	store->committed = store->now;
	return 0;
}

int sqlite_open(int dir, const struct store_limits *limits, struct store **ret,
		struct brig_error *error)
{
	struct sqlite_store *made = calloc(1, sizeof(*made));

	if (!made) {
		return error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	struct store *store = &made->store;
	store->class = &sqlite_store_class;
	store->limits = *limits;
	made->lock = -1;
	made->dir = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	int r = made->dir < 0 ? error_errno(error, BRIG_E_SYSTEM, errno, "the state directory")
			      : open_steps(store, error);
	if (r < 0) {
		error_wrap(error, "ledger: ");
		sqlite_close(store);
		return r;
	}
	*ret = store;
	return 0;
}

static int connect_for_flush(struct store *store, struct brig_error *error)
{
	if (sqlite_of(store)->dir < 0) {
		return error_errno(error, BRIG_E_SYSTEM, errno, "the state directory");
	}
	int r = connect_database(store, error);
	if (r < 0) {
		return r;
	}
	return sqlite3_exec(sqlite_of(store)->db, "PRAGMA synchronous = NORMAL;", NULL, NULL,
			    NULL) == SQLITE_OK
		       ? 0
		       : error_set(error, BRIG_E_SYSTEM, EIO, "cannot use the ledger's database");
}

/*
 * SQLite's log first, by itself: a checkpoint does not sync it while a reader keeps it from copying
 * anything.
 */
static int sync_wal(int dir)
{
	_cleanup_close_ int fd = openat(dir, STORE_NAME "-wal", O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? (errno == ENOENT ? 0 : -errno) : fdatasync(fd) < 0 ? -errno : 0;
}

/* Opened for each flush: at its end the role must be the last to have the database open. */
int sqlite_flush_apart(int dir)
{
	struct sqlite_store *made = calloc(1, sizeof(*made));

	if (!made) {
		return -ENOMEM;
	}
	made->store.class = &sqlite_store_class;
	made->lock = -1;
	made->dir = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	int r = connect_for_flush(&made->store, NULL);
	r = r < 0 ? r : sync_wal(dir);
	r = r < 0 ? r : sqlite_flush(&made->store, false, NULL);
	sqlite_close(&made->store);
	return r;
}

void sqlite_close(struct store *store)
{
	struct sqlite_store *made = sqlite_of(store);

	for (size_t i = 0; i < SQL_STATEMENTS; i++) {
		sqlite3_finalize(made->statements[i]);
	}
	sqlite3_close(made->db);
	sqlite_vfs_unregister(store);
	close_fd(&made->lock);
	close_fd(&made->dir);
	explicit_bzero(made, sizeof(*made));
	free(made);
}

bool sqlite_in_transaction(const struct store *store)
{
	return !sqlite3_get_autocommit(sqlite_of(store)->db);
}

int sqlite_begin(struct store *store, struct brig_error *error)
{
	sqlite_of(store)->is_first = true;
	return sqlite_write(store, error, SQL_BEGIN, "");
}

int sqlite_commit(struct store *store, struct brig_error *error)
{
	int r = sqlite_write(store, error, SQL_COMMIT, "");

	if (r < 0) {
		sqlite_rollback(store);
		return r;
	}
	store->committed = store->now;
	return 0;
}

void sqlite_rollback(struct store *store)
{
	if (sqlite_in_transaction(store)) {
		sqlite_write(store, NULL, SQL_ROLLBACK, "");
	}
	store->now = store->committed;
}

int sqlite_mark(struct store *store, struct brig_error *error)
{
	sqlite_of(store)->marked = store->now;
	/*
	 * The first call needs no savepoint: a rollback goes back to the beginning. A savepoint
	 * costs a copy of every page that is changed after it.
	 */
	store->has_mark = !sqlite_of(store)->is_first;
	sqlite_of(store)->is_first = false;
	return store->has_mark ? sqlite_write(store, error, SQL_MARK, "") : 0;
}

int sqlite_release(struct store *store, struct brig_error *error)
{
	return store->has_mark ? sqlite_write(store, error, SQL_RELEASE, "") : 0;
}

bool sqlite_back(struct store *store)
{
	if (store->has_mark && sqlite_in_transaction(store) &&
	    sqlite_write(store, NULL, SQL_BACK, "") == 0 &&
	    sqlite_write(store, NULL, SQL_RELEASE, "") == 0) {
		store->now = sqlite_of(store)->marked;
		return true;
	}
	sqlite_rollback(store);
	return false;
}

int sqlite_flush(struct store *store, bool truncate, struct brig_error *error)
{
	int mode = truncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE;
	int r = sync_wal(sqlite_of(store)->dir);

	if (r < 0) {
		return error_errno(error, BRIG_E_SYSTEM, -r, "cannot flush the ledger");
	}
	int rc = sqlite3_wal_checkpoint_v2(sqlite_of(store)->db, NULL, mode, NULL, NULL);

	/* Busy: a reader still needs the log; the rest is written after it has finished. */
	return rc == SQLITE_OK || rc == SQLITE_BUSY
		       ? 0
		       : sqlite_error(sqlite_of(store)->db, rc, error, "cannot flush the ledger");
}

int sqlite_logged_read(struct store *store, struct brig_error *error)
{
	sqlite3_stmt *row = sqlite_of(store)->statements[SQL_LOGGED_GET];
	int rc = sqlite_run(store, SQL_LOGGED_GET, "");

	if (rc == SQLITE_ROW) {
		store->now.logged = (uint64_t)sqlite3_column_int64(row, 0);
	}
	return sqlite_result(store, rc, SQL_LOGGED_GET, error);
}

int sqlite_logged(struct store *store, uint64_t sequence, struct brig_error *error)
{
	int r = sqlite_write(store, error, SQL_LOGGED_PUT, "i", (int64_t)sequence);

	if (r == 0) {
		store->now.logged = sequence;
	}
	return r;
}

static uint64_t pragma(struct store *store, const char *sql)
{
	sqlite3_stmt *statement = NULL;
	uint64_t value = 0;

	if (sqlite3_prepare_v2(sqlite_of(store)->db, sql, -1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW) {
		value = (uint64_t)sqlite3_column_int64(statement, 0);
	}
	sqlite3_finalize(statement);
	return value;
}

uint64_t sqlite_bytes(struct store *store)
{
	return pragma(store, "PRAGMA page_count") * pragma(store, "PRAGMA page_size");
}

const struct store_class sqlite_store_class = {
	.behind_log = true,
	.open = sqlite_open,
	.close = sqlite_close,
	.recover = sqlite_recover,
	.begin = sqlite_begin,
	.commit = sqlite_commit,
	.rollback = sqlite_rollback,
	.in_transaction = sqlite_in_transaction,
	.mark = sqlite_mark,
	.release = sqlite_release,
	.back = sqlite_back,
	.flush = sqlite_flush,
	.flush_apart = sqlite_flush_apart,
	.logged = sqlite_logged,
	.bytes = sqlite_bytes,
	.execution_begin = sqlite_execution_begin,
	.execution_started = sqlite_execution_started,
	.execution_ended = sqlite_execution_ended,
	.ended_open = sqlite_ended_open,
	.ended_step = sqlite_ended_step,
	.ended_finish = sqlite_ended_finish,
	.ended_undo = sqlite_ended_undo,
	.ended_free = sqlite_ended_free,
	.request_step = sqlite_request_step,
	.request_undo = sqlite_request_undo,
	.execution_get = sqlite_execution_get,
	.more_read = sqlite_more_read,
	.execution_list = sqlite_execution_list,
	.execution_pending = sqlite_execution_pending,
	.execution_pending_count = sqlite_execution_pending_count,
	.execution_drop = sqlite_execution_drop,
	.sweep = sqlite_sweep,
	.session_opened = sqlite_session_opened,
	.session_ended = sqlite_session_ended,
	.session_get = sqlite_session_get,
	.session_list = sqlite_session_list,
	.usage_put = sqlite_usage_put,
	.usage_list = sqlite_usage_list,
	.append = sqlite_append,
	.audit = sqlite_audit,
	.checkpoint = sqlite_checkpoint,
};
