/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The container, as the Engine API is told. The agent is its first process, as an ordinary user
 * without any capability; the arguments, variables and limits of the program come over the stream.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "daemon/daemon.h"
#include "run/spec/group_limits.h"

#define PROGRAM    "1000:1000"
#define PROGRAM_ID 1000
#define PAGE_BYTES 4096u
/* The directory itself, and /sandbox/out. */
#define PLACE_INODES 2
#define PERIOD_US    100000u
#define HEALTH_NS    30000000000ull
/* More than any policy allows, and less than daemons usually have. */
#define ULIMIT_MOST 8192u

static void put_texts(struct json_out *json, const char *key, const char *text)
{
	json_open(json, key, '[');
	if (text) {
		json_text(json, NULL, text);
	}
	json_close(json, ']');
}

/* --- files ------------------------------------------------------------------------------------ */

struct place {
	const char *path;
	unsigned mode;
	bool exec;
};

uint64_t daemon_place_bytes(const struct spec *spec)
{
	return (spec->limits.disk_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

/* Each is a tmpfs of its own, so the limit of the disk holds for each. */
static void put_place(struct json_out *json, const struct daemon_container *container,
		      const struct place *place)
{
	const struct spec *spec = container->spec;
	bool details = container->kind->tmpfs_details;
	char text[192];

	int n = snprintf(text, sizeof(text), "rw,nosuid,nodev,%s,size=%" PRIu64 ",mode=%04o",
			 place->exec && spec->exec_writable ? "exec" : "noexec",
			 daemon_place_bytes(spec), details ? place->mode : 01777u);
	if (details) {
		snprintf(text + n, sizeof(text) - (size_t)n, ",uid=%d,gid=%d,nr_inodes=%" PRIu64,
			 PROGRAM_ID, PROGRAM_ID, spec->limits.disk_inodes + PLACE_INODES);
	}
	json_text(json, place->path, text);
}

static void put_places(struct json_out *json, const struct daemon_container *container)
{
	static const struct place places[] = { { "/sandbox", 0700, true },
					       { "/tmp", 01777, true },
					       { "/dev/shm", 01777, false } };

	json_open(json, "Tmpfs", '{');
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		put_place(json, container, &places[i]);
	}
	/* Podman would make them writable, up to half of the host's memory. */
	for (size_t i = 0; i < 2 && container->kind->covers[i]; i++) {
		json_text(json, container->kind->covers[i],
			  "ro,nosuid,nodev,noexec,size=4k,mode=0555");
	}
	json_close(json, '}');
}

static void put_mount(struct json_out *json, const char *source, const char *target)
{
	json_open(json, NULL, '{');
	json_text(json, "Type", "bind");
	json_text(json, "Source", source);
	json_text(json, "Target", target);
	json_bool(json, "ReadOnly", true);
	json_open(json, "BindOptions", '{');
	json_text(json, "Propagation", "rprivate");
	/* Read-only is the mount itself alone. Podman binds those beneath it: daemon_look.c. */
	json_bool(json, "NonRecursive", true);
	json_close(json, '}');
	json_close(json, '}');
}

/* The language's files; an operator's image has its own. */
static void put_mounts(struct json_out *json, const struct daemon_container *container)
{
	const struct plan *plan = container->plan;
	char target[4096];

	json_open(json, "Mounts", '[');
	if (container->names) {
		put_mount(json, container->names, "/etc/hosts");
	}
	if (container->agent) {
		put_mount(json, container->agent, DAEMON_AGENT);
	}
	for (unsigned i = 0; !container->agent && i < plan->count; i++) {
		if (plan->steps[i].kind == STEP_BIND) {
			snprintf(target, sizeof(target), "/%s", plan->steps[i].bind.target);
			put_mount(json, plan->steps[i].bind.source, target);
		}
	}
	json_close(json, ']');
}

/* --- limits ----------------------------------------------------------------------------------- */

static void put_ulimit(struct json_out *json, const char *name, __rlimit_resource_t resource)
{
	struct rlimit own = { ULIMIT_MOST, ULIMIT_MOST };

	getrlimit(resource, &own);
	uint64_t most = own.rlim_max < ULIMIT_MOST ? own.rlim_max : ULIMIT_MOST;
	json_open(json, NULL, '{');
	json_text(json, "Name", name);
	json_u64(json, "Soft", most);
	json_u64(json, "Hard", most);
	json_close(json, '}');
}

/* The agent lowers them. */
static void put_ulimits(struct json_out *json, const struct daemon_container *container)
{
	json_open(json, "Ulimits", '[');
	if (container->kind->names_ulimits) {
		put_ulimit(json, "nofile", RLIMIT_NOFILE);
		put_ulimit(json, "nproc", RLIMIT_NPROC);
	}
	json_close(json, ']');
}

/* A daemon refuses more processors than there are. */
static bool limits_cpu(uint64_t millicores)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);

	return millicores > 0 && count > 0 && millicores < (uint64_t)count * 1000u;
}

static void put_limits(struct json_out *json, const struct daemon_container *container)
{
	const struct cgroup_limits limits = group_limits_of(container->spec);

	json_u64(json, "Memory", limits.memory_bytes);
	json_u64(json, "MemorySwap", limits.memory_bytes);
	json_u64(json, "PidsLimit", limits.processes);
	if (limits_cpu(limits.cpu_millicores)) {
		/* The kernel's least is a millisecond of a second. */
		uint64_t period = limits.cpu_millicores < 10 ? 10 * PERIOD_US : PERIOD_US;
		json_u64(json, "CpuPeriod", period);
		json_u64(json, "CpuQuota", limits.cpu_millicores * period / 1000u);
	}
}

static void put_host(struct json_out *json, const struct daemon_container *container)
{
	json_open(json, "HostConfig", '{');
	json_text(json, "NetworkMode", "none");
	json_text(json, "IpcMode", "private");
	json_text(json, "CgroupnsMode", "private");
	json_bool(json, "ReadonlyRootfs", true);
	json_bool(json, "AutoRemove", true);
	json_bool(json, "Init", false);
	json_bool(json, "Privileged", false);
	put_texts(json, "CapDrop", "ALL");
	put_texts(json, "SecurityOpt", "no-new-privileges");
	json_open(json, "LogConfig", '{');
	json_text(json, "Type", "none");
	json_close(json, '}');
	if (container->runtime) {
		json_text(json, "Runtime", container->runtime);
	}
	put_limits(json, container);
	put_ulimits(json, container);
	put_places(json, container);
	put_mounts(json, container);
	json_close(json, '}');
}

/* One of the image's would be a process without the policy's filter, beside the program. */
static void put_no_healthcheck(struct json_out *json)
{
	json_open(json, "Healthcheck", '{');
	put_texts(json, "Test", "NONE");
	/* Podman checks these nevertheless. */
	json_u64(json, "Interval", HEALTH_NS);
	json_u64(json, "Timeout", HEALTH_NS);
	json_u64(json, "Retries", 1);
	json_close(json, '}');
}

void daemon_body_write(const struct daemon_container *container, struct buf *out)
{
	struct json_out json = { .buf = out };

	json_open(&json, NULL, '{');
	json_text(&json, "Image", container->image);
	put_texts(&json, "Entrypoint", DAEMON_AGENT);
	put_texts(&json, "Cmd", FRAME_AGENT_STAYS);
	put_texts(&json, "Env", NULL);
	json_text(&json, "User", PROGRAM);
	json_text(&json, "WorkingDir", "/");
	json_text(&json, "Hostname", "brig");
	json_bool(&json, "Tty", false);
	json_bool(&json, "AttachStdin", true);
	json_bool(&json, "AttachStdout", true);
	json_bool(&json, "AttachStderr", true);
	json_bool(&json, "OpenStdin", true);
	json_bool(&json, "StdinOnce", true);
	json_bool(&json, "NetworkDisabled", true);
	put_no_healthcheck(&json);
	json_open(&json, "Labels", '{');
	json_text(&json, DAEMON_LABEL, container->owner);
	json_close(&json, '}');
	put_host(&json, container);
	json_close(&json, '}');
}
