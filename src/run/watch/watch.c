/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches a cell: see watch.h. The kernel enforces the limits of memory, processes and disk by
 * itself. Checked from time to time are cpu time (no cgroup limits that), peaks that the kernel
 * does not keep, and, on hosts without cgroups, memory.
 */
#include "run/watch/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"

#define MS_NS              1000000u
#define LOOK_LEAST_NS      (2ull * MS_NS)
#define LOOK_MOST_NS       (100ull * MS_NS)
#define LOOK_WITHOUT_GROUP (10ull * MS_NS)
/* A program that was refused this many forks is a fork bomb, not a program that copes. */
#define FORK_REFUSALS_MAX 256
/*
 * The most bytes in a socket, whose buffers cannot be enlarged; and how many sockets are not
 * counted.
 */
#define SOCKET_BYTES (256u << 10)
#define SOCKETS_FREE 64u

/*
 * The more processor time a run has used, the more it yields to runs that have just begun: its
 * weight is divided by `part`. Most runs end in the first age.
 */
static const struct {
	uint64_t cpu_ns;
	unsigned part;
} ages[] = { { 0, 1 }, { 20ull * MS_NS, 5 }, { 200ull * MS_NS, 25 } };
#define AGES_WATCHED_NS (1000ull * MS_NS) /* how long it is checked when an age may be over */

void watch_start(struct limit_watch *watch, uint64_t now_ns)
{
	watch->start_ns = now_ns;
}

void watch_done(struct limit_watch *watch)
{
	proc_memory_done(&watch->memory);
}

static void raise_to(uint64_t *peak, uint64_t value)
{
	if (value > *peak) {
		*peak = value;
	}
}

static uint64_t since(uint64_t value, uint64_t base)
{
	return value > base ? value - base : 0;
}

static void look_at_disk(struct limit_watch *watch, struct facts *facts)
{
	struct statfs fs;

	if (watch->sandbox < 0 || fstatfs(watch->sandbox, &fs) < 0) {
		return;
	}
	uint64_t used = (fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
	uint64_t inodes = fs.f_files - fs.f_ffree;
	raise_to(&facts->disk_peak_bytes,
		 used > watch->disk_base_bytes ? used - watch->disk_base_bytes : 0);
	raise_to(&facts->inodes_peak,
		 inodes > watch->inodes_base ? inodes - watch->inodes_base : 0);
	facts->disk_full |= fs.f_bfree == 0;
	facts->inodes_full |= fs.f_ffree == 0;
}

/* "sockets: used 7": only those of the cell's own network, also those being sent to a process. */
static uint64_t sockets_used(int fd)
{
	static const char head[] = "sockets: used ";
	char text[64];
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0) {
		return 0;
	}
	text[n] = '\0';
	return strncmp(text, head, strlen(head)) == 0 ? strtoull(text + strlen(head), NULL, 10) : 0;
}

/* The bytes that wait in sockets are not known: many sockets count as full, a few as empty. */
static uint64_t sockets_bytes(int fd, uint64_t most)
{
	uint64_t used = sockets_used(fd);

	return used > SOCKETS_FREE && used * SOCKET_BYTES > most ? used * SOCKET_BYTES : 0;
}

static void look_at_usage(struct limit_watch *watch, struct facts *facts)
{
	struct cgroup_usage usage = { 0 };

	if (watch->group) {
		cgroup_usage(watch->group, &usage);
	}
	watch->counted = usage.has_memory && usage.has_processes && usage.has_cpu;
	facts->oom_kills = usage.oom_kills;
	facts->oom_outside = usage.oom_outside;
	facts->fork_refusals = since(usage.fork_refusals, watch->refusals_base);
	facts->tasks_now = usage.has_processes ? usage.processes_now : 0;
	if (watch->own_kernel) {
		usage.memory_peak_bytes = usage.processes_peak = usage.processes_now = 0;
		usage.sockets_bytes = 0;
	}
	raise_to(&facts->memory_peak_bytes, usage.memory_peak_bytes + usage.sockets_bytes);
	facts->sockets_over = usage.sockets_bytes > watch->spec->limits.memory_bytes / 2;
	/* brig-init and the like are in the group, but do not count for the program */
	unsigned own = watch->spec->provider->own_processes;
	bool shown = watch->spec->provider->tasks_each == 0;
	raise_to(&facts->processes_peak, shown ? since(usage.processes_peak, own) : 0);
	raise_to(&facts->processes_peak, shown ? since(usage.processes_now, own) : 0);
	raise_to(&facts->cpu_ns, since(usage.cpu_ns, watch->cpu_base_ns));
	if (watch->proc >= 0 && !watch->counted) {
		struct proc_usage seen;
		proc_usage(watch->proc, watch->init, &watch->memory, &seen);
		if (!usage.has_memory && !watch->own_kernel) {
			raise_to(&facts->memory_peak_bytes,
				 seen.memory_bytes + facts->disk_peak_bytes);
			raise_to(&facts->memory_peak_bytes,
				 sockets_bytes(watch->sockets, watch->spec->limits.memory_bytes));
		}
		if (!usage.has_processes && shown && !watch->own_kernel) {
			raise_to(&facts->processes_peak, since(seen.tasks, own - 1));
		}
		if (!usage.has_cpu) {
			raise_to(&facts->cpu_ns, since(seen.cpu_ns, watch->cpu_base_ns));
		}
	}
}

/* By all processor time used up to now. */
static void take_age(struct limit_watch *watch, uint64_t used_ns)
{
	uint64_t cpu_ns = used_ns + watch->used_before_ns;
	unsigned age = 0;

	while (!watch->own_kernel && age + 1 < ARRAY_SIZE(ages) && cpu_ns > ages[age + 1].cpu_ns) {
		age++;
	}
	if (watch->group && !watch->building && age != watch->age) {
		watch->age = age;
		cgroup_weigh(watch->group, ages[age].part);
	}
}

uint64_t watch_rebase(struct limit_watch *watch, struct facts *facts)
{
	struct facts before = { 0 };
	uint64_t last_ns = watch->cpu_base_ns;

	watch->cpu_base_ns = watch->refusals_base = 0;
	look_at_usage(watch, &before);
	watch->cpu_base_ns = before.cpu_ns;
	watch->refusals_base = before.fork_refusals;
	*facts = (struct facts){ 0 };
	take_age(watch, 0); /* the use of a session's last run does not count for the next */
	return since(before.cpu_ns, last_ns);
}

void watch_used_before(struct limit_watch *watch, uint64_t cpu_ns)
{
	watch->used_before_ns = cpu_ns;
	take_age(watch, 0);
}

/* How long its age lasts at least, if it uses one processor. */
static uint64_t age_left_ns(const struct limit_watch *watch, uint64_t now_ns, uint64_t used_ns)
{
	uint64_t cpu_ns = used_ns + watch->used_before_ns;

	if (!watch->group || watch->building || watch->age + 1 == ARRAY_SIZE(ages) ||
	    now_ns - watch->start_ns > AGES_WATCHED_NS || cpu_ns > ages[watch->age + 1].cpu_ns) {
		return UINT64_MAX;
	}
	return ages[watch->age + 1].cpu_ns - cpu_ns;
}

enum ending watch_look(struct limit_watch *watch, uint64_t now_ns, struct facts *facts)
{
	const struct brig_limits *limits = &watch->spec->limits;

	look_at_disk(watch, facts);
	look_at_usage(watch, facts);
	take_age(watch, facts->cpu_ns);
	/* A process limit by rlimit leaves no other trace. */
	facts->processes_full |=
		watch->spec->watch_processes && facts->processes_peak >= limits->processes;
	if (facts->oom_kills > 0 || facts->sockets_over) {
		return ENDING_MEMORY;
	}
	if (watch->spec->watch_memory && facts->memory_peak_bytes > limits->memory_bytes) {
		return ENDING_MEMORY;
	}
	if (watch->waits) {
		return ENDING_NONE;
	}
	if (facts->cpu_ns >= limits->cpu_ns) {
		return ENDING_CPU;
	}
	if (facts->fork_refusals > FORK_REFUSALS_MAX) {
		return ENDING_PROCESSES;
	}
	if (now_ns - watch->start_ns >= limits->wall_ns) {
		return ENDING_WALL;
	}
	return ENDING_NONE;
}

void watch_rest(struct limit_watch *watch)
{
	if (watch->group) {
		cgroup_rest(watch->group);
	}
}

uint64_t watch_next_ns(const struct limit_watch *watch, uint64_t now_ns, const struct facts *facts)
{
	const struct spec *spec = watch->spec;
	uint64_t wall_end = watch->start_ns + spec->limits.wall_ns;
	uint64_t cpu_left =
		spec->limits.cpu_ns > facts->cpu_ns ? spec->limits.cpu_ns - facts->cpu_ns : 0;
	/* Not before the cpu time can be used up, if every core works for the cell. */
	uint64_t wait = cpu_left / (spec->cpus ? spec->cpus : 1);
	/*
	 * Use that the kernel does not count is lost with every process that ends between two
	 * checks.
	 */
	bool counted = !spec->watch_memory && (spec->layers & LAYER_BIT(LAYER_CGROUP_CPU));
	uint64_t most = counted ? LOOK_MOST_NS : LOOK_WITHOUT_GROUP;
	/* Where only these checks enforce the limit of memory: the nearer it is, the more often. */
	if (spec->watch_memory && facts->memory_peak_bytes > spec->limits.memory_bytes / 4) {
		most = LOOK_LEAST_NS;
	}

	uint64_t age_left = age_left_ns(watch, now_ns, facts->cpu_ns);

	most = age_left < most ? age_left : most;
	wait = wait > most ? most : wait;
	wait = wait < LOOK_LEAST_NS ? LOOK_LEAST_NS : wait;
	return watch->waits || now_ns + wait < wall_end ? now_ns + wait : wall_end;
}

void watch_means(const struct spec *spec, const char *cgroup_means, char *text, size_t size)
{
	layer_set layers = spec->layers;
	bool guest = spec->provider->own_groups;
	bool ns = (layers & LAYER_BIT(LAYER_USERNS)) != 0;
	bool limits_inodes =
		(layers & LAYER_BIT(LAYER_ROOTFS)) != 0 && !spec->provider->counts_inodes;

	snprintf(text, size,
		 "wall=timer cpu_time=%s cpu=%s memory=%s processes=%s disk=%s inodes=%s "
		 "open_files=rlimit file_size=rlimit stdout=pipe stderr=pipe net=%s%s",
		 layers & LAYER_BIT(LAYER_CGROUP_CPU) ? cgroup_means : "watch+rlimit",
		 layers & LAYER_BIT(LAYER_CGROUP_CPU) ? cgroup_means : "none",
		 guest                                     ? "guest"
		 : layers & LAYER_BIT(LAYER_CGROUP_MEMORY) ? cgroup_means
							   : "watch+rlimit",
		 guest                                   ? "guest"
		 : layers & LAYER_BIT(LAYER_CGROUP_PIDS) ? cgroup_means
		 : ns                                    ? "rlimit"
							 : "none",
		 layers & LAYER_BIT(LAYER_ROOTFS) ? "tmpfs" : "none",
		 limits_inodes ? "tmpfs" : "none",
		 spec->gate_ports_count            ? "gate"
		 : layers & LAYER_BIT(LAYER_NETNS) ? "netns"
						   : "none",
		 spec->limits.instructions < LIMIT_INSTRUCTIONS_NONE ? " instructions=engine" : "");
}
