/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of states: hashes of everything that they depend on. A file of the host counts by its
 * identity (path, size, times, inode), not by its content. The names of images: vm_naming.c.
 */
#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "vm/vm.h"

static void add_text(struct sha256 *hash, const char *text)
{
	sha256_add_field(hash, text, strlen(text));
}

static int add_path(struct sha256 *hash, const char *path)
{
	struct stat info;

	if (stat(path, &info) < 0) {
		return -errno;
	}
	add_text(hash, path);
	vm_hash_stat(hash, &info);
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
	_cleanup_(buf_done)
	struct buf config = { 0 };
	r = r < 0 || !machine->file ? r : vm_monitor_config(machine, &config);
	sha256_add_field(&hash, config.data, config.size);
	r = r < 0 ? r : add_path(&hash, parts->program);
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
	snprintf(ret->state, VM_NAME_MAX, "state-%.*s", VM_HASH_CHARS, hex);
	snprintf(ret->no_state, VM_NAME_MAX, "no-state-%.*s", VM_HASH_CHARS, hex);
	add_boot(&since_boot);
	sha256_hex(&since_boot, hex);
	snprintf(ret->no_kvm, VM_NAME_MAX, "no-kvm-%.*s", VM_HASH_CHARS, hex);
	return 0;
}
