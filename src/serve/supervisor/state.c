/* SPDX-License-Identifier: Apache-2.0 */
/* The state directory: see state.h. */
#include "serve/supervisor/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define LEDGER_DIR "ledger"
#define LOCK_FILE  "lock"
#define CACHE_DIR  "cache"
/* The roles of a server that was killed need a moment to end. */
#define LOCK_TRIES   40
#define LOCK_WAIT_NS 50000000

static int make_parents(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		int r = mkdir(path, 0755) < 0 && errno != EEXIST ? -errno : 0;
		*slash = '/';
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static int check_owner(int fd, const char *path, struct brig_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "%s", path);
	}
	if (st.st_uid != geteuid()) {
		error_set(err, BRIG_E_INPUT, EPERM, "state directory %s belongs to user %u", path,
			  (unsigned)st.st_uid);
		error_remedy(err, "chown %u %s, or choose another: --state DIR",
			     (unsigned)geteuid(), path);
		return -EPERM;
	}
	if (st.st_mode & (S_IWGRP | S_IWOTH)) {
		error_set(err, BRIG_E_INPUT, EPERM, "state directory %s: others may write to it",
			  path);
		error_remedy(err, "chmod go-w %s", path);
		return -EPERM;
	}
	return 0;
}

static int open_directory(struct state *state, struct brig_error *err)
{
	int r = make_parents(state->path);

	/* As root, the ledger's user must be able to pass through. */
	if (r < 0 || (mkdir(state->path, geteuid() == 0 ? 0711 : 0700) < 0 && errno != EEXIST)) {
		return error_errno(err, BRIG_E_INPUT, r < 0 ? -r : errno,
				   "cannot make the state directory %s", state->path);
	}
	state->dir = open(state->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (state->dir < 0) {
		return error_errno(err, BRIG_E_INPUT, errno, "state directory %s", state->path);
	}
	return check_owner(state->dir, state->path, err);
}

static int make_fleeting(struct state *state, struct brig_error *err)
{
	const char *base = secure_getenv("TMPDIR");

	if (asprintf(&state->path, "%s/brig-XXXXXX", base && base[0] == '/' ? base : "/tmp") < 0) {
		state->path = NULL;
		error_errno(err, BRIG_E_SYSTEM, ENOMEM, "state directory");
		return -ENOMEM;
	}
	if (!mkdtemp(state->path)) {
		return error_errno(err, BRIG_E_INPUT, errno, "cannot make %s", state->path);
	}
	state->fleeting = true;
	if (geteuid() == 0 && chmod(state->path, 0711) < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "%s", state->path);
	}
	return 0;
}

static int take_lock(struct state *state, struct brig_error *err)
{
	state->lock =
		openat(state->dir, LOCK_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (state->lock < 0) {
		return error_errno(err, BRIG_E_INPUT, errno, "%s/" LOCK_FILE, state->path);
	}
	for (int i = 0; flock(state->lock, LOCK_EX | LOCK_NB) < 0; i++) {
		struct timespec wait = { .tv_nsec = LOCK_WAIT_NS };
		if (errno != EWOULDBLOCK && errno != EINTR) {
			return error_errno(err, BRIG_E_SYSTEM, errno, "%s/" LOCK_FILE, state->path);
		}
		if (i == LOCK_TRIES) {
			error_set(err, BRIG_E_INPUT, EBUSY,
				  "another server uses the state directory %s", state->path);
			error_remedy(err, "stop it, or choose another: --state DIR");
			return -EBUSY;
		}
		nanosleep(&wait, NULL);
	}
	return 0;
}

/*
 * Changes the owner of files from a time when the service ran as another user. Only plain files
 * with one name: a link that was planted here could lead to any file.
 */
static int give_files(int dir, uid_t id)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	int r = 0;

	if (!stream) {
		r = -errno;
		close_fd(&copy);
		return r;
	}
	while (r == 0 && (entry = readdir(stream))) {
		struct stat st;
		_cleanup_close_ int fd =
			openat(dir, entry->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
		    st.st_uid != id && fchownat(fd, "", id, id, AT_EMPTY_PATH) < 0) {
			r = -errno;
		}
	}
	closedir(stream);
	return r;
}

static int open_ledger(struct state *state, uid_t id, struct brig_error *err)
{
	struct stat st;

	if (mkdirat(state->dir, LEDGER_DIR, 0700) < 0 && errno != EEXIST) {
		return error_errno(err, BRIG_E_INPUT, errno, "%s/" LEDGER_DIR, state->path);
	}
	state->ledger =
		openat(state->dir, LEDGER_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (state->ledger < 0 || fstat(state->ledger, &st) < 0) {
		return error_errno(err, BRIG_E_INPUT, errno, "%s/" LEDGER_DIR, state->path);
	}
	if (st.st_uid == id) {
		return 0;
	}
	int r = give_files(state->ledger, id);
	if (r < 0 || fchown(state->ledger, id, id) < 0) {
		return error_errno(err, BRIG_E_SYSTEM, r < 0 ? -r : errno,
				   "cannot change the owner of %s/" LEDGER_DIR
				   " to that of the ledger",
				   state->path);
	}
	return 0;
}

int state_open(struct state *state, const char *path, uid_t ledger_id, struct brig_error *err)
{
	int r = 0;

	*state = (struct state){ .dir = -1, .lock = -1, .ledger = -1 };
	if (path && path[0] != '/') {
		return error_set(err, BRIG_E_INPUT, EINVAL, "state directory %s is not absolute",
				 path);
	}
	if (path && asprintf(&state->path, "%s", path) < 0) {
		state->path = NULL;
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "state directory");
	}
	if (!path) {
		r = make_fleeting(state, err);
	}
	r = r < 0 ? r : open_directory(state, err);
	r = r < 0 ? r : take_lock(state, err);
	r = r < 0 ? r : open_ledger(state, ledger_id, err);
	if (r < 0) {
		state_done(state);
	}
	return r;
}

int state_cache(struct state *state, uid_t warden_id, char **ret, struct brig_error *err)
{
	if (mkdirat(state->dir, CACHE_DIR, 0700) < 0 && errno != EEXIST) {
		return error_errno(err, BRIG_E_INPUT, errno, "%s/" CACHE_DIR, state->path);
	}
	_cleanup_close_ int fd =
		openat(state->dir, CACHE_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchown(fd, warden_id, warden_id) < 0) {
		return error_errno(err, BRIG_E_INPUT, errno, "%s/" CACHE_DIR, state->path);
	}
	if (asprintf(ret, "%s/" CACHE_DIR, state->path) < 0) {
		*ret = NULL;
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "state directory");
	}
	return 0;
}

static void remove_files(int dir)
{
	int copy = dir < 0 ? -1 : openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;

	while (stream && (entry = readdir(stream))) {
		unlinkat(dir, entry->d_name, 0);
	}
	if (stream) {
		closedir(stream);
	} else {
		close_fd(&copy);
	}
}

void state_done(struct state *state)
{
	if (state->fleeting && state->path) {
		remove_files(state->ledger);
		if (state->dir >= 0) {
			unlinkat(state->dir, LEDGER_DIR, AT_REMOVEDIR);
		}
		remove_files(state->dir);
		rmdir(state->path);
	}
	close_fd(&state->ledger);
	close_fd(&state->lock);
	close_fd(&state->dir);
	free(state->path);
	state->path = NULL;
	state->fleeting = false;
}
