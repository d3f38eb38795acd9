/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's library: see wasm.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes/sha256.h"
#include "base/cleanup.h"
#include "broker_client/broker_client.h"
#include "wasm/wasm.h"

#define INSTALL "install it with scripts/get-wasmtime.sh, or name it in the policy's wasm.engine"

/* Of the wheel `wasmtime` for x86_64: scripts/get-wasmtime.sh has the hash of the wheel. */
const char wasm_engine_version[] = "50.0.1";
const char wasm_engine_sha256[] =
	"3127ca42fe7cdd3f0a43a358e79177dcfedd46c1746329826403b9d854de6178";

/* A file of another size is refused unread; one of this size is hashed once, and remembered. */
#define ENGINE_BYTES 29673400

static const char *const places[] = {
	"/usr/local/lib/brig/wasm/libwasmtime.so",
	"/usr/lib/brig/wasm/libwasmtime.so",
};

bool wasm_file_trusted(const struct broker *broker, const char *path, mode_t kind)
{
	struct stat info;
	_cleanup_close_ int fd =
		open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);

	return fd >= 0 && fstat(fd, &info) == 0 && (info.st_mode & S_IFMT) == kind &&
	       !(info.st_mode & 022) && owner_trusted(broker, fd, &info);
}

bool wasm_above_trusted(const struct broker *broker, const char *path, char dir[PATH_MAX])
{
	snprintf(dir, PATH_MAX, "%s", path);
	for (char *slash = strrchr(dir, '/'); slash; slash = strrchr(dir, '/')) {
		*slash = '\0';
		const char *name = dir[0] ? dir : "/";
		struct stat info;
		_cleanup_close_ int fd = open(name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
		/* With the sticky bit others can add files, and not replace those of ours. */
		bool ours = fd >= 0 && fstat(fd, &info) == 0 &&
			    (!(info.st_mode & 022) || (info.st_mode & S_ISVTX)) &&
			    owner_trusted(broker, fd, &info);
		if (!ours) {
			dir[1] = dir[0] ? dir[1] : '\0';
			dir[0] = '/';
			return false;
		}
	}
	return true;
}

static int refuse_above(const char *path, const char *dir, struct brig_error *err)
{
	int r = error_set(
		err, BRIG_E_HOST, EPERM,
		"the engine for WebAssembly, %.200s, is in a directory that other users can "
		"write to: %.200s",
		path, dir);

	error_remedy(err,
		     "chown that directory to root, and chmod go-w it; or install the engine in "
		     "another place with scripts/get-wasmtime.sh");
	return r;
}

int wasm_engine_trust(const struct broker *broker, const char *path, struct brig_error *err)
{
	char dir[PATH_MAX];

	if (!wasm_above_trusted(broker, path, dir)) {
		return refuse_above(path, dir, err);
	}
	if (wasm_file_trusted(broker, path, S_IFREG)) {
		return 0;
	}
	int r = error_set(err, BRIG_E_HOST, EPERM,
			  "the engine for WebAssembly, %.200s, is not a file that only root or you "
			  "can write to",
			  path);
	error_remedy(err, "chown it to root, and chmod go-w it");
	return r;
}

static int take(const char *from, char path[PATH_MAX], struct brig_error *err)
{
	if (from[0] != '/' || !realpath(from, path)) {
		int r = error_set(err, BRIG_E_HOST, ENOENT,
				  "the engine for WebAssembly is not at %.200s", from);
		error_remedy(err, INSTALL);
		return r;
	}
	return 0;
}

int wasm_engine_find(const char *setting, char path[PATH_MAX], struct brig_error *err)
{
	const char *from = setting ? setting : secure_getenv("BRIG_WASM_ENGINE");
	const char *home = secure_getenv("HOME");
	char own[PATH_MAX] = "";

	if (from && from[0]) {
		return take(from, path, err);
	}
	if (home && home[0] == '/') {
		snprintf(own, sizeof(own), "%s/.local/share/brig/wasm/libwasmtime.so", home);
	}
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (access(places[i], F_OK) == 0) {
			return take(places[i], path, err);
		}
	}
	if (own[0] && access(own, F_OK) == 0) {
		return take(own, path, err);
	}
	int r = error_set(err, BRIG_E_HOST, ENOENT,
			  "the engine for WebAssembly is not installed: %s not found", places[1]);
	error_remedy(err, INSTALL);
	return r;
}

int wasm_engine_check(const char *path, struct brig_error *err)
{
	char hex[SHA256_HEX_SIZE];
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat info;

	if (fd < 0 || fstat(fd, &info) < 0) {
		return error_errno(err, BRIG_E_HOST, errno, "cannot read %.200s", path);
	}
	bool sized = S_ISREG(info.st_mode) && info.st_size == ENGINE_BYTES;
	int64_t n = sized ? sha256_fd(fd, hex) : 0;
	if (n < 0) {
		return error_errno(err, BRIG_E_HOST, (int)-n, "cannot read %.200s", path);
	}
	if (sized && strcmp(hex, wasm_engine_sha256) == 0) {
		return 0;
	}
	int r = error_set(err, BRIG_E_HOST, ENOTSUP,
			  "%.200s is not the engine that brig supports: wasmtime %s for x86_64",
			  path, wasm_engine_version);
	error_remedy(err, "install that version with scripts/get-wasmtime.sh");
	return r;
}
