/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The root of a cell: one tmpfs, so that one quota covers every writable place; on it the closure's
 * directories (read-only), a generated /etc, five devices, a separate /proc, and /sandbox, /tmp and
 * /dev/shm as the only writable places.
 */
#include "native/plan/plan_rootfs.h"

#include <linux/mount.h>
#include <string.h>
#include <sys/mount.h>

#include "net/gate_messages.h"

#define PAGE_BYTES 4096u

static bool is_made(const struct plan *plan, const char *path, size_t length)
{
	for (unsigned i = 0; i < plan->count; i++) {
		const struct step *step = &plan->steps[i];
		if ((step->kind == STEP_DIR || step->kind == STEP_LINK) &&
		    strncmp(step->path, path, length) == 0 && step->path[length] == '\0') {
			return true;
		}
	}
	return false;
}

static void add_dir(struct plan *plan, const char *path, uint64_t mode)
{
	if (!is_made(plan, path, strlen(path))) {
		struct step *step = plan_add(plan, STEP_DIR);
		step->path = path;
		step->value = mode;
	}
}

/* Adds the missing parent directories of `path` (relative). */
static void add_parents(struct plan *plan, const char *path)
{
	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		size_t length = (size_t)(slash - path);
		if (!is_made(plan, path, length)) {
			struct step *step = plan_add(plan, STEP_DIR);
			step->path = plan_text(plan, "%.*s", (int)length, path);
			step->value = 0755;
		}
	}
}

static void add_bytes(struct plan *plan, const char *path, const char *data, size_t size)
{
	add_parents(plan, path);
	struct step *step = plan_add(plan, STEP_FILE);
	step->path = path;
	step->data = data;
	step->size = size;
	step->value = 0444;
}

static void add_file(struct plan *plan, const char *path, const char *text)
{
	add_bytes(plan, path, text, strlen(text));
}

static void add_link(struct plan *plan, const char *path, const char *target)
{
	add_parents(plan, path);
	struct step *step = plan_add(plan, STEP_LINK);
	step->path = path;
	step->text = target;
}

/* Length of the first part: "/usr" of "/usr/lib/python3". 0: the path has only one part. */
static size_t top_length(const char *path)
{
	const char *slash = strchr(path + 1, '/');

	return slash ? (size_t)(slash - path) : 0;
}

/*
 * An overlay over each top directory that the closure uses, in the set-up's own mount namespace:
 * directories bound from there afterwards have inodes of this cell alone, so locks, leases and
 * inotify watches on shared files are not shared with other cells (threat-model.md: L1, L2).
 */
static void add_overlays(struct plan *plan)
{
	const struct closure *closure = plan->spec->closure;

	for (size_t i = 0; i < closure->count; i++) {
		const struct closure_item *item = &closure->items[i];
		size_t length = top_length(item->path);
		bool seen = item->kind == CLOSURE_LINK || length == 0;
		for (size_t j = 0; j < i && !seen; j++) {
			seen = closure->items[j].kind != CLOSURE_LINK &&
			       strncmp(closure->items[j].path, item->path, length + 1) == 0;
		}
		if (!seen) {
			struct step *step = plan_add(plan, STEP_OVERLAY);
			step->path = plan_text(plan, "%.*s", (int)length, item->path);
			step->text = plan_text(plan, "lowerdir=proc:%s", step->path);
		}
	}
}

static void add_closure(struct plan *plan)
{
	const struct closure *closure = plan->spec->closure;

	for (size_t i = 0; i < closure->count; i++) {
		const struct closure_item *item = &closure->items[i];
		const char *inside = item->path + 1;
		if (item->kind == CLOSURE_LINK) {
			add_link(plan, inside, item->target);
			continue;
		}
		add_parents(plan, inside);
		if (item->kind == CLOSURE_DIR) {
			add_dir(plan, inside, 0755);
		} else {
			struct step *file = plan_add(plan, STEP_FILE);
			file->path = inside;
			file->value = 0444;
		}
		struct step *bind = plan_add(plan, STEP_BIND);
		bind->text = item->path;
		bind->path = inside;
		bind->flags = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	}
}

static void add_writable(struct plan *plan, const char *path, uint64_t mode, bool exec)
{
	add_parents(plan, path);
	add_dir(plan, path, mode);
	struct step *step = plan_add(plan, STEP_WRITABLE);
	step->path = path;
	step->flags = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (exec ? 0 : MOUNT_ATTR_NOEXEC);
}

static void add_host_devices(struct plan *plan)
{
	static const struct {
		const char *host, *path;
	} devices[] = {
		{ "/dev/null", "dev/null" },       { "/dev/zero", "dev/zero" },
		{ "/dev/full", "dev/full" },       { "/dev/random", "dev/random" },
		{ "/dev/urandom", "dev/urandom" },
	};

	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		struct step *file = plan_add(plan, STEP_FILE);
		file->path = devices[i].path;
		file->value = 0444;
		struct step *bind = plan_add(plan, STEP_DEVICE);
		bind->text = devices[i].host;
		bind->path = devices[i].path;
		/*
		 * Read-only concerns the node, its times and mode: the device can be written as
		 * usual.
		 */
		bind->flags = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;
	}
	add_link(plan, "dev/fd", "/proc/self/fd");
	add_link(plan, "dev/stdin", "/proc/self/fd/0");
	add_link(plan, "dev/stdout", "/proc/self/fd/1");
	add_link(plan, "dev/stderr", "/proc/self/fd/2");
}

static void add_devices(struct plan *plan)
{
	const struct spec *spec = plan->spec;

	add_dir(plan, "dev", 0755);
	if (!spec->own_devices) {
		add_host_devices(plan);
		add_writable(plan, "dev/shm", 01777, false);
		return;
	}
	add_dir(plan, "dev/shm", 01777);
	struct step *step = plan_add(plan, STEP_DEVICES);
	step->path = "dev";
	step->text = "dev/shm";
	step->fd = spec->devices;
	step->flags = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;
	step->value = MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;
}

/* The file in which programs look for trusted authorities. */
static void add_certificates(struct plan *plan)
{
	add_parents(plan, &SPEC_CERTIFICATES[1]);
	struct step *file = plan_add(plan, STEP_FILE);
	file->path = &SPEC_CERTIFICATES[1];
	file->value = 0444;
	struct step *bind = plan_add(plan, STEP_BIND);
	bind->text = plan->spec->certificates;
	bind->path = &SPEC_CERTIFICATES[1];
	bind->flags = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
}

/* The same, where the gate terminates TLS for some hosts: only this cell's programs trust it. */
static void add_authority(struct plan *plan)
{
	const struct spec *spec = plan->spec;

	add_bytes(plan, &SPEC_CERTIFICATES[1], spec->bundle, spec->bundle_size);
	plan->steps[plan->count - 1].text =
		plan_text(plan, "and of the gate, for %s", spec->opened);
	add_bytes(plan, &SPEC_AUTHORITY[1], spec->authority, spec->authority_size);
	plan->steps[plan->count - 1].text = plan_text(plan, "of the gate, for %s", spec->opened);
}

static void add_etc(struct plan *plan)
{
	unsigned cpus = plan->spec->cpus ? plan->spec->cpus : 1;
	const char *range = cpus > 1 ? plan_text(plan, "0-%u\n", cpus - 1) : "0\n";

	add_file(plan, "etc/passwd",
		 "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
		 "sandbox:x:1000:1000:sandbox:/sandbox:/bin/sh\n"
		 "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
	add_file(plan, "etc/group", "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n");
	add_file(plan, "etc/hosts", "127.0.0.1 localhost brig\n::1 localhost\n");
	bool gated = plan->spec->gate_ports_count > 0;
	/*
	 * Without a gate there is no resolver, which the kernel reports at once; the warden reads
	 * the names of the queries (native_names.c). With "files" at the end such a name counts as
	 * not found.
	 */
	add_file(plan, "etc/nsswitch.conf",
		 gated ? "passwd: files\ngroup: files\nhosts: files dns\n"
		       : "passwd: files\ngroup: files\nhosts: files dns files\n");
	/* The resolver answers at once or not at all: one attempt is enough. */
	add_file(plan, "etc/resolv.conf",
		 gated ? "nameserver " GATE_RESOLVER "\noptions attempts:1\n"
		       : "nameserver " GATE_RESOLVER "\noptions attempts:1 timeout:1\n");
	if (plan->spec->opened) {
		add_authority(plan);
	} else if (plan->spec->certificates) {
		add_certificates(plan);
	}
	add_file(plan, "etc/hostname", "brig\n");
	/* There is no sysfs; programs that size thread pools read these three. */
	add_file(plan, "sys/devices/system/cpu/online", range);
	add_file(plan, "sys/devices/system/cpu/possible", range);
	add_file(plan, "sys/devices/system/cpu/present", range);
	if (plan->spec->driver) {
		add_bytes(plan, plan->spec->driver, plan->spec->driver_text,
			  plan->spec->driver_size);
	}
}

static void add_inputs(struct plan *plan)
{
	const struct spec *spec = plan->spec;

	for (size_t i = 0; i < spec->inputs_count; i++) {
		const struct spec_input *input = &spec->inputs[i];
		struct step *step = plan_add(plan, STEP_INPUT);
		step->path = input->name;
		step->data = input->data;
		step->size = input->size;
		step->fd = input->fd;
		step->value = input->mode;
	}
}

static void add_mounts(struct plan *plan)
{
	const struct spec *spec = plan->spec;

	for (size_t i = 0; i < spec->mounts_count; i++) {
		const struct spec_mount *mount = &spec->mounts[i];
		const char *path = plan_text(plan, "mnt/%s", mount->name);
		add_dir(plan, path, 0755);
		struct step *step = plan_add(plan, STEP_MOUNT);
		step->path = path;
		step->text = mount->path;
		step->value = mount->tree >= 0;
		step->fd = mount->tree >= 0 ? mount->tree : mount->fd;
		step->flags = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			      (mount->writable ? 0 : MOUNT_ATTR_RDONLY) |
			      (mount->writable && !spec->exec_writable ? MOUNT_ATTR_NOEXEC : 0);
		if (!mount->writable && (spec->layers & LAYER_BIT(LAYER_OVERLAY))) {
			/* Sockets of the host in it cannot be reached through an overlay. */
			struct step *cover = plan_add(plan, STEP_OVERLAY);
			cover->path = path;
			cover->text = plan_text(plan, "lowerdir=proc:%s", path);
		}
	}
}

/* Adds the skeleton's use of the tmpfs, so that the program gets the whole quota of the policy. */
static void size_root(struct plan *plan, unsigned root)
{
	uint64_t pages = 1, inodes = 1;

	for (unsigned i = root + 1; i < plan->count; i++) {
		const struct step *step = &plan->steps[i];
		if (step->kind == STEP_DIR || step->kind == STEP_LINK || step->kind == STEP_FILE) {
			inodes++;
		}
		if (step->kind == STEP_FILE) {
			pages += (step->size + PAGE_BYTES - 1) / PAGE_BYTES;
		}
		if (step->kind == STEP_LINK && strlen(step->text) >= 128) {
			pages++; /* short links are stored in the inode */
		}
	}
	const struct brig_limits *limits = &plan->spec->limits;
	uint64_t disk_pages = (limits->disk_bytes + PAGE_BYTES - 1) / PAGE_BYTES;
	plan->steps[root].size = (disk_pages + pages) * PAGE_BYTES;
	plan->steps[root].value = limits->disk_inodes + inodes;
	plan->steps[root].text =
		plan_text(plan, "%llu", (unsigned long long)plan->steps[root].size);
	plan->steps[root].path =
		plan_text(plan, "%llu", (unsigned long long)plan->steps[root].value);
}

void plan_rootfs(struct plan *plan)
{
	const struct spec *spec = plan->spec;

	plan_add(plan, STEP_PRIVATE);
	unsigned root = plan->count;
	plan_add(plan, STEP_ROOT);
	add_dir(plan, "proc", 0555);
	add_dir(plan, "mnt", 0755);
	/* Before the overlays: mounts are looked up again on the host's own tree. */
	add_mounts(plan);
	if (spec->layers & LAYER_BIT(LAYER_OVERLAY)) {
		add_overlays(plan);
	}
	add_closure(plan);
	add_dir(plan, "etc", 0755);
	add_etc(plan);
	add_devices(plan);
	if (spec->layers & LAYER_BIT(LAYER_PROC)) {
		struct step *proc = plan_add(plan, STEP_PROC);
		proc->path = "proc";
		proc->text = "subset=pid,hidepid=2";
	}
	add_writable(plan, "sandbox", 0700, spec->exec_writable);
	add_dir(plan, "sandbox/out", 0700);
	add_writable(plan, "tmp", 01777, spec->exec_writable);
	/* From here on written data belongs to the cell, and is charged to it. */
	if (spec->join_by_write) {
		plan_add(plan, STEP_JOIN);
	}
	add_inputs(plan);
	size_root(plan, root);
	plan_add(plan, STEP_PIVOT);
	plan_add(plan, STEP_LOCKROOT);
}
