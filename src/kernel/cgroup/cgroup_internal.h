/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kinds of control group: the table of operations, the objects, small files. */
#ifndef BRIG_KERNEL_CGROUP_CGROUP_INTERNAL_H
#define BRIG_KERNEL_CGROUP_CGROUP_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes/buf.h"
#include "base/list.h"
#include "kernel/cgroup/cgroup.h"
#include "kernel/cgroup/dbus.h"

#define CGROUP_NAME_MAX  160 /* "brig-" pid "-" start "-" id (64) ":" pid namespace */
#define CGROUP_PATH_MAX  256 /* prefix, name, "/", file */
#define CGROUP_TREES_MAX 4   /* v1: pids, memory, cpu, cpuacct, when each is mounted alone */
#define CGROUP_TEXT_MAX  4096

/* v2: the leaf for processes that would prevent passing controllers on. */
#define CGROUP_LEAF "brig-supervisor"

#define CGROUP_MEMORY  1u
#define CGROUP_PIDS    2u
#define CGROUP_CPU     4u
#define CGROUP_CPUACCT 8u

/* A directory in which groups are made. v2 has one; v1 has one per hierarchy. */
struct cgroup_tree {
	int fd;               /* owned */
	unsigned controllers; /* CGROUP_* */
	const char *prefix;   /* "" or "brig/": in front of every name; a literal */
	dev_t device;         /* v1: identifies the hierarchy */
};

struct cgroup_ops {
	const char *means;
	bool memory_fd_polls; /* POLLPRI on memory.events */
	int (*create)(struct cgroup *cgroup, struct brig_error *err);
	int (*limit)(struct cgroup *cgroup); /* applies new cgroup->limits; NULL: not supported */
	int (*attach)(struct cgroup *cgroup, pid_t pid, struct brig_error *err);
	int (*admit)(struct cgroup *cgroup, uid_t id); /* NULL: not needed */
	void (*usage)(struct cgroup *cgroup, struct cgroup_usage *usage);
	void (*watch)(struct cgroup *cgroup); /* makes the event fd, if the kind has one */
	void (*event_clear)(struct cgroup *cgroup);
	bool (*kill)(struct cgroup *cgroup);
	void (*weigh)(struct cgroup *cgroup, unsigned part); /* NULL: not supported */
	void (*hurry)(struct cgroup *cgroup);  /* lifts the limit on processor time; NULL: none */
	bool (*remove)(struct cgroup *cgroup); /* one try; true: nothing is left */
};

/* Facts of the host, read once and passed to every probe. */
struct cgroup_facts {
	const char *root;
	int root_fd;
	bool real;        /* not a test's fake tree: file system types are checked */
	const char *self; /* the text of /proc/self/cgroup */
	bool no_systemd;
};

struct cgroup_manager {
	const struct cgroup_ops *ops;
	layer_set layers;
	char *where; /* owned */
	char *why;   /* owned */
	struct cgroup_tree trees[CGROUP_TREES_MAX];
	size_t tree_count;
	unsigned prepared;         /* v2: controllers known to be enabled where groups are made */
	struct dbus_address bus;   /* scope */
	bool bus_is_private;       /* scope: systemd's own socket, no message bus between */
	int scope_root_fd;         /* scope: the v2 mount; owned, -1 elsewhere */
	pid_t pid;                 /* of the process with this start time: a fork has another one */
	unsigned long long start;  /* /proc/<pid>/stat field 22 */
	unsigned long long pid_ns; /* 0 in the host's first pid namespace */
	uint64_t cpu_count;        /* 0: not read yet */
	bool confined;             /* root in a user namespace of our own only */
	bool hurried;              /* groups are removed without waiting */
	struct list leftovers;     /* owned: groups that could not be removed yet, next try first */
	size_t leftovers_count;
};

/* v1: the counters that are read each time. */
enum cgroup_figure {
	CGROUP_TASKS_NOW,
	CGROUP_TASKS_PEAK,
	CGROUP_MEMORY_PEAK,
	CGROUP_CPU_USED,
	CGROUP_OOM_KILLS,
	CGROUP_SOCKETS_NOW,
	CGROUP_FIGURES,
};

struct cgroup {
	struct cgroup_manager *manager; /* borrowed */
	struct list_node node;          /* of the leftovers */
	unsigned tries;                 /* to remove it */
	char name[CGROUP_NAME_MAX];
	struct cgroup_limits limits;
	bool made[CGROUP_TREES_MAX];
	int join_fds[CGROUP_TREES_MAX]; /* v1; owned */
	int usage_fds[CGROUP_FIGURES];  /* v1; owned; -1: not open now */
	int dir_fd;                     /* v2, scope; owned */
	int memory_fd;                  /* v2: memory.events, which is polled; owned */
	int event_fd;                   /* v1's eventfd; owned */
	bool watched;                   /* memory_fd and event_fd are set as far as possible */
	struct cgroup_usage last;       /* scope: systemd may remove the group before it is read */
};

extern const struct cgroup_ops cgroup_v1_ops;

/* Each checks whether the host has its kind. 1: yes, 0: no (with the reason in `why`), -errno. */
int cgroup_v2_probe(struct cgroup_manager *manager, const struct cgroup_facts *facts,
		    struct buf *why);
int cgroup_v1_probe(struct cgroup_manager *manager, const struct cgroup_facts *facts,
		    struct buf *why);
int cgroup_scope_probe(struct cgroup_manager *manager, const struct cgroup_facts *facts,
		       struct buf *why);
int cgroup_none_probe(struct cgroup_manager *manager, const struct cgroup_facts *facts,
		      struct buf *why);

/*
 * For a group that somebody else removes, maybe while it is read: counts only grow, and what it has
 * counted once stays. `last` is what was read before.
 */
void cgroup_keep_last(struct cgroup *cgroup, const struct cgroup_usage *last,
		      struct cgroup_usage *usage);

/* v2, shared with the scope, whose group is one too. */
int cgroup_v2_base(struct cgroup_manager *manager, const struct cgroup_facts *facts,
		   struct buf *why);
int cgroup_v2_mount(const struct cgroup_facts *facts, const char **ret_name);
int cgroup_v2_enable(int dir_fd, unsigned wanted);
int cgroup_v2_prepare(struct cgroup_manager *manager, unsigned wanted, struct brig_error *err);
unsigned cgroup_v2_controllers(int dir_fd, const char *path);
layer_set cgroup_v2_layers(unsigned controllers);
void cgroup_v2_watch(struct cgroup *cgroup);
void cgroup_v2_usage(struct cgroup *cgroup, struct cgroup_usage *usage);
void cgroup_v2_event_clear(struct cgroup *cgroup);
bool cgroup_v2_kill(struct cgroup *cgroup);
void cgroup_v2_hurry(struct cgroup *cgroup);
void cgroup_v2_weigh(struct cgroup *cgroup, unsigned part);

/* The user's systemd: cgroup_systemd.c */
int cgroup_systemd_find(struct cgroup_manager *manager); /* fills in manager->bus */
int cgroup_systemd_call(const struct cgroup_manager *manager, const struct dbus_call *call,
			uint64_t deadline_ns, struct dbus_message *answer);
bool cgroup_systemd_delegates(struct cgroup_manager *manager, const char *path);

/* Waits for the leftovers. cgroup_remove.c */
void cgroup_leftovers_free(struct cgroup_manager *manager);

/* Swap must be limited only where there is any; checking is cheaper than the write. */
bool cgroup_host_swaps(void);
/* Of a group that was found: is memory limited so, with what the host could swap out? */
bool cgroup_memory_holds(int dir, bool v2, bool swaps, uint64_t most);
/* Is the limit below the machine's total, so that the cpu controller is needed? */
bool cgroup_cpu_limited(struct cgroup *cgroup);
/*
 * The kernel's smallest quota is 1 ms (Documentation/scheduler/sched-bwc.rst): shares under a
 * hundredth of a core need a longer period.
 */
void cgroup_cpu_quota(uint64_t millicores, uint64_t *quota_us, uint64_t *period_us);

/* Names: cgroup_name.c */
int cgroup_name_make(struct cgroup_manager *manager, const char *id, char name[CGROUP_NAME_MAX]);
bool cgroup_name_stale(struct cgroup_manager *manager, const char *name);
/* The name of a delegated group. */
#define CGROUP_DELEGATED "warden"
bool cgroup_name_is_delegated(const char *name);

/* Kills processes one by one where there is no cgroup.kill: cgroup_sweep.c */
void cgroup_kill_members(int tree_fd, const char *group);
/* Groups inside a group, as deep as we make them: tries once to remove each. */
void cgroup_remove_inner(int tree_fd, const char *group, bool kill);

/* Small files: cgroup_file.c. Paths are relative to a directory fd; links are not followed. */
int cgroup_file_write(int dir_fd, const char *path, const char *text);
int cgroup_file_write_u64(int dir_fd, const char *path, uint64_t value);
ssize_t cgroup_file_read(int dir_fd, const char *path, char *text, size_t size);
bool cgroup_file_read_u64(int dir_fd, const char *path, uint64_t *ret);
bool cgroup_text_u64(const char *text, uint64_t *ret);
/* The number after `key` at the start of a line: "oom_kill 3". */
bool cgroup_text_value(const char *text, const char *key, uint64_t *ret);
bool cgroup_text_word(const char *text, const char *word); /* one of blank-separated words */
/* This process's path in a hierarchy: `controller` "" is v2's. Without the leading '/'. */
bool cgroup_self_path(const char *self, const char *controller, char *path, size_t size);
#endif
