/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The root of a cell: one tmpfs, so that one quota covers every writable place; on it the closure's
 * directories (read-only), a generated /etc, five devices, a separate /proc, and /sandbox, /tmp and
 * /dev/shm as the only writable places.
 */
#include "native/plan/plan_rootfs.h"

#include <inttypes.h>
#include <linux/mount.h>
#include <string.h>
#include <sys/mount.h>

#include "net/gate_messages.h"

#define PAGE_BYTES 4096u

static bool is_made(const struct plan *plan, const char *path, size_t length)
{
	for (unsigned i = 0; i < plan->count; i++) {
		const struct step *step = &plan->steps[i];
		const char *made = step->kind == STEP_DIR    ? step->dir.target
				   : step->kind == STEP_LINK ? step->link.path
							     : NULL;
		if (made && strncmp(made, path, length) == 0 && made[length] == '\0') {
			return true;
		}
	}
	return false;
}

static void add_dir(struct plan *plan, const char *path, mode_t mode)
{
	if (!is_made(plan, path, strlen(path))) {
		struct step *step = plan_add(plan, STEP_DIR);
		step->dir.target = path;
		step->dir.mode = mode;
	}
}

/* Adds the missing parent directories of `path` (relative). */
static void add_parents(struct plan *plan, const char *path)
{
	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		size_t length = (size_t)(slash - path);
		if (!is_made(plan, path, length)) {
			struct step *step = plan_add(plan, STEP_DIR);
			step->dir.target = plan_text(plan, "%.*s", (int)length, path);
			step->dir.mode = 0755;
		}
	}
}

/* A file whose parents exist. It is empty: it gets its data, or something is bound onto it. */
static struct step *add_empty(struct plan *plan, const char *path)
{
	struct step *step = plan_add(plan, STEP_FILE);

	step->file.target = path;
	step->file.mode = 0444;
	return step;
}

static struct step *add_bytes(struct plan *plan, const char *path, const char *data, size_t size)
{
	add_parents(plan, path);
	struct step *step = add_empty(plan, path);
	step->file.data = data;
	step->file.size = size;
	return step;
}

static void add_file(struct plan *plan, const char *path, const char *text)
{
	add_bytes(plan, path, text, strlen(text));
}

static void add_link(struct plan *plan, const char *path, const char *target)
{
	add_parents(plan, path);
	struct step *step = plan_add(plan, STEP_LINK);
	step->link.path = path;
	step->link.to = target;
}

/* Length of the first part: "/usr" of "/usr/lib/python3". 0: the path has only one part. */
static size_t top_length(const char *path)
{
	const char *slash = strchr(path + 1, '/');

	return slash ? (size_t)(slash - path) : 0;
}

static void add_overlay(struct plan *plan, const char *path)
{
	struct step *step = plan_add(plan, STEP_OVERLAY);

	step->overlay.target = path;
	step->overlay.options = plan_text(plan, "lowerdir=proc:%s", path);
}

/* kind: STEP_BIND or STEP_DEVICE. */
static void add_bind(struct plan *plan, enum step_kind kind, const char *source, const char *path,
		     uint64_t attributes)
{
	struct step *step = plan_add(plan, kind);

	step->bind.source = source;
	step->bind.target = path;
	step->bind.attributes = attributes;
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
			add_overlay(plan, plan_text(plan, "%.*s", (int)length, item->path));
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
			add_empty(plan, inside);
		}
		add_bind(plan, STEP_BIND, item->path, inside,
			 MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	}
}

static void add_writable(struct plan *plan, const char *path, mode_t mode, bool exec)
{
	add_parents(plan, path);
	add_dir(plan, path, mode);
	struct step *step = plan_add(plan, STEP_WRITABLE);
	step->writable.target = path;
	step->writable.attributes =
		MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (exec ? 0 : MOUNT_ATTR_NOEXEC);
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
		add_empty(plan, devices[i].path);
		/*
		 * Read-only concerns the node, its times and mode: the device can be written as
		 * usual.
		 */
		add_bind(plan, STEP_DEVICE, devices[i].host, devices[i].path,
			 MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
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
	step->devices.target = "dev";
	step->devices.shm = "dev/shm";
	step->devices.fd = spec->devices;
	step->devices.attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;
	step->devices.shm_attributes = MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;
}

/* The file in which programs look for trusted authorities. */
static void add_certificates(struct plan *plan)
{
	add_parents(plan, &SPEC_CERTIFICATES[1]);
	add_empty(plan, &SPEC_CERTIFICATES[1]);
	add_bind(plan, STEP_BIND, plan->spec->certificates, &SPEC_CERTIFICATES[1],
		 MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
}

/* The same, where the gate terminates TLS for some hosts: only this cell's programs trust it. */
static void add_authority(struct plan *plan)
{
	const struct spec *spec = plan->spec;

	add_bytes(plan, &SPEC_CERTIFICATES[1], spec->bundle, spec->bundle_size)->file.about =
		plan_text(plan, "and of the gate, for %s", spec->opened);
	add_bytes(plan, &SPEC_AUTHORITY[1], spec->authority, spec->authority_size)->file.about =
		plan_text(plan, "of the gate, for %s", spec->opened);
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
	add_file(plan, "etc/hosts", PLAN_HOSTS);
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
	if (plan->spec->prober) {
		add_bytes(plan, plan->spec->prober, plan->spec->prober_image,
			  plan->spec->prober_size)
			->file.mode = 0555;
	}
}

static void add_binds(struct plan *plan)
{
	const struct spec *spec = plan->spec;

	for (size_t i = 0; i < spec->binds_count; i++) {
		add_parents(plan, spec->binds[i].target);
		add_empty(plan, spec->binds[i].target);
		add_bind(plan, STEP_BIND, spec->binds[i].source, spec->binds[i].target,
			 MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	}
}

static void add_inputs(struct plan *plan)
{
	const struct spec *spec = plan->spec;

	for (size_t i = 0; i < spec->inputs_count; i++) {
		const struct spec_input *input = &spec->inputs[i];
		struct step *step = plan_add(plan, STEP_INPUT);
		step->input.name = input->name;
		step->input.data = input->data;
		step->input.size = input->size;
		step->input.fd = input->fd;
		step->input.mode = input->mode;
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
		step->mount.target = path;
		step->mount.source = mount->path;
		step->mount.cloned = mount->tree >= 0;
		step->mount.fd = mount->tree >= 0 ? mount->tree : mount->fd;
		step->mount.attributes =
			MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			(mount->writable ? 0 : MOUNT_ATTR_RDONLY) |
			(mount->writable && !spec->exec_writable ? MOUNT_ATTR_NOEXEC : 0);
		if (!mount->writable && (spec->layers & LAYER_BIT(LAYER_OVERLAY))) {
			/*
			 * Sockets of the host in it cannot be reached through an overlay: a socket
			 * is found by its inode (unix_find_bsd(), net/unix/af_unix.c), and the
			 * overlay has inodes of its own.
			 */
			add_overlay(plan, path);
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
			pages += (step->file.size + PAGE_BYTES - 1) / PAGE_BYTES;
		}
		if (step->kind == STEP_LINK && strlen(step->link.to) >= 128) {
			pages++; /* short links are stored in the inode */
		}
	}
	const struct brig_limits *limits = &plan->spec->limits;
	uint64_t disk_pages = (limits->disk_bytes + PAGE_BYTES - 1) / PAGE_BYTES;
	struct step *step = &plan->steps[root];
	step->root.bytes = (disk_pages + pages) * PAGE_BYTES;
	step->root.inodes = limits->disk_inodes + inodes;
	step->root.bytes_text = plan_text(plan, "%" PRIu64, step->root.bytes);
	step->root.inodes_text = plan_text(plan, "%" PRIu64, step->root.inodes);
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
	add_binds(plan);
	add_devices(plan);
	if (spec->layers & LAYER_BIT(LAYER_PROC)) {
		struct step *proc = plan_add(plan, STEP_PROC);
		proc->proc.target = "proc";
		proc->proc.options = "subset=pid,hidepid=2";
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
