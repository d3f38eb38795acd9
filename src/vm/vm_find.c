/* SPDX-License-Identifier: Apache-2.0 */
/* The programs and the kernel of virtual machines on this host. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "vm/vm.h"

#define KERNEL_DIR    "/boot"
#define KERNEL_PREFIX "vmlinuz-"
#define KERNEL_PLAIN  "vmlinux-" /* not compressed, as some monitors want it */
#define QEMU          "qemu-system-x86_64"

static bool is_dir(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Beside the kernel first: a package that was unpacked elsewhere. */
static void find_modules(struct vm_kernel *kernel)
{
	static const char *const places[] = { "lib/modules", "usr/lib/modules" };
	char *slash = strrchr(kernel->path, '/');
	int parent = (int)(slash - kernel->path);

	while (parent > 0 && kernel->path[parent - 1] != '/') {
		parent--;
	}
	for (size_t i = 0; i < 2 * ARRAY_SIZE(places); i++) {
		bool beside = i < ARRAY_SIZE(places);
		int n = snprintf(kernel->modules, sizeof(kernel->modules), "%.*s%s/%s",
				 beside ? parent : 1, kernel->path, places[i % ARRAY_SIZE(places)],
				 kernel->version);
		if (n > 0 && (size_t)n < sizeof(kernel->modules) && is_dir(kernel->modules)) {
			return;
		}
	}
	kernel->modules[0] = '\0';
}

static int take_kernel(const char *path, struct vm_kernel *ret)
{
	const char *name = strrchr(path, '/') + 1;
	struct stat info;

	if (strlen(path) >= sizeof(ret->path)) {
		return -ENAMETOOLONG;
	}
	if (stat(path, &info) < 0 || access(path, R_OK) < 0) {
		return -errno;
	}
	/* The open of a FIFO would wait for its other end. */
	if (!S_ISREG(info.st_mode)) {
		return S_ISDIR(info.st_mode) ? -EISDIR : -EINVAL;
	}
	snprintf(ret->path, sizeof(ret->path), "%s", path);
	_Static_assert(sizeof(KERNEL_PREFIX) == sizeof(KERNEL_PLAIN), "the version is behind both");
	if (strncmp(name, KERNEL_PREFIX, strlen(KERNEL_PREFIX)) == 0 ||
	    strncmp(name, KERNEL_PLAIN, strlen(KERNEL_PLAIN)) == 0) {
		snprintf(ret->version, sizeof(ret->version), "%.*s", VM_VERSION_MAX - 1,
			 name + strlen(KERNEL_PREFIX));
		find_modules(ret);
	}
	return 0;
}

/* One that is made for virtual machines is smaller; else the newest. */
static bool is_better(const char *a, const char *b)
{
	bool cloud_a = strstr(a, "cloud") != NULL, cloud_b = strstr(b, "cloud") != NULL;

	return cloud_a != cloud_b ? cloud_a : strverscmp(a, b) > 0;
}

static int find_in_boot(struct vm_kernel *ret, char best[256])
{
	DIR *dir = opendir(KERNEL_DIR);
	char path[HELD_PATH_MAX];

	best[0] = '\0';
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		if (strncmp(entry->d_name, KERNEL_PREFIX, strlen(KERNEL_PREFIX)) == 0 &&
		    (!best[0] || is_better(entry->d_name, best))) {
			snprintf(best, 256, "%s", entry->d_name);
		}
	}
	if (dir) {
		closedir(dir);
	}
	if (!best[0]) {
		return -ENOENT;
	}
	snprintf(path, sizeof(path), KERNEL_DIR "/%s", best);
	return take_kernel(path, ret);
}

static int find_kernel(const char *wanted, struct vm_kernel *ret, struct brig_error *err)
{
	char best[256] = "";
	int r = wanted ? take_kernel(wanted, ret) : find_in_boot(ret, best);

	if (r == 0) {
		return 0;
	}
	if (r == -ENOENT && !wanted) {
		r = error_set(err, BRIG_E_HOST, ENOENT,
			      "there is no kernel in " KERNEL_DIR " for virtual machines");
		error_remedy(err, "install one: apt-get install linux-image-cloud-amd64; or name "
				  "its file in the policy's vm.kernel");
		return r;
	}
	r = error_errno(err, BRIG_E_HOST, -r, "the kernel %s%.256s cannot be read",
			wanted ? "" : KERNEL_DIR "/", wanted ? wanted : best);
	error_remedy(err, "name a kernel that brig may read in the policy's vm.kernel; its modules "
			  "are looked for in ../lib/modules");
	return r;
}

/* A program, and who says that it is the one. */
struct wanted {
	const char *path; /* NULL: the name is looked up */
	const char *name;
	const char *package; /* may be NULL */
	const char *where;   /* that has the path */
};

static int not_here(const struct wanted *wanted, struct brig_error *err)
{
	int r = error_set(err, BRIG_E_HOST, ENOENT, "%.200s is not on this host",
			  wanted->path ? wanted->path : wanted->name);

	if (wanted->path && wanted->package) {
		error_remedy(err, "correct %s; or leave it out, and install %s", wanted->where,
			     wanted->package);
	} else if (wanted->package) {
		error_remedy(err, "install it: apt-get install %s", wanted->package);
	} else {
		error_remedy(err, "install it, or correct %s", wanted->where);
	}
	return r;
}

static int find_program(const struct wanted *program, char path[HELD_PATH_MAX],
			struct brig_error *err)
{
	const char *wanted = program->path, *name = program->name;

	if (wanted && strlen(wanted) < HELD_PATH_MAX && held_is_program(wanted)) {
		snprintf(path, HELD_PATH_MAX, "%s", wanted);
		return 0;
	}
	if (!wanted && held_find_program(name, path)) {
		return 0;
	}
	/* PATH of an ordinary user may lack it. */
	snprintf(path, HELD_PATH_MAX, "/usr/sbin/%s", name);
	if (!wanted && held_is_program(path)) {
		return 0;
	}
	return not_here(program, err);
}

static int find_monitor(const struct vm_settings *settings, char path[HELD_PATH_MAX],
			struct brig_error *err)
{
	const struct machine *file = settings ? settings->machine : NULL;
	char place[96];

	if (!file) {
		const struct wanted qemu = { settings ? settings->qemu : NULL, QEMU,
					     "qemu-system-x86", "vm.qemu in the policy" };
		return find_program(&qemu, path, err);
	}
	snprintf(place, sizeof(place), "machines/%s.json", file->name);
	const struct wanted monitor = { file->program[0] == '/' ? file->program : NULL,
					file->program, file->package, place };
	return find_program(&monitor, path, err);
}

int vm_find(const struct vm_settings *settings, struct vm_parts *ret, struct brig_error *err)
{
	static const struct wanted mkfs = { NULL, "mkfs.erofs", "erofs-utils", "PATH" };
	int r = find_monitor(settings, ret->program, err);

	r = r < 0 ? r : find_program(&mkfs, ret->mkfs, err);
	return r < 0 ? r : find_kernel(settings ? settings->kernel : NULL, &ret->kernel, err);
}
