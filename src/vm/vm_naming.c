/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name of an image: a hash of the plan of the cell's root, and of the identity (path, size,
 * times, inode) of each file in it. A language has up to some hundred thousand files, and the
 * warden does other work meanwhile: a turn takes a few of them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "framed/agent_image.h"
#include "vm/vm.h"

#define ENTRIES_MAX 500000u
/* The first of the two ends a turn: a file may have to be read from a disk. */
#define ENTRIES_A_TURN 1000u
#define TURN_NS        2000000u

void vm_hash_stat(struct sha256 *hash, const struct stat *info)
{
	const uint64_t facts[] = { info->st_dev,
				   info->st_ino,
				   info->st_mode,
				   (uint64_t)info->st_size,
				   (uint64_t)info->st_mtim.tv_sec,
				   (uint64_t)info->st_mtim.tv_nsec,
				   (uint64_t)info->st_ctim.tv_sec,
				   (uint64_t)info->st_ctim.tv_nsec };

	sha256_add_field(hash, facts, sizeof(facts));
}

static void add_text(struct sha256 *hash, const char *text)
{
	sha256_add_field(hash, text, strlen(text));
}

void vm_naming_begin(struct vm_naming *naming, const struct plan *plan)
{
	*naming = (struct vm_naming){ .plan = plan, .left = ENTRIES_MAX };
	sha256_init(&naming->hash);
	add_text(&naming->hash, "image 1");
	sha256_add_field(&naming->hash, agent_image, agent_image_size);
}

void vm_naming_done(struct vm_naming *naming)
{
	while (naming->depth > 0) {
		closedir(naming->dirs[--naming->depth]);
	}
}

static int enter(struct vm_naming *naming, int parent, const char *name)
{
	if (naming->depth == VM_NAMING_DEPTH) {
		return -E2BIG;
	}
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		int r = -errno;
		if (fd >= 0) {
			close(fd);
		}
		return r;
	}
	naming->dirs[naming->depth++] = dir;
	return 0;
}

static int add_entry(struct vm_naming *naming, int parent, const char *name)
{
	struct stat info;

	if (fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) < 0) {
		return errno == ENOENT ? 0 : -errno;
	}
	if (naming->left-- == 0) {
		return -E2BIG;
	}
	add_text(&naming->hash, name);
	vm_hash_stat(&naming->hash, &info);
	naming->bytes += S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
	if (naming->bytes > VM_IMAGE_BYTES_MAX) {
		return -EFBIG;
	}
	return S_ISDIR(info.st_mode) ? enter(naming, parent, name) : 0;
}

/*
 * The order of a directory's entries is the file system's, which is the same as long as the
 * directory is: another order makes another image, and never the wrong one.
 */
static int next_entry(struct vm_naming *naming)
{
	DIR *dir = naming->dirs[naming->depth - 1];
	const struct dirent *entry = readdir(dir);

	if (!entry) {
		closedir(dir);
		naming->depth--;
		return 0;
	}
	if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
		return 0;
	}
	return add_entry(naming, dirfd(dir), entry->d_name);
}

static int add_step(struct vm_naming *naming, const struct step *step)
{
	uint64_t kind = step->kind;

	switch (step->kind) {
	case STEP_DIR:
		sha256_add_field(&naming->hash, &kind, sizeof(kind));
		add_text(&naming->hash, step->dir.target);
		return 0;
	case STEP_LINK:
		sha256_add_field(&naming->hash, &kind, sizeof(kind));
		add_text(&naming->hash, step->link.path);
		add_text(&naming->hash, step->link.to);
		return 0;
	case STEP_FILE:
		sha256_add_field(&naming->hash, &kind, sizeof(kind));
		add_text(&naming->hash, step->file.target);
		sha256_add_field(&naming->hash, step->file.data, step->file.size);
		return 0;
	case STEP_BIND:
		sha256_add_field(&naming->hash, &kind, sizeof(kind));
		add_text(&naming->hash, step->bind.target);
		return add_entry(naming, AT_FDCWD, step->bind.source);
	default:
		return 0;
	}
}

static int failed(int r, struct brig_error *err)
{
	if (r == -EFBIG || r == -E2BIG) {
		error_set(err, BRIG_E_HOST, -r,
			  "the files of the cell's root are too many for an image: more than %s",
			  r == -EFBIG ? "4 GiB" : "500000, or 64 directories deep");
		error_remedy(err, "run a language instead of a program of the host, or list fewer "
				  "files in the closure of its runtime file");
		return r;
	}
	r = error_errno(err, BRIG_E_HOST, -r, "cannot read the files of the language");
	error_remedy(err, "make them readable; or use another provider");
	return r;
}

int vm_naming_turn(struct vm_naming *naming, char ret[VM_NAME_MAX], struct brig_error *err)
{
	const uint64_t end_ns = clock_now_ns() + TURN_NS;
	char hex[SHA256_HEX_SIZE];

	for (unsigned i = 0; i < ENTRIES_A_TURN && clock_now_ns() < end_ns; i++) {
		if (naming->depth == 0 && naming->step == naming->plan->count) {
			sha256_hex(&naming->hash, hex);
			snprintf(ret, VM_NAME_MAX, "root-%.*s", VM_HASH_CHARS, hex);
			return 1;
		}
		int r = naming->depth > 0 ? next_entry(naming)
					  : add_step(naming, &naming->plan->steps[naming->step++]);
		if (r < 0) {
			return failed(r, err);
		}
	}
	return 0;
}
