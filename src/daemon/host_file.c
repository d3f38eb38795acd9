/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of brig's own that the daemon binds, in brig's cache: the agent, which an operator's image
 * does not have; and the names of hosts, where a daemon would give its own file, or the host's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes/sha256.h"
#include "base/cleanup.h"
#include "base/files/write_all.h"
#include "daemon/daemon.h"
#include "framed/agent_image.h"

#define HEX_OF_NAME 40

struct host_file {
	const char *name; /* before its hash */
	const void *data;
	uint64_t size;
	mode_t mode;
};

static int fail(const char *path, int errnum, struct brig_error *err)
{
	int r = error_errno(err, BRIG_E_HOST, errnum, "cannot make the file %s", path);

	error_remedy(err, "make its directory writable for brig alone; or set XDG_CACHE_HOME");
	return r;
}

/* Nobody else can have changed it. */
static bool is_ours(const char *path, const struct host_file *file)
{
	struct stat info;

	return lstat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
	       (info.st_mode & 022) == 0 && (uint64_t)info.st_size == file->size;
}

/* Written apart and renamed, so that it is complete wherever it is. */
static int write_file(const char *path, const struct host_file *file, struct brig_error *err)
{
	char part[4096];

	snprintf(part, sizeof(part), "%s.%ld", path, (long)getpid());
	unlink(part);
	_cleanup_close_ int fd =
		open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, file->mode);
	int r = fd < 0 ? -errno : write_all(fd, file->data, file->size);
	if (r == 0 && (fchmod(fd, file->mode) < 0 || rename(part, path) < 0)) {
		r = -errno;
	}
	if (r < 0) {
		unlink(part);
		return fail(path, -r, err);
	}
	return 0;
}

static int make_file(const struct spec *spec, const struct host_file *file, char **ret_path,
		     struct brig_error *err)
{
	struct sha256 hash;
	char hex[SHA256_HEX_SIZE];
	struct buf path = { 0 };

	if (!spec->cache_dir) {
		return fail(file->name, ENOENT, err);
	}
	sha256_init(&hash);
	sha256_add(&hash, file->data, file->size);
	sha256_hex(&hash, hex);
	buf_addf(&path, "%s/%s-%.*s", spec->cache_dir, file->name, HEX_OF_NAME, hex);
	*ret_path = buf_take(&path);
	if (!*ret_path) {
		return fail(file->name, ENOMEM, err);
	}
	return is_ours(*ret_path, file) ? 0 : write_file(*ret_path, file, err);
}

int agent_file_make(const struct spec *spec, char **ret_path, struct brig_error *err)
{
	const struct host_file file = { "agent", agent_image, agent_image_size, 0555 };

	return make_file(spec, &file, ret_path, err);
}

int names_file_make(const struct spec *spec, char **ret_path, struct brig_error *err)
{
	const struct host_file file = { "hosts", PLAN_HOSTS, sizeof(PLAN_HOSTS) - 1, 0444 };

	return make_file(spec, &file, ret_path, err);
}
