/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The initial RAM disk of a machine: vm_init, the modules of its devices and of its root, and the
 * directories on which it mounts. In the kernel's own form, "newc" (initramfs buffer format).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "vm/vm.h"

#define MODULE_BYTES_MAX (8u << 20)

/* vm_init finds the order. One that is not there is a part of the kernel, or is not needed. */
static const char *const modules[] = {
	"drivers/virtio/virtio",
	"drivers/virtio/virtio_ring",
	"drivers/virtio/virtio_pci_modern_dev",
	"drivers/virtio/virtio_pci_legacy_dev",
	"drivers/virtio/virtio_pci",
	"drivers/virtio/virtio_mmio",
	"drivers/block/virtio_blk",
	"drivers/char/virtio_console",
	"arch/x86/crypto/crc32c-intel",
	"crypto/crc32c_generic",
	"lib/libcrc32c",
	"lib/lz4/lz4_decompress",
	"lib/zstd/zstd_decompress",
	"fs/netfs/netfs",
	"fs/fscache/fscache",
	"fs/erofs/erofs",
};
static const char *const suffixes[] = { ".ko", ".ko.xz", ".ko.zst", ".ko.gz" };

static void pad(struct buf *out)
{
	while (out->size % 4 != 0) {
		buf_addc(out, '\0');
	}
}

static void add_entry(struct buf *out, unsigned inode, const char *name, mode_t mode,
		      const void *data, size_t size)
{
	/* inode, mode, ids, links, time, size, devices, length of the name, checksum */
	buf_addf(out, "070701%08x%08x%08x%08x%08x%08x%08zx%08x%08x%08x%08x%08zx%08x", inode, mode,
		 0, 0, 1, 0, size, 0, 0, 0, 0, strlen(name) + 1, 0);
	buf_add(out, name, strlen(name) + 1);
	pad(out);
	buf_add(out, data, size);
	pad(out);
}

static int read_all(int fd, char *data, size_t size)
{
	for (size_t have = 0; have < size;) {
		ssize_t n = read(fd, data + have, size - have);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n <= 0) {
			return n < 0 ? -errno : -EIO;
		}
		have += (size_t)n;
	}
	return 0;
}

/* -ENOENT: it is not there. */
static int add_file(struct buf *out, const char *path, unsigned number)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat info;
	char name[32];

	if (fd < 0 || fstat(fd, &info) < 0) {
		return -errno;
	}
	if (!S_ISREG(info.st_mode) || info.st_size > MODULE_BYTES_MAX) {
		return -EFBIG;
	}
	char *data = malloc((size_t)info.st_size + 1);
	int r = data ? read_all(fd, data, (size_t)info.st_size) : -ENOMEM;
	if (r == 0) {
		snprintf(name, sizeof(name), "modules/%02u", number);
		add_entry(out, 100 + number, name, S_IFREG | 0444, data, (size_t)info.st_size);
	}
	free(data);
	return r;
}

/* 1: it was added; 0: it is not there; -errno. */
static int add_module(struct buf *out, const struct vm_kernel *kernel, const char *module,
		      unsigned number)
{
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		char path[2 * HELD_PATH_MAX];
		snprintf(path, sizeof(path), "%s/kernel/%s%s", kernel->modules, module,
			 suffixes[i]);
		int r = add_file(out, path, number);
		if (r != -ENOENT) {
			return r < 0 ? r : 1;
		}
	}
	return 0;
}

int vm_initrd(const struct vm_kernel *kernel, struct buf *ret, struct brig_error *err)
{
	static const char *const dirs[] = { "dev", "proc", "root", "group", "modules" };
	unsigned number = 0;

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		add_entry(ret, 1 + (unsigned)i, dirs[i], S_IFDIR | 0755, "", 0);
	}
	add_entry(ret, 99, "init", S_IFREG | 0555, vm_init_image, vm_init_image_size);
	for (size_t i = 0; kernel->modules[0] && i < ARRAY_SIZE(modules); i++) {
		int r = add_module(ret, kernel, modules[i], number);
		if (r < 0) {
			r = error_errno(err, BRIG_E_HOST, -r,
					"a module of the kernel %s cannot be read", kernel->path);
			error_remedy(err, "make the files in %s readable", kernel->modules);
			return r;
		}
		number += r == 1;
	}
	add_entry(ret, 0, "TRAILER!!!", 0, "", 0);
	return ret->failed ? error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for a machine") : 0;
}
