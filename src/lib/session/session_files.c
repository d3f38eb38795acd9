/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of a session, while its code may be running: every name is resolved by the kernel beneath
 * the cell's own directory, without links, without other mounts, and opened once. If the cell has
 * an id of its own, the files are accessed with that id: the permissions and limits of the program
 * apply, and new files belong to it.
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
#include "base/files/path.h"
#include "base/files/write_all.h"
#include "base/id.h"
#include "kernel/sys.h"
#include "lib/session/session.h"
#include "lib/session/session_files.h"

void file_identity_give_back(struct file_identity *identity)
{
	if (identity->taken) {
		setfsgid(identity->gid);
		setfsuid(identity->uid);
		(void)prctl(PR_SET_DUMPABLE, identity->dumpable, 0, 0, 0);
		(void)prctl(PR_SET_PDEATHSIG, identity->parent_signal, 0, 0, 0);
	}
}

uint32_t session_file_owner(const struct brig_session *session)
{
	/* A clone has its own identity, not that of its pool. */
	const struct spec *spec = session->cell ? &session->cell->spec : &session->prepared.spec;

	return spec->ranged ? spec->first_id + 1 : 0;
}

void file_identity_take(uint32_t owner, struct file_identity *identity)
{
	if (owner) {
		identity->taken = true;
		identity->dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1;
		(void)prctl(PR_GET_PDEATHSIG, &identity->parent_signal, 0, 0, 0);
		identity->gid = (gid_t)setfsgid(owner);
		identity->uid = (uid_t)setfsuid(owner);
	}
}

int session_file_check_name(const char *path, struct brig_error *err)
{
	const char *why = NULL;

	if (path_is_beneath(path, &why)) {
		return 0;
	}
	int r = error_set(err, BRIG_E_INPUT, EINVAL, "file name %.200s is refused: %s", path,
			  why ? why : "not a valid name");
	error_remedy(err, "use a plain relative name such as data/in.csv");
	return r;
}

int session_file_check_reach(const struct brig_session *session, struct brig_error *err)
{
	const struct provider *provider = session->prepared.spec.provider;

	if (!provider || !provider->keeps_files) {
		return 0;
	}
	int r = error_set(
		err, BRIG_E_INPUT, EOPNOTSUPP,
		"provider %s keeps the files of a session: they cannot be read or written",
		provider->name);
	error_remedy(err,
		     "give files when the session is opened, and print results; or use "
		     "provider \"%s\"",
		     providers[0]->name);
	return r;
}

int session_file_check(const struct brig_session *session, const char *path, struct brig_error *err)
{
	if (session->state == SESSION_GONE || session->reason[0]) {
		return error_set(err, BRIG_E_INPUT, ESTALE, "the session is gone: %s",
				 session->reason);
	}
	int r = session_file_check_reach(session, err);
	if (r < 0) {
		return r;
	}
	if (!session->phase.run || session->phase.run->sandbox < 0) {
		return error_set(err, BRIG_E_INPUT, EAGAIN, "the session is still being opened");
	}
	return path ? session_file_check_name(path, err) : 0;
}

static int open_beneath(int dir, const char *path, int flags, mode_t mode)
{
	/* openat2 rejects flags that have no effect. */
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
		{ ENOENT, "file not found" },
		{ ELOOP, "the path contains a link, and links are not followed" },
		{ EXDEV, "it is outside of /sandbox" },
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

static int open_regular(int sandbox, const char *path, size_t max, int *ret_fd, size_t *ret_size)
{
	_cleanup_close_ int fd = open_beneath(sandbox, path, O_RDONLY, 0);
	struct stat info;

	if (fd < 0) {
		return fd;
	}
	if (fstat(fd, &info) < 0) {
		return -errno;
	}
	if (!S_ISREG(info.st_mode)) {
		return -EINVAL;
	}
	if (info.st_size < 0 || (uint64_t)info.st_size > max) {
		return -EFBIG;
	}
	*ret_size = (size_t)info.st_size;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int session_file_open(struct brig_session *session, const char *path, size_t max, int *ret_fd,
		      size_t *ret_size, struct brig_error *err)
{
	int r = session_file_check(session, path, err);

	if (r < 0) {
		return r;
	}
	_cleanup_(file_identity_give_back)
	struct file_identity identity = { 0 };
	file_identity_take(session_file_owner(session), &identity);
	r = open_regular(session->phase.run->sandbox, path, max, ret_fd, ret_size);
	return r < 0 ? refuse(err, r, "read", path) : 0;
}

/* It may grow or shrink meanwhile: at most its size at the open is read. */
static int read_up_to(int fd, size_t room, char **ret, size_t *ret_size)
{
	_cleanup_free_ char *data = malloc(room + 1);
	size_t size = 0;

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
	_cleanup_(run_section_leave)
	struct run_section section;
	_cleanup_close_ int fd = -1;
	size_t room = 0;

	run_section_enter(session->phase.run, &section);
	int r = session_file_open(session, path, max, &fd, &room, error);

	if (r < 0) {
		return r;
	}
	r = read_up_to(fd, room, ret, ret_size);
	return r < 0 ? refuse(error, r, "read", path) : 0;
}

/* --- write ---------------------------------------------------------------------------------- */

/* Opens the parent directory of a path, and with `make` creates missing directories. */
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

/* An existing file may be replaced; anything else, such as a directory, may not. */
static int check_target(int dir, const char *name)
{
	struct stat info;

	if (fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) < 0) {
		return errno == ENOENT ? 0 : -errno;
	}
	return S_ISREG(info.st_mode) ? 0 : -EINVAL;
}

/* Creates the file under a random temporary name. */
static int begin_put(struct session_upload *upload)
{
	mode_t mode = upload->executable ? 0755 : 0644;
	char id[27];
	int r = check_target(upload->dir, upload->name);

	if (r < 0) {
		return r;
	}
	r = id_make(id);
	if (r < 0) {
		return r;
	}
	snprintf(upload->temporary, sizeof(upload->temporary), ".brig-%s", id);
	upload->fd =
		open_beneath(upload->dir, upload->temporary, O_WRONLY | O_CREAT | O_EXCL, mode);
	return upload->fd < 0 ? upload->fd : 0;
}

int session_upload_begin(struct brig_session *session, const char *path, size_t size,
			 bool executable, struct session_upload *ret, struct brig_error *err)
{
	const struct prepared *p = &session->prepared;

	if (size > p->policy->files_in_bytes || size > p->spec.limits.file_bytes) {
		int r = session_file_check(session, path, err);
		return r < 0 ? r
			     : error_set(err, BRIG_E_INPUT, EFBIG,
					 "%s is larger than a file of the session may be", path);
	}
	return session_upload_open(session, path, executable, ret, err);
}

int session_upload_open(struct brig_session *session, const char *path, bool executable,
			struct session_upload *ret, struct brig_error *err)
{
	const char *name = NULL;
	int r = session_file_check(session, path, err);

	if (r < 0) {
		return r;
	}
	struct session_upload upload = { .owner = session_file_owner(session),
					 .fd = -1,
					 .executable = executable };
	_cleanup_(file_identity_give_back)
	struct file_identity identity = { 0 };
	file_identity_take(upload.owner, &identity);
	upload.dir = open_parent(session->phase.run->sandbox, path, true, &name);
	r = upload.dir < 0 ? upload.dir : 0;
	if (r == 0) {
		snprintf(upload.name, sizeof(upload.name), "%s", name); /* 255 bytes at most */
		r = begin_put(&upload);
	}
	if (r < 0) {
		close_fd(&upload.dir);
		return refuse(err, r, "write", path);
	}
	*ret = upload;
	return 0;
}

/*
 * Renames the file in one step: a reader sees the old file or the new one. rename() replaces a link
 * that was made meanwhile, and does not follow it.
 */
int session_upload_end(struct session_upload *upload, const char *path, struct brig_error *err)
{
	_cleanup_(file_identity_give_back)
	struct file_identity identity = { 0 };
	file_identity_take(upload->owner, &identity);
	/* The caller's umask must not apply to the program's files. */
	if (fchmod(upload->fd, upload->executable ? 0755 : 0644) < 0 ||
	    renameat(upload->dir, upload->temporary, upload->dir, upload->name) < 0) {
		return refuse(err, -errno, "write", path);
	}
	upload->temporary[0] = '\0';
	return 0;
}

int session_upload_failed(int r, const char *path, struct brig_error *err)
{
	return refuse(err, r, "write", path);
}

void session_upload_done(struct session_upload *upload)
{
	if (upload->fd >= 0 && upload->temporary[0]) {
		_cleanup_(file_identity_give_back)
		struct file_identity identity = { 0 };
		file_identity_take(upload->owner, &identity);
		unlinkat(upload->dir, upload->temporary, 0);
	}
	close_fd(&upload->fd);
	close_fd(&upload->dir);
}

int brig_session_put(struct brig_session *session, const char *path, const void *data, size_t size,
		     bool executable, struct brig_error *error)
{
	_cleanup_(run_section_leave)
	struct run_section section;

	run_section_enter(session->phase.run, &section);
	_cleanup_(session_upload_done)
	struct session_upload upload = { .fd = -1, .dir = -1 };
	int r = session_upload_begin(session, path, size, executable, &upload, error);

	if (r < 0) {
		return r;
	}
	r = write_all(upload.fd, data, size);
	return r < 0 ? session_upload_failed(r, path, error)
		     : session_upload_end(&upload, path, error);
}

int brig_session_delete(struct brig_session *session, const char *path, struct brig_error *error)
{
	const char *name = NULL;
	int r = session_file_check(session, path, error);

	if (r < 0) {
		return r;
	}
	_cleanup_(run_section_leave)
	struct run_section section;
	run_section_enter(session->phase.run, &section);
	_cleanup_(file_identity_give_back)
	struct file_identity identity = { 0 };
	file_identity_take(session_file_owner(session), &identity);
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
