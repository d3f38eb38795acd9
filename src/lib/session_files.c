/*
 * Files of a session, while its code may be running: every name is resolved by the kernel beneath
 * the cell's own directory, without links, without other mounts, one open for one look. Where the
 * cell has an id of its own it is taken on for the moment: what the program may not do, or fill,
 * is not done for it either, and what is made is the program's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "base/path.h"
#include "base/write_all.h"
#include "core/walk.h"
#include "kernel/sys.h"
#include "lib/session.h"

#define LIST_MAX 10000

/*
 * As whom the files are touched: per thread, and given back at the end of the scope. Another id
 * costs a process the signal that it would get at its parent's death, and others of its user the
 * sight of it in /proc, which id maps of the next cells are written by: both are given back too.
 */
struct identity {
	bool taken;
	uid_t uid;
	gid_t gid;
	int dumpable, parent_signal;
};

static void identity_give_back(struct identity *identity)
{
	if (identity->taken) {
		setfsgid(identity->gid);
		setfsuid(identity->uid);
		(void)prctl(PR_SET_DUMPABLE, identity->dumpable, 0, 0, 0);
		(void)prctl(PR_SET_PDEATHSIG, identity->parent_signal, 0, 0, 0);
	}
}

static void identity_take(const struct brig_session *session, struct identity *identity)
{
	/* Of a clone the identity is its own, not its pool's. */
	const struct spec *spec = session->cell ? &session->cell->spec : &session->prepared.spec;

	if (spec->ranged) {
		identity->taken = true;
		identity->dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1;
		(void)prctl(PR_GET_PDEATHSIG, &identity->parent_signal, 0, 0, 0);
		identity->gid = (gid_t)setfsgid(spec->first_id + 1);
		identity->uid = (uid_t)setfsuid(spec->first_id + 1);
	}
}

static int check(const struct brig_session *session, const char *path, struct brig_error *err)
{
	const char *why = NULL;

	if (session->state == BRIG_SESSION_GONE || session->reason[0]) {
		return error_set(err, BRIG_E_INPUT, ESTALE, "the session is gone: %s",
				 session->reason);
	}
	if (!session->phase.run || session->phase.run->sandbox < 0) {
		return error_set(err, BRIG_E_INPUT, EAGAIN, "the session is still being opened");
	}
	if (path && !path_is_beneath(path, &why)) {
		int r = error_set(err, BRIG_E_INPUT, EINVAL, "file name %.200s is refused: %s",
				  path, why ? why : "it is no name");
		error_remedy(err, "use a plain relative name such as data/in.csv");
		return r;
	}
	return 0;
}

static int open_beneath(int dir, const char *path, int flags, mode_t mode)
{
	/* openat2 refuses flags that mean nothing. */
	int calm = flags & O_PATH ? 0 : O_NONBLOCK | O_NOCTTY;
	struct open_how how = {
		.flags = (uint64_t)(flags | O_NOFOLLOW | O_CLOEXEC | calm),
		.mode = mode,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
			   RESOLVE_NO_XDEV,
	};

	return sys_openat2(dir, path, &how);
}

static int refuse(struct brig_error *err, int r, const char *what, const char *path)
{
	static const struct {
		int errnum;
		const char *message;
	} known[] = {
		{ ENOENT, "there is no such file" },
		{ ELOOP, "there is a link on the way, and links are not followed" },
		{ EXDEV, "it lies outside of /sandbox" },
		{ ENXIO, "it is not a regular file" },
		{ EINVAL, "it is not a regular file" },
		{ ENOSPC, "the session's disk is full" },
		{ EDQUOT, "the session's disk is full" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (known[i].errnum == -r) {
			return error_set(err, BRIG_E_INPUT, -r, "cannot %s %s: %s", what, path,
					 known[i].message);
		}
	}
	return error_errno(err, BRIG_E_INPUT, -r, "cannot %s %s", what, path);
}

/* --- read ----------------------------------------------------------------------------------- */

static int read_up_to(int fd, size_t max, char **ret, size_t *ret_size)
{
	struct stat info;
	size_t size = 0;

	if (fstat(fd, &info) < 0) {
		return -errno;
	}
	if (!S_ISREG(info.st_mode)) {
		return -EINVAL;
	}
	if (info.st_size < 0 || (uint64_t)info.st_size > max) {
		return -EFBIG;
	}
	/* It may grow or shrink meanwhile: what it had when it was opened is the most. */
	size_t room = (size_t)info.st_size;
	_cleanup_free_ char *data = malloc(room + 1);
	while (data && size < room) {
		ssize_t n = pread(fd, data + size, room - size, (off_t)size);
		if (n < 0 && errno != EINTR) {
			return -errno;
		}
		if (n == 0) {
			break;
		}
		size += n > 0 ? (size_t)n : 0;
	}
	if (!data) {
		return -ENOMEM;
	}
	data[size] = '\0';
	*ret = TAKE_PTR(data);
	*ret_size = size;
	return 0;
}

int brig_session_get(struct brig_session *session, const char *path, size_t max, char **ret,
		     size_t *ret_size, struct brig_error *error)
{
	int r = check(session, path, error);

	if (r < 0) {
		return r;
	}
	_cleanup_(identity_give_back)
	struct identity identity = { 0 };
	identity_take(session, &identity);
	_cleanup_close_ int fd = open_beneath(session->phase.run->sandbox, path, O_RDONLY, 0);
	r = fd < 0 ? fd : read_up_to(fd, max, ret, ret_size);
	return r < 0 ? refuse(error, r, "read", path) : 0;
}

/* --- write ---------------------------------------------------------------------------------- */

/* The directory that a path's last part lies in, with those on the way made as needed. */
static int open_parent(int sandbox, const char *path, bool make, const char **ret_name)
{
	char part[256];
	int dir = sys_result(fcntl(sandbox, F_DUPFD_CLOEXEC, 3));

	for (const char *slash; dir >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
		size_t length = (size_t)(slash - path);
		memcpy(part, path, length); /* at most 255 bytes: path_is_beneath */
		part[length] = '\0';
		if (make && mkdirat(dir, part, 0755) < 0 && errno != EEXIST) {
			int r = -errno;
			close(dir);
			return r;
		}
		int next = open_beneath(dir, part, O_PATH | O_DIRECTORY, 0);
		close(dir);
		dir = next;
	}
	*ret_name = path;
	return dir;
}

/* What is there under the name may be replaced if it is a file; never a directory. */
static int check_target(int dir, const char *name)
{
	struct stat info;

	if (fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) < 0) {
		return errno == ENOENT ? 0 : -errno;
	}
	return S_ISREG(info.st_mode) ? 0 : -EINVAL;
}

/*
 * Under a name that nobody knows, then in one step under its own: whoever looks sees the old file
 * or the new one. rename() replaces a link that was planted meanwhile, it does not follow it.
 */
static int put(int dir, const char *name, const char *data, size_t size, bool executable)
{
	char temporary[40], id[27];
	int r = check_target(dir, name);

	if (r == 0) {
		r = id_make(id);
	}
	if (r < 0) {
		return r;
	}
	snprintf(temporary, sizeof(temporary), ".brig-%s", id);
	_cleanup_close_ int fd =
		open_beneath(dir, temporary, O_WRONLY | O_CREAT | O_EXCL, executable ? 0755 : 0644);
	if (fd < 0) {
		return fd;
	}
	r = write_all(fd, data, size);
	/* The caller's umask is not the program's. */
	if (r == 0 && fchmod(fd, executable ? 0755 : 0644) < 0) {
		r = -errno;
	}
	if (r == 0 && renameat(dir, temporary, dir, name) < 0) {
		r = -errno;
	}
	if (r < 0) {
		unlinkat(dir, temporary, 0);
	}
	return r;
}

int brig_session_put(struct brig_session *session, const char *path, const void *data, size_t size,
		     bool executable, struct brig_error *error)
{
	const char *name = NULL;
	int r = check(session, path, error);

	if (r < 0) {
		return r;
	}
	const struct prepared *p = &session->prepared;
	if (size > p->policy->files_in_bytes || size > p->spec.limits.file_bytes) {
		return error_set(error, BRIG_E_INPUT, EFBIG,
				 "%s is larger than a file of the session may be", path);
	}
	_cleanup_(identity_give_back)
	struct identity identity = { 0 };
	identity_take(session, &identity);
	_cleanup_close_ int dir = open_parent(session->phase.run->sandbox, path, true, &name);
	r = dir < 0 ? dir : put(dir, name, data, size, executable);
	return r < 0 ? refuse(error, r, "write", path) : 0;
}

int brig_session_delete(struct brig_session *session, const char *path, struct brig_error *error)
{
	const char *name = NULL;
	int r = check(session, path, error);

	if (r < 0) {
		return r;
	}
	_cleanup_(identity_give_back)
	struct identity identity = { 0 };
	identity_take(session, &identity);
	_cleanup_close_ int dir = open_parent(session->phase.run->sandbox, path, false, &name);
	r = dir < 0 ? dir : 0;
	if (r == 0 && unlinkat(dir, name, 0) < 0) {
		r = -errno;
		if (r == -EISDIR || r == -EPERM) {
			r = unlinkat(dir, name, AT_REMOVEDIR) < 0 ? -errno : 0;
		}
	}
	return r < 0 ? refuse(error, r, "delete", path) : 0;
}

/* --- list ----------------------------------------------------------------------------------- */

struct listing {
	struct brig_session_file *files;
	size_t count, seen;
	bool truncated;
};

static int list_entry(void *user, const struct walk_entry *entry)
{
	struct listing *list = user;

	if (++list->seen > LIST_MAX) {
		list->truncated = true;
		return 1;
	}
	if (!S_ISREG(entry->stat->st_mode)) {
		return 0;
	}
	if ((list->count & (list->count - 1)) == 0) {
		size_t room = list->count ? 2 * list->count : 1;
		struct brig_session_file *files = realloc(list->files, room * sizeof(*files));
		if (!files) {
			return -ENOMEM;
		}
		list->files = files;
	}
	char *path = strdup(entry->path);
	if (!path) {
		return -ENOMEM;
	}
	list->files[list->count++] = (struct brig_session_file){
		.path = path,
		.size = (uint64_t)entry->stat->st_size,
		.modified_ns = (uint64_t)entry->stat->st_mtim.tv_sec * 1000000000u +
			       (uint64_t)entry->stat->st_mtim.tv_nsec,
		.executable = (entry->stat->st_mode & 0100) != 0,
	};
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct brig_session_file *)a)->path,
		      ((const struct brig_session_file *)b)->path);
}

int brig_session_list(struct brig_session *session, struct brig_session_file **ret,
		      size_t *ret_count, bool *truncated, struct brig_error *error)
{
	struct listing list = { 0 };
	struct walk_report report;
	int r = check(session, NULL, error);

	if (r < 0) {
		return r;
	}
	_cleanup_(identity_give_back)
	struct identity identity = { 0 };
	identity_take(session, &identity);
	r = walk_tree(session->phase.run->sandbox, list_entry, &list, &report);
	if (r < 0) {
		brig_session_files_free(list.files, list.count);
		return error_errno(error, BRIG_E_SYSTEM, -r, "cannot list the session's files");
	}
	if (list.count) {
		qsort(list.files, list.count, sizeof(*list.files), by_path);
	}
	if (truncated) {
		*truncated = list.truncated || report.too_many;
	}
	*ret = list.files;
	*ret_count = list.count;
	return 0;
}

void brig_session_files_free(struct brig_session_file *files, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(files[i].path);
	}
	free(files);
}
