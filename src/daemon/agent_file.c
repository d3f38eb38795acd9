/* SPDX-License-Identifier: Apache-2.0 */
/* The agent as a file of the host, in brig's cache: an operator's image does not have it. */
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

static int fail(const char *path, int errnum, struct brig_error *err)
{
	int r = error_errno(err, BRIG_E_HOST, errnum, "cannot make the agent's file %s", path);

	error_remedy(err, "make its directory writable for brig alone; or set XDG_CACHE_HOME");
	return r;
}

/* Nobody else can have changed it. */
static bool is_ours(const char *path)
{
	struct stat info;

	return lstat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
	       (info.st_mode & 022) == 0 && (uint64_t)info.st_size == agent_image_size;
}

/* Written apart and renamed, so that it is complete wherever it is. */
static int write_file(const char *path, struct brig_error *err)
{
	char part[4096];

	snprintf(part, sizeof(part), "%s.%ld", path, (long)getpid());
	unlink(part);
	_cleanup_close_ int fd =
		open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0555);
	int r = fd < 0 ? -errno : write_all(fd, agent_image, agent_image_size);
	if (r == 0 && (fchmod(fd, 0555) < 0 || rename(part, path) < 0)) {
		r = -errno;
	}
	if (r < 0) {
		unlink(part);
		return fail(path, -r, err);
	}
	return 0;
}

int agent_file_make(const struct spec *spec, char **ret_path, struct brig_error *err)
{
	struct sha256 hash;
	char hex[SHA256_HEX_SIZE];
	struct buf path = { 0 };

	if (!spec->cache_dir) {
		return fail("agent", ENOENT, err);
	}
	sha256_init(&hash);
	sha256_add(&hash, agent_image, agent_image_size);
	sha256_hex(&hash, hex);
	buf_addf(&path, "%s/agent-%.*s", spec->cache_dir, HEX_OF_NAME, hex);
	*ret_path = buf_take(&path);
	if (!*ret_path) {
		return fail("agent", ENOMEM, err);
	}
	return is_ours(*ret_path) ? 0 : write_file(*ret_path, err);
}
