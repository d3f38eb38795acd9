/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scope of the user's systemd: for an ordinary user whose login session is not delegated. systemd
 * makes one transient scope per cell and moves the cell's first process, which waits, into it. It
 * removes the scope by itself when all its processes are dead.
 *
 * This is the slow way (tens of milliseconds, in systemd). A delegated scope around brig
 * (`systemd-run --user --scope -p Delegate=yes`) is the fast one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/cgroup/cgroup_internal.h"

#define ATTACH_NS UINT64_C(2000000000)

static const struct cgroup_ops scope_ops;

/*
 * The controllers that the user's systemd can delegate are those delegated to its own group,
 * .../user@<uid>.service: above us when we are one of its units, else next to our session.
 */
static unsigned manager_controllers(const struct cgroup_facts *facts, int mount_fd)
{
	char own[CGROUP_TEXT_MAX], unit[64], path[CGROUP_TEXT_MAX + 128];
	char *at;

	if (!cgroup_self_path(facts->self, "", own, sizeof(own))) {
		return 0;
	}
	snprintf(unit, sizeof(unit), "user@%u.service", (unsigned)geteuid());
	at = strstr(own, unit);
	if (at) {
		at[strlen(unit)] = '\0';
		snprintf(path, sizeof(path), "%s/cgroup.controllers", own);
	} else {
		snprintf(path, sizeof(path), "user.slice/user-%u.slice/%s/cgroup.controllers",
			 (unsigned)geteuid(), unit);
	}
	return cgroup_v2_controllers(mount_fd, path);
}

static const char *scope_missing(const struct cgroup_facts *facts, struct cgroup_manager *manager,
				 int mount_fd, unsigned *ret_bits)
{
	unsigned bits;
	int r;

	if (facts->no_systemd) {
		return "not wanted";
	}
	if (mount_fd < 0) {
		return "cgroup v2 is not mounted";
	}
	bits = manager_controllers(facts, mount_fd);
	if (!(bits & CGROUP_MEMORY) || !(bits & CGROUP_PIDS)) {
		return "the user's systemd does not run, or has no memory and pids controllers";
	}
	r = cgroup_systemd_find(manager);
	if (r == -EXDEV) {
		return "the user's systemd is in another pid namespace";
	}
	if (r < 0) {
		return "cannot connect to the user's systemd (XDG_RUNTIME_DIR, "
		       "DBUS_SESSION_BUS_ADDRESS)";
	}
	*ret_bits = bits;
	return NULL;
}

int cgroup_scope_probe(struct cgroup_manager *manager, const struct cgroup_facts *facts,
		       struct buf *why)
{
	const char *name, *missing;
	_cleanup_close_ int mount = cgroup_v2_mount(facts, &name);
	unsigned bits = 0;

	missing = scope_missing(facts, manager, mount, &bits);
	if (missing) {
		buf_addf(why, "%ssystemd scope: %s", why->size ? "; " : "", missing);
		return 0;
	}
	manager->where = strdup("a scope of the user's systemd per cell");
	if (!manager->where) {
		return -ENOMEM;
	}
	manager->scope_root_fd = TAKE_FD(mount);
	manager->layers = cgroup_v2_layers(bits);
	manager->ops = &scope_ops;
	if (!(bits & CGROUP_CPU)) {
		buf_addf(why,
			 "%scpu controller not delegated to user@.service "
			 "(drop-in: [Service] Delegate=cpu memory pids)",
			 why->size ? "; " : "");
	}
	return 1;
}

/* The body's a(sv) entries. Types: s text, b and t numbers, au one pid. */
static void put_property(struct buf *body, const char *name, const char *type, const char *text,
			 uint64_t value)
{
	dbus_put_align(body, 8);
	dbus_put_string(body, name);
	dbus_put_signature(body, type);
	if (strcmp(type, "s") == 0) {
		dbus_put_string(body, text);
	} else if (strcmp(type, "t") == 0) {
		dbus_put_u64(body, value);
	} else if (strcmp(type, "b") == 0) {
		dbus_put_u32(body, (uint32_t)value);
	} else {
		struct dbus_array pids = dbus_array_begin(body, 4);

		dbus_put_u32(body, (uint32_t)value);
		dbus_array_end(body, pids);
	}
}

static void put_request(struct buf *body, struct cgroup *cgroup, const char *unit, pid_t pid)
{
	const struct cgroup_limits *limits = &cgroup->limits;
	struct dbus_array list;

	dbus_put_string(body, unit);
	dbus_put_string(body, "fail");
	list = dbus_array_begin(body, 8);
	put_property(body, "Description", "s", "brig cell", 0);
	put_property(body, "PIDs", "au", NULL, (uint64_t)pid);
	put_property(body, "CollectMode", "s", "inactive-or-failed", 0);
	put_property(body, "MemoryAccounting", "b", NULL, 1);
	put_property(body, "TasksAccounting", "b", NULL, 1);
	if (limits->memory_bytes != 0) {
		put_property(body, "MemoryMax", "t", NULL, limits->memory_bytes);
		put_property(body, "MemorySwapMax", "t", NULL, 0);
	}
	if (limits->processes != 0) {
		put_property(body, "TasksMax", "t", NULL, limits->processes);
	}
	if (cgroup->manager->layers & LAYER_BIT(LAYER_CGROUP_CPU) && cgroup_cpu_limited(cgroup)) {
		put_property(body, "CPUQuotaPerSecUSec", "t", NULL, limits->cpu_millicores * 1000);
	}
	dbus_array_end(body, list);
	list = dbus_array_begin(body, 8); /* auxiliary units: none */
	dbus_array_end(body, list);
}

static int ask(struct cgroup *cgroup, const char *unit, pid_t pid, uint64_t deadline_ns,
	       struct dbus_message *answer)
{
	struct buf body = { 0 };
	struct dbus_call call = {
		.destination = "org.freedesktop.systemd1",
		.path = "/org/freedesktop/systemd1",
		.interface = "org.freedesktop.systemd1.Manager",
		.member = "StartTransientUnit",
		.signature = "ssa(sv)a(sa(sv))",
		.body = &body,
	};
	int r;

	put_request(&body, cgroup, unit, pid);
	r = cgroup_systemd_call(cgroup->manager, &call, deadline_ns, answer);
	buf_done(&body);
	return r;
}

/* The reply only means that the job is queued: wait until the process is really in it. */
static int wait_until_in(pid_t pid, const char *unit, uint64_t deadline_ns, char *path, size_t size)
{
	char file[48], text[CGROUP_TEXT_MAX];
	long sleep_ns = 200000;

	snprintf(file, sizeof(file), "/proc/%d/cgroup", (int)pid);
	for (;;) {
		ssize_t n = cgroup_file_read(AT_FDCWD, file, text, sizeof(text));
		const char *base;

		if (n < 0) {
			return (int)n;
		}
		if (cgroup_self_path(text, "", path, size)) {
			base = strrchr(path, '/');
			if (base && strcmp(base + 1, unit) == 0) {
				return 0;
			}
		}
		if (clock_now_ns() >= deadline_ns) {
			return -ETIMEDOUT;
		}
		nanosleep(&(struct timespec){ .tv_nsec = sleep_ns }, NULL);
		sleep_ns = sleep_ns < 5000000 ? sleep_ns * 2 : sleep_ns;
	}
}

/* The limits are checked: a scope whose limits did not take effect is not used. */
static int check_limits(struct cgroup *cgroup)
{
	const struct cgroup_limits *limits = &cgroup->limits;
	uint64_t value;

	if (limits->memory_bytes != 0 &&
	    (!cgroup_file_read_u64(cgroup->dir_fd, "memory.max", &value) ||
	     value > limits->memory_bytes)) {
		return -ENODEV;
	}
	if (limits->processes != 0 && (!cgroup_file_read_u64(cgroup->dir_fd, "pids.max", &value) ||
				       value > limits->processes)) {
		return -ENODEV;
	}
	if (cgroup->manager->layers & LAYER_BIT(LAYER_CGROUP_CPU) && cgroup_cpu_limited(cgroup) &&
	    !cgroup_file_read_u64(cgroup->dir_fd, "cpu.max", &value)) {
		return -ENODEV;
	}
	return 0;
}

static int enter(struct cgroup *cgroup, const char *path)
{
	cgroup->dir_fd = openat(cgroup->manager->scope_root_fd, path,
				O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (cgroup->dir_fd < 0) {
		return -errno;
	}
	/*
	 * No memory.oom.group: when all die at once systemd may remove the group before its
	 * counters are read. So the largest process dies, pid 1 of the cell stays, and we kill the
	 * rest.
	 */
	return check_limits(cgroup);
}

/* `step`: the one that failed. */
static int attach(struct cgroup *cgroup, const char *unit, pid_t pid, struct dbus_message *answer,
		  const char **step)
{
	uint64_t deadline_ns = clock_now_ns() + ATTACH_NS;
	char path[CGROUP_TEXT_MAX];

	*step = "StartTransientUnit";
	int r = ask(cgroup, unit, pid, deadline_ns, answer);
	if (r < 0) {
		return r;
	}
	*step = "waiting for the process to be moved";
	r = wait_until_in(pid, unit, deadline_ns, path, sizeof(path));
	if (r < 0) {
		return r;
	}
	*step = "checking its limits";
	return enter(cgroup, path);
}

static int scope_attach(struct cgroup *cgroup, pid_t pid, struct brig_error *err)
{
	char unit[CGROUP_NAME_MAX + 8];
	struct dbus_message answer = { 0 };
	const char *step;

	snprintf(unit, sizeof(unit), "%s.scope", cgroup->name);
	int r = attach(cgroup, unit, pid, &answer, &step);
	if (r == 0) {
		return 0;
	}
	if (r == -EREMOTEIO) {
		error_set(err, BRIG_E_HOST, EREMOTEIO, "systemd scope %s: %s: %s", unit,
			  answer.error_name, answer.text);
	} else {
		error_errno(err, BRIG_E_HOST, -r, "systemd scope %s: %s", unit, step);
	}
	error_remedy(err, "run brig in a delegated scope: "
			  "systemd-run --user --scope -p Delegate=yes brig ...");
	return r;
}

static int scope_create(struct cgroup *cgroup, struct brig_error *err)
{
	(void)cgroup;
	(void)err;
	return 0;
}

/* systemd removes the group soon after its last process. */
static void scope_usage(struct cgroup *cgroup, struct cgroup_usage *usage)
{
	struct cgroup_usage last = cgroup->last;

	if (cgroup->dir_fd < 0) {
		return;
	}
	cgroup_v2_usage(cgroup, usage);
	cgroup_keep_last(cgroup, &last, usage);
}

/* The counters are read first: once all are dead systemd removes the group. */
static bool scope_kill(struct cgroup *cgroup)
{
	struct cgroup_usage usage = { 0 };

	scope_usage(cgroup, &usage);
	return cgroup_v2_kill(cgroup);
}

static bool scope_remove(struct cgroup *cgroup)
{
	/* Gone, or empty: systemd removes it. */
	char text[256];
	uint64_t populated;

	return cgroup->dir_fd < 0 ||
	       cgroup_file_read(cgroup->dir_fd, "cgroup.events", text, sizeof(text)) <= 0 ||
	       (cgroup_text_value(text, "populated", &populated) && populated == 0);
}

static const struct cgroup_ops scope_ops = {
	.means = "systemd-scope",
	.memory_fd_polls = true,
	.create = scope_create,
	.attach = scope_attach,
	.usage = scope_usage,
	.watch = cgroup_v2_watch,
	.event_clear = cgroup_v2_event_clear,
	.kill = scope_kill,
	.weigh = cgroup_v2_weigh,
	.hurry = cgroup_v2_hurry,
	.remove = scope_remove,
};
