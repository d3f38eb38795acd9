/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of images and states: hashes of everything that they depend on. A file of the host
 * counts by its identity (path, size, times, inode), not by its content.
 */
#include <cpuid.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "framed/agent_image.h"
#include "vm/vm.h"

#define ENTRIES_MAX 500000u
#define DEPTH_MAX   64
#define HASH_CHARS  40

static void add_text(struct sha256 *hash, const char *text)
{
	sha256_add_field(hash, text, strlen(text));
}

static void add_stat(struct sha256 *hash, const struct stat *info)
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

static int add_path(struct sha256 *hash, const char *path)
{
	struct stat info;

	if (stat(path, &info) < 0) {
		return -errno;
	}
	add_text(hash, path);
	add_stat(hash, &info);
	return 0;
}

/* --- the image -------------------------------------------------------------------------------- */

struct tree {
	struct sha256 hash;
	unsigned left; /* entries that may still come */
};

/*
 * The order of a directory's entries is the file system's, which is the same as long as the
 * directory is: another order makes another image, and never the wrong one.
 */
static int add_tree(struct tree *tree, int parent, const char *name, unsigned depth)
{
	struct stat info;

	if (fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) < 0) {
		return errno == ENOENT ? 0 : -errno;
	}
	if (tree->left-- == 0 || depth == DEPTH_MAX) {
		return -E2BIG;
	}
	add_text(&tree->hash, name);
	add_stat(&tree->hash, &info);
	if (!S_ISDIR(info.st_mode)) {
		return 0;
	}
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		return -errno;
	}
	DIR *dir = fdopendir(fd);
	if (!dir) {
		int r = -errno;
		close(fd);
		return r;
	}
	int r = 0;
	for (struct dirent *entry; r == 0 && (entry = readdir(dir));) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
			r = add_tree(tree, dirfd(dir), entry->d_name, depth + 1);
		}
	}
	closedir(dir);
	return r;
}

static int add_step(struct tree *tree, const struct step *step)
{
	uint64_t kind = step->kind;

	switch (step->kind) {
	case STEP_DIR:
		sha256_add_field(&tree->hash, &kind, sizeof(kind));
		add_text(&tree->hash, step->dir.target);
		return 0;
	case STEP_LINK:
		sha256_add_field(&tree->hash, &kind, sizeof(kind));
		add_text(&tree->hash, step->link.path);
		add_text(&tree->hash, step->link.to);
		return 0;
	case STEP_FILE:
		sha256_add_field(&tree->hash, &kind, sizeof(kind));
		add_text(&tree->hash, step->file.target);
		sha256_add_field(&tree->hash, step->file.data, step->file.size);
		return 0;
	case STEP_BIND:
		sha256_add_field(&tree->hash, &kind, sizeof(kind));
		add_text(&tree->hash, step->bind.target);
		return add_tree(tree, AT_FDCWD, step->bind.source, 0);
	default:
		return 0;
	}
}

int vm_name_image(const struct plan *plan, struct vm_names *ret, struct brig_error *err)
{
	struct tree tree = { .left = ENTRIES_MAX };
	char hex[SHA256_HEX_SIZE];
	int r = 0;

	sha256_init(&tree.hash);
	add_text(&tree.hash, "image 1");
	sha256_add_field(&tree.hash, agent_image, agent_image_size);
	for (unsigned i = 0; r == 0 && i < plan->count; i++) {
		r = add_step(&tree, &plan->steps[i]);
	}
	if (r < 0) {
		r = error_errno(err, BRIG_E_HOST, -r, "cannot read the files of the language");
		error_remedy(err, "make them readable; or use another provider");
		return r;
	}
	sha256_hex(&tree.hash, hex);
	snprintf(ret->image, VM_NAME_MAX, "root-%.*s", HASH_CHARS, hex);
	return 0;
}

/* --- the state -------------------------------------------------------------------------------- */

/* With KVM the guest has the processor's own features. */
static void add_processor(struct sha256 *hash)
{
	for (unsigned leaf = 0; leaf < 8; leaf++) {
		unsigned regs[4] = { 0 };
		(void)__get_cpuid_count(leaf, 0, &regs[0], &regs[1], &regs[2], &regs[3]);
		regs[1] = leaf == 1 ? 0 : regs[1]; /* the number of this core */
		sha256_add_field(hash, regs, sizeof(regs));
	}
}

static void add_boot(struct sha256 *hash)
{
	char id[64] = "";
	_cleanup_close_ int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, id, sizeof(id));

	sha256_add_field(hash, id, n > 0 ? (size_t)n : 0);
}

int vm_name_state(const struct vm_parts *parts, const struct vm_machine *machine,
		  const struct buf *initrd, struct vm_names *ret)
{
	_cleanup_(strlist_done)
	struct strlist command = { 0 };
	struct sha256 hash, since_boot;
	char hex[SHA256_HEX_SIZE];

	sha256_init(&hash);
	add_text(&hash, "state 1");
	int r = vm_command(machine, &command);
	for (size_t i = 0; r == 0 && i < command.count; i++) {
		add_text(&hash, command.items[i]);
	}
	r = r < 0 ? r : add_path(&hash, parts->qemu);
	r = r < 0 ? r : add_path(&hash, parts->kernel.path);
	if (r < 0) {
		return r;
	}
	sha256_add_field(&hash, initrd->data, initrd->size);
	if (machine->accel == VM_ACCEL_KVM) {
		add_processor(&hash);
	}
	since_boot = hash;
	add_text(&hash, ret->image);
	sha256_hex(&hash, hex);
	snprintf(ret->state, VM_NAME_MAX, "state-%.*s", HASH_CHARS, hex);
	snprintf(ret->no_state, VM_NAME_MAX, "no-state-%.*s", HASH_CHARS, hex);
	add_boot(&since_boot);
	sha256_hex(&since_boot, hex);
	snprintf(ret->no_kvm, VM_NAME_MAX, "no-kvm-%.*s", HASH_CHARS, hex);
	return 0;
}
