/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for what is in the log: see audit_log.h. */
#include "ledger/audit/audit_log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ledger/log/log_file.h"
#include "ledger/sqlite/sqlite_store.h"

#define NAP_NS (10 * 1000 * 1000L)
#define NAPS   200 /* two seconds */

static int open_parent(const char *path)
{
	char parent[PATH_MAX];
	const char *slash = strrchr(path, '/');
	size_t length = slash ? (size_t)(slash - path) + 1 : 0;

	if (length >= sizeof(parent)) {
		return -ENAMETOOLONG;
	}
	memcpy(parent, path, length);
	parent[length] = '\0';
	return open(length ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The number of the last whole record; 0: there is none. The ledger cares about anything behind. */
static uint64_t last_of(int dir, const char *name)
{
	struct log_reader reader = { 0 };
	struct log_record record;
	uint64_t last = 0;
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0) {
		return 0;
	}
	if (log_reader_open(&reader, fd) == LOG_END) {
		while (log_reader_next(&reader, &record) == LOG_RECORD) {
			last = record.sequence;
		}
	}
	log_reader_done(&reader);
	return last;
}

static uint64_t last_in_log(int dir)
{
	uint64_t last = 0;

	for (unsigned i = 0; i < LOG_FILES; i++) {
		uint64_t one = last_of(dir, log_names[i]);
		last = one > last ? one : last;
	}
	return last;
}

/* In the snapshot. A database from before there was a log has all of it. */
static uint64_t last_stored(sqlite3 *db)
{
	sqlite3_stmt *statement = NULL;
	uint64_t last = UINT64_MAX;

	if (sqlite3_prepare_v2(db, "SELECT sequence FROM logged NOT INDEXED", -1, &statement,
			       NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW) {
		last = (uint64_t)sqlite3_column_int64(statement, 0);
	}
	sqlite3_finalize(statement);
	return last;
}

static bool ledger_runs(int dir)
{
	_cleanup_close_ int fd = openat(dir, STORE_LOCK, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

int audit_log_wait(const char *path, struct audit_file *file, struct brig_error *error)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	_cleanup_close_ int dir = open_parent(path);
	uint64_t last = dir < 0 ? 0 : last_in_log(dir);

	/*
	 * The snapshot is from before that: since then the ledger may have stored calls, and
	 * removed the file that they were in.
	 */
	int fresh = dir >= 0 && ledger_runs(dir) ? audit_file_again(file, error) : 0;
	if (fresh < 0) {
		return fresh;
	}
	uint64_t stored = last ? last_stored(file->db) : 0;

	for (int i = 0; stored < last && i < NAPS && ledger_runs(dir); i++) {
		nanosleep(&nap, NULL);
		int r = audit_file_again(file, error);
		if (r < 0) {
			return r;
		}
		stored = last_stored(file->db);
	}
	file->in_log = stored < last ? last - stored : 0;
	return 0;
}
