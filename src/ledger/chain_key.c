/* SPDX-License-Identifier: Apache-2.0 */
/* The signing key and the head file: see chain_key.h. */
#include "ledger/chain_key.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium/core.h>
#include <sodium/crypto_sign.h>
#include <sodium/randombytes.h>
#include <sodium/utils.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/write_all.h"

#define NEW_SUFFIX ".new"

long chain_file_read(int dir, const char *name, char *data, size_t size)
{
	struct stat info;
	size_t done = 0;
	_cleanup_close_ int fd =
		openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &info) < 0) {
		return -errno;
	}
	if (!S_ISREG(info.st_mode)) {
		return -EINVAL;
	}
	while (done < size) {
		ssize_t n = read(fd, data + done, size - done);
		if (n < 0 && errno != EINTR) {
			return -errno;
		}
		if (n == 0) {
			break;
		}
		done += n < 0 ? 0 : (size_t)n;
	}
	return (long)done;
}

static int write_and_sync(int fd, const char *data, size_t size)
{
	int r = write_all(fd, data, size);

	return r < 0 ? r : fsync(fd) < 0 ? -errno : 0;
}

/* Complete or not at all. No other process writes here: the ledger has locked the directory. */
static int replace_file(int dir, const char *name, const char *data, size_t size)
{
	char temporary[64];

	(void)snprintf(temporary, sizeof(temporary), "%s" NEW_SUFFIX, name);
	if (unlinkat(dir, temporary, 0) < 0 && errno != ENOENT) {
		return -errno;
	}
	_cleanup_close_ int fd =
		openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		return -errno;
	}
	int r = write_and_sync(fd, data, size);
	if (r == 0 && renameat(dir, temporary, dir, name) < 0) {
		r = -errno;
	}
	if (r < 0) {
		unlinkat(dir, temporary, 0);
		return r;
	}
	/* Where directories cannot be synced (some FUSE) a power failure may lose the name. */
	(void)!fsync(dir);
	return 0;
}

bool chain_public_parse(const char *text, size_t size, unsigned char public[CHAIN_KEY_SIZE])
{
	size -= size > 0 && text[size - 1] == '\n';
	return chain_unhex(text, size, public, CHAIN_KEY_SIZE);
}

static int write_hex(int dir, const char *name, const unsigned char data[CHAIN_KEY_SIZE],
		     struct brig_error *error)
{
	char text[2 * CHAIN_KEY_SIZE + 2];

	chain_hex(data, CHAIN_KEY_SIZE, text);
	text[2 * CHAIN_KEY_SIZE] = '\n';
	int r = replace_file(dir, name, text, 2 * CHAIN_KEY_SIZE + 1);
	sodium_memzero(text, sizeof(text));
	return r < 0 ? error_errno(error, BRIG_E_SYSTEM, -r, "cannot write %s", name) : 0;
}

static int make_seed(int dir, unsigned char seed[CHAIN_KEY_SIZE], struct brig_error *error)
{
	randombytes_buf(seed, CHAIN_KEY_SIZE);
	return write_hex(dir, CHAIN_KEY_NAME, seed, error);
}

static int read_seed(int dir, bool make, unsigned char seed[CHAIN_KEY_SIZE],
		     struct brig_error *error)
{
	char text[2 * CHAIN_KEY_SIZE + 2];
	long size = chain_file_read(dir, CHAIN_KEY_NAME, text, sizeof(text));

	if (size == -ENOENT && make) {
		return make_seed(dir, seed, error);
	}
	if (size < 0) {
		return error_errno(error, BRIG_E_SYSTEM, (int)-size, "cannot read %s",
				   CHAIN_KEY_NAME);
	}
	bool good = chain_public_parse(text, (size_t)size, seed);
	sodium_memzero(text, sizeof(text));
	if (!good) {
		error_set(error, BRIG_E_SYSTEM, EBADMSG, "%s is damaged: it must be %d hex digits",
			  CHAIN_KEY_NAME, 2 * CHAIN_KEY_SIZE);
		error_remedy(error, "restore the file from a copy");
		return -EBADMSG;
	}
	return 0;
}

int chain_key_load(int dir, bool make, struct chain_key *ret, struct brig_error *error)
{
	unsigned char seed[CHAIN_KEY_SIZE];
	char text[2 * CHAIN_KEY_SIZE + 2];
	unsigned char public[CHAIN_KEY_SIZE];

	if (sodium_init() < 0) {
		return error_set(error, BRIG_E_SYSTEM, ENOSYS, "cannot initialise libsodium");
	}
	int r = read_seed(dir, make, seed, error);
	if (r < 0) {
		return r;
	}
	crypto_sign_seed_keypair(ret->public, ret->secret, seed);
	sodium_memzero(seed, sizeof(seed));
	long size = chain_file_read(dir, CHAIN_PUBLIC_NAME, text, sizeof(text));
	if (size > 0 && chain_public_parse(text, (size_t)size, public) &&
	    memcmp(public, ret->public, CHAIN_KEY_SIZE) == 0) {
		return 0;
	}
	return write_hex(dir, CHAIN_PUBLIC_NAME, ret->public, error);
}

int chain_head_read(int dir, struct chain_checkpoint *ret, struct brig_error *error)
{
	char line[CHAIN_LINE_MAX + 2];
	long size = chain_file_read(dir, CHAIN_HEAD_NAME, line, sizeof(line));

	if (size == -ENOENT) {
		return 0;
	}
	if (size < 0) {
		return error_errno(error, BRIG_E_SYSTEM, (int)-size, "cannot read %s",
				   CHAIN_HEAD_NAME);
	}
	if (!chain_line_parse(line, (size_t)size, ret)) {
		return error_set(error, BRIG_E_SYSTEM, EBADMSG,
				 "%s is damaged: it is not a checkpoint", CHAIN_HEAD_NAME);
	}
	return 1;
}

int chain_head_write(int dir, const struct chain_checkpoint *checkpoint, struct brig_error *error)
{
	char line[CHAIN_LINE_MAX + 1];

	chain_line(checkpoint, line);
	size_t length = strlen(line);
	line[length] = '\n'; /* in place of the NUL: it is written by its length */
	int r = replace_file(dir, CHAIN_HEAD_NAME, line, length + 1);
	return r < 0 ? error_errno(error, BRIG_E_SYSTEM, -r, "cannot write %s", CHAIN_HEAD_NAME)
		     : 0;
}
