/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that machines share, in a directory that only their owner can write to. A file has no
 * name until it is complete; its last bytes tell its size and, for states, a checksum, so that one
 * that was cut or changed is not used. They protect from accidents: an attacker who can write there
 * has the rights of brig.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/file_memory.h"
#include "vm/vm.h"

#define FOLDER       "vm"
#define LOCK         "lock"
#define NOTE_SECONDS 3600
#define ENTRIES_MAX  4096

static const char magic[8] = { 'B', 'R', 'I', 'G', 'V', 'M', '1', '\n' };
struct footer {
	char magic[8];
	uint64_t size; /* of the content */
	uint64_t checksum;
};

/* Only the one that wrote it reads it. */
static int check_dir(int dir)
{
	struct stat info;

	if (fstat(dir, &info) < 0) {
		return -errno;
	}
	return info.st_uid == geteuid() && !(info.st_mode & 022) ? 0 : -EPERM;
}

int vm_cache_open(const char *cache_dir, struct vm_cache *ret, struct brig_error *err)
{
	_cleanup_close_ int top =
		cache_dir ? open(cache_dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	ret->bytes_max = VM_IMAGE_BYTES_MAX;
	int r = top < 0 ? (cache_dir ? -errno : -ENOENT) : 0;

	if (r == 0 && mkdirat(top, FOLDER, 0700) < 0 && errno != EEXIST) {
		r = -errno;
	}
	ret->dir =
		r < 0 ? -1 : openat(top, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	r = r < 0 ? r : ret->dir < 0 ? -errno : check_dir(ret->dir);
	if (r == 0 && asprintf(&ret->path, "%s/" FOLDER, cache_dir) < 0) {
		ret->path = NULL;
		r = -ENOMEM;
	}
	if (r < 0) {
		r = error_errno(err, BRIG_E_HOST, -r,
				"virtual machines need a directory for their images (%.200s/" FOLDER
				")",
				cache_dir ? cache_dir : "cache_dir");
		error_remedy(err, "make it, owned by this user, with mode 0700; or set "
				  "XDG_CACHE_HOME");
	}
	return r;
}

void vm_cache_done(struct vm_cache *cache)
{
	close_fd(&cache->dir);
	free(TAKE_PTR(cache->path));
}

/* --- checks ----------------------------------------------------------------------------------- */

static int read_footer(int fd, struct stat *info, struct footer *ret)
{
	if (fstat(fd, info) < 0) {
		return -errno;
	}
	if (!S_ISREG(info->st_mode) || info->st_uid != geteuid() || (info->st_mode & 0222) ||
	    info->st_size < (off_t)sizeof(*ret)) {
		return -EBADMSG;
	}
	uint64_t size = (uint64_t)info->st_size - sizeof(*ret);
	if (pread(fd, ret, sizeof(*ret), (off_t)size) != sizeof(*ret) ||
	    memcmp(ret->magic, magic, sizeof(magic)) != 0 || ret->size != size) {
		return -EBADMSG;
	}
	return 0;
}

/*
 * Held as long as the file is open: it keeps its name, by which a holder may open it again. Its
 * times are those of its last use, which a mount with relatime does not keep.
 */
static int keep(int fd)
{
	static const struct timespec now[2] = { { .tv_nsec = UTIME_NOW },
						{ .tv_nsec = UTIME_OMIT } };
	struct stat info;

	if (flock(fd, LOCK_SH | LOCK_NB) < 0 || fstat(fd, &info) < 0 || info.st_nlink == 0) {
		return -ENOENT; /* it is being deleted */
	}
	/* It may be of somebody else's, and is not used then. */
	(void)futimens(fd, now);
	return 0;
}

int vm_cache_find(const struct vm_cache *cache, const char *name, struct vm_sum *sum)
{
	_cleanup_close_ int fd = openat(cache->dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct footer footer = { 0 };
	struct stat info;

	if (fd < 0) {
		return -errno;
	}
	if (keep(fd) < 0) {
		return -ENOENT;
	}
	if (read_footer(fd, &info, &footer) < 0) {
		/* Made anew. */
		unlinkat(cache->dir, name, 0);
		return -ENOENT;
	}
	if (sum) {
		bool known = cache->known && file_memory_has(cache->known, &info);
		vm_sum_begin(sum, fd, known ? 0 : footer.size);
		if (!known && footer.size == 0) {
			unlinkat(cache->dir, name, 0);
			return -ENOENT;
		}
	}
	return TAKE_FD(fd);
}

/* With `known` a checksum is compared once. */
int vm_cache_check(const struct vm_cache *cache, const char *name, struct vm_sum *sum)
{
	struct footer footer = { 0 };
	struct stat info;
	uint64_t value = 0;
	int r = vm_sum_turn(sum, &value);

	if (r == 0) {
		return 0;
	}
	if (r < 0 || read_footer(sum->fd, &info, &footer) < 0 || footer.checksum != value) {
		unlinkat(cache->dir, name, 0);
		return -ENOENT;
	}
	if (cache->known) {
		file_memory_add(cache->known, &info);
	}
	return 1;
}

/* --- writing ---------------------------------------------------------------------------------- */

int vm_cache_new(const struct vm_cache *cache, const struct spec *spec)
{
	_cleanup_close_ int fd = openat(cache->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0) {
		return -errno;
	}
	/* The program that writes it opens it again. */
	if (spec->ranged && fchown(fd, spec->first_id, spec->first_id) < 0) {
		return -errno;
	}
	return TAKE_FD(fd);
}

struct entry {
	char name[VM_NAME_MAX];
	uint64_t bytes;
	time_t used;
};

static int compare_entries(const void *a, const void *b)
{
	const struct entry *first = a, *second = b;

	return (first->used > second->used) - (first->used < second->used);
}

/* False: it is in use, or cannot be deleted. */
static bool evict_one(const struct vm_cache *cache, const char *name)
{
	_cleanup_close_ int fd = openat(cache->dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && unlinkat(cache->dir, name, 0) == 0;
}

static size_t list_entries(const struct vm_cache *cache, struct entry *entries, uint64_t *ret_bytes)
{
	int fd = openat(cache->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	size_t count = 0;

	for (struct dirent *entry; dir && count < ENTRIES_MAX && (entry = readdir(dir));) {
		struct stat info;
		if (strlen(entry->d_name) >= VM_NAME_MAX || entry->d_name[0] == '.' ||
		    fstatat(cache->dir, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(info.st_mode) || strcmp(entry->d_name, LOCK) == 0) {
			continue;
		}
		snprintf(entries[count].name, VM_NAME_MAX, "%.*s", VM_NAME_MAX - 1, entry->d_name);
		entries[count].bytes = (uint64_t)info.st_blocks * 512u;
		entries[count].used = info.st_atim.tv_sec > info.st_mtim.tv_sec
					      ? info.st_atim.tv_sec
					      : info.st_mtim.tv_sec;
		*ret_bytes += entries[count++].bytes;
	}
	if (dir) {
		closedir(dir);
	}
	return count;
}

bool vm_cache_evict(const struct vm_cache *cache, const char *keep)
{
	_cleanup_free_ struct entry *entries = calloc(ENTRIES_MAX, sizeof(*entries));
	uint64_t bytes = 0;
	size_t count = entries ? list_entries(cache, entries, &bytes) : 0;

	if (bytes <= cache->bytes_max) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): knows no cleanup attributes */
		return false;
	}
	qsort(entries, count, sizeof(*entries), compare_entries);
	for (size_t i = 0; i < count; i++) {
		/* Notes are small, and prevent work. */
		if (entries[i].bytes && strcmp(entries[i].name, keep) != 0 &&
		    evict_one(cache, entries[i].name)) {
			return true;
		}
	}
	return false;
}

int vm_cache_seal(int fd, struct vm_sum *sum)
{
	struct stat info;

	/* From here on it belongs to brig, and nobody writes to it. */
	if (fchown(fd, geteuid(), getegid()) < 0 || fchmod(fd, 0444) < 0 || fstat(fd, &info) < 0) {
		return -errno;
	}
	vm_sum_begin(sum, fd, (uint64_t)info.st_size);
	return 0;
}

int vm_cache_publish(const struct vm_cache *cache, const struct vm_sum *sum, uint64_t value,
		     const char *name)
{
	struct footer footer = { .size = sum->size, .checksum = value };
	char path[32];

	memcpy(footer.magic, magic, sizeof(magic));
	ssize_t n = pwrite(sum->fd, &footer, sizeof(footer), (off_t)footer.size);
	if (n != sizeof(footer)) {
		return n < 0 ? -errno : -ENOSPC;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", sum->fd);
	if (linkat(AT_FDCWD, path, cache->dir, name, AT_SYMLINK_FOLLOW) < 0 && errno != EEXIST) {
		return -errno;
	}
	return 0;
}

void vm_cache_remove(const struct vm_cache *cache, const char *name)
{
	unlinkat(cache->dir, name, 0);
}

/* --- notes and the lock ----------------------------------------------------------------------- */

bool vm_cache_noted(const struct vm_cache *cache, const char *name)
{
	struct stat info;

	return fstatat(cache->dir, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
	       time(NULL) - info.st_mtim.tv_sec < NOTE_SECONDS;
}

void vm_cache_note(const struct vm_cache *cache, const char *name)
{
	unlinkat(cache->dir, name, 0);
	int fd = openat(cache->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0600);
	close_fd(&fd);
}

int vm_cache_lock(const struct vm_cache *cache)
{
	_cleanup_close_ int fd =
		openat(cache->dir, LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0) {
		return -errno;
	}
	return TAKE_FD(fd);
}
