/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the ledger's database, and runs its transactions: see store.h. */
#include "ledger/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ledger/store/schema.h"

#define BUSY_MS      2000
#define LOCK_WAIT_MS 500
#define LOCK_TRIES   50

/*
 * NORMAL: a commit survives a crash of any process; it survives a power failure if the log was
 * flushed since (store_flush). That is done every second or two; within a commit only when the log
 * has reached 64 MiB before that.
 */
static const char settings[] = "PRAGMA auto_vacuum = NONE;"
			       "PRAGMA journal_mode = WAL;"
			       "PRAGMA synchronous = NORMAL;"
			       "PRAGMA journal_size_limit = 67108864;"
			       "PRAGMA wal_autocheckpoint = 16000;"
			       "PRAGMA cache_size = -16384;";

int store_harden(sqlite3 *db, struct brig_error *error)
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
			return store_error(db, rc, error, "SQLite lacks a safety setting");
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
	return rc == SQLITE_OK ? 0 : store_error(db, rc, error, "cannot set SQLite up");
}

/*
 * Two ledgers on one database would each continue with a chain of their own. A ledger that was just
 * killed may need a moment to end.
 */
static int take_lock(struct store *store, struct brig_error *error)
{
	const struct timespec nap = { .tv_nsec = LOCK_WAIT_MS * 1000000L / LOCK_TRIES };

	store->lock =
		openat(store->dir, STORE_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (store->lock < 0) {
		return error_errno(error, BRIG_E_SYSTEM, errno, "cannot open %s", STORE_LOCK);
	}
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(store->lock, LOCK_EX | LOCK_NB) == 0) {
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
	_cleanup_close_ int fd =
		openat(store->dir, STORE_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 || fchmod(fd, 0600) < 0) {
		return error_errno(error, BRIG_E_SYSTEM, errno, "cannot open %s", STORE_NAME);
	}
	return 0;
}

static int connect_database(struct store *store, struct brig_error *error)
{
	int r = store_vfs_register(store, error);

	if (r < 0) {
		return r;
	}
	int rc = sqlite3_open_v2(STORE_NAME, &store->db,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, store->vfs.zName);
	if (rc != SQLITE_OK) {
		return store_error(store->db, rc, error, "cannot open the ledger");
	}
	return store_harden(store->db, error);
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
	int rc = sqlite3_exec(store->db, settings, NULL, NULL, NULL);
	if (rc != SQLITE_OK) {
		return store_error(store->db, rc, error, "cannot use the ledger's database");
	}
	r = schema_apply(store->db, error);
	if (r < 0) {
		return r;
	}
	r = schema_check(store->db, error);
	return r < 0 ? r : store_prepare(store, error);
}

static int read_totals(struct store *store, struct brig_error *error)
{
	sqlite3_stmt *row = store->statements[SQL_TOTALS];
	int rc = store_run(store, SQL_TOTALS, "");

	if (rc == SQLITE_ROW) {
		store->now.executions = (uint64_t)sqlite3_column_int64(row, 0);
		store->now.result_bytes = (uint64_t)sqlite3_column_int64(row, 1);
		store->pending_last = sqlite3_column_int64(row, 2);
	}
	return store_result(store, rc, SQL_TOTALS, error);
}

static int open_steps(struct store *store, struct brig_error *error)
{
	static int (*const steps[])(struct store * store, struct brig_error * error) = {
		take_lock,
		open_database,
		read_totals,
		store_audit_open,
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

int store_open(int dir, const struct store_limits *limits, struct store **ret,
	       struct brig_error *error)
{
	struct store *store = calloc(1, sizeof(*store));

	if (!store) {
		return error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	store->lock = -1;
	store->result_age_ms = limits->result_age_ms;
	store->result_max = limits->result_max;
	store->result_total_max = limits->result_total_max;
	store->history_age_ms = limits->history_age_ms;
	store->audit_age_ms = limits->audit_age_ms;
	store->dir = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	int r = store->dir < 0 ? error_errno(error, BRIG_E_SYSTEM, errno, "the state directory")
			       : open_steps(store, error);
	if (r < 0) {
		error_wrap(error, "ledger: ");
		store_close(store);
		return r;
	}
	*ret = store;
	return 0;
}

static int connect_for_flush(struct store *store, struct brig_error *error)
{
	if (store->dir < 0) {
		return error_errno(error, BRIG_E_SYSTEM, errno, "the state directory");
	}
	int r = connect_database(store, error);
	if (r < 0) {
		return r;
	}
	return sqlite3_exec(store->db, "PRAGMA synchronous = NORMAL;", NULL, NULL, NULL) ==
			       SQLITE_OK
		       ? 0
		       : error_set(error, BRIG_E_SYSTEM, EIO, "cannot use the ledger's database");
}

int store_open_for_flush(int dir, struct store **ret, struct brig_error *error)
{
	struct store *store = calloc(1, sizeof(*store));

	if (!store) {
		return error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	store->lock = -1;
	store->dir = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	int r = connect_for_flush(store, error);
	if (r < 0) {
		store_close(store);
		return r;
	}
	*ret = store;
	return 0;
}

void store_close(struct store *store)
{
	if (!store) {
		return;
	}
	for (size_t i = 0; i < SQL_STATEMENTS; i++) {
		sqlite3_finalize(store->statements[i]);
	}
	sqlite3_close(store->db);
	store_vfs_unregister(store);
	close_fd(&store->lock);
	close_fd(&store->dir);
	explicit_bzero(store, sizeof(*store));
	free(store);
}

bool store_in_transaction(const struct store *store)
{
	return !sqlite3_get_autocommit(store->db);
}

int store_begin(struct store *store, struct brig_error *error)
{
	store->is_first = true;
	return store_write(store, error, SQL_BEGIN, "");
}

int store_commit(struct store *store, struct brig_error *error)
{
	int r = store_write(store, error, SQL_COMMIT, "");

	if (r < 0) {
		store_rollback(store);
		return r;
	}
	store->committed = store->now;
	return 0;
}

void store_rollback(struct store *store)
{
	if (store_in_transaction(store)) {
		store_write(store, NULL, SQL_ROLLBACK, "");
	}
	store->now = store->committed;
}

int store_mark(struct store *store, struct brig_error *error)
{
	store->marked = store->now;
	/*
	 * The first call needs no savepoint: a rollback goes back to the beginning. A savepoint
	 * costs a copy of every page that is changed after it.
	 */
	store->has_mark = !store->is_first;
	store->is_first = false;
	return store->has_mark ? store_write(store, error, SQL_MARK, "") : 0;
}

int store_release(struct store *store, struct brig_error *error)
{
	return store->has_mark ? store_write(store, error, SQL_RELEASE, "") : 0;
}

bool store_back(struct store *store)
{
	if (store->has_mark && store_in_transaction(store) &&
	    store_write(store, NULL, SQL_BACK, "") == 0 &&
	    store_write(store, NULL, SQL_RELEASE, "") == 0) {
		store->now = store->marked;
		return true;
	}
	store_rollback(store);
	return false;
}

int store_flush(struct store *store, bool truncate, struct brig_error *error)
{
	int rc = sqlite3_wal_checkpoint_v2(
		store->db, NULL, truncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE,
		NULL, NULL);

	/* Busy: a reader still needs the log; the rest is written after it has finished. */
	return rc == SQLITE_OK || rc == SQLITE_BUSY
		       ? 0
		       : store_error(store->db, rc, error, "cannot flush the ledger");
}
