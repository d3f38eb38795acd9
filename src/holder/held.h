/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cell in a holder (holder.h), as the warden sees it: what the providers have in common whose
 * cells are built by a program of another project, a *tool*.
 */
#ifndef BRIG_HOLDER_HELD_H
#define BRIG_HOLDER_HELD_H

#include "agent_link/agent_link.h"
#include "base/bytes/buf.h"
#include "base/strlist.h"
#include "holder/holder.h"
#include "kernel/cgroup/cgroup.h"
#include "native/calls/call_listener.h"
#include "native/plan/plan.h"
#include "run/run_internal.h"

#define HELD_PATH_MAX  512
#define HELD_LOG_BYTES 2048

/* The differences between the providers. */
struct held_kind {
	const char *product; /* that the tool builds: "container" */
	const char *step;    /* for errors: "runtime" */
	const char *other;   /* the repair of a tool that fails, after the names of others */
	const char *late;    /* the repair of a tool that hangs */
	bool stays;          /* the tool stays around the agent, and ends with it */
	bool whole;          /* the holder makes the whole root, and the tool only enters it */
	bool alone;          /* there is no agent: a tool that ends with status 0 has done it all */
	bool confined;       /* the tool has no capabilities, and sees programs of the host only */
	bool own_kernel;     /* the program's processes and files are not those of this kernel */
	bool agent_stays;    /* after its last frame, until its stream ends: FRAME_AGENT_STAYS */
	/* The tool answers the program's calls: its processes and sockets are not the host's. */
	bool emulated;
	const struct agent_options *agent; /* NULL: none */
	uint64_t start_ns;                 /* how long the tool may take; 0: the usual time */
	/* Instead of the next two. 1: the program may begin; 0: it does not; -errno. */
	int (*ready)(struct run *run);
	/* Fills in held->agent, when it is ready. */
	int (*find_agent)(struct run *run, struct brig_error *err);
	/* Are the walls there? NULL: they are as the tool was told to make them. */
	int (*check)(struct run *run, struct brig_error *err);
};

enum held_event {
	HELD_EVENT_CONTROL,
	HELD_EVENT_END,
	HELD_EVENT_LOG,
	HELD_EVENT_CALLS,
	HELD_EVENT_LINK, /* the first of the link's */
};

/* The holder's work in the agent's namespaces. */
enum held_entry {
	HELD_OUTSIDE,
	HELD_ENTERING, /* it was asked for */
	HELD_ENTERED,
};

struct held_cell {
	/* The provider fills these in, in open(). */
	const struct held_kind *kind;
	const char *tool, *package; /* borrowed: the tool's name, and the package that has it */
	char path[HELD_PATH_MAX];   /* of the tool */
	struct strlist arguments;   /* owned: with the path as the first one */
	/* borrowed: the holder executes this, which starts the tool; NULL: the tool itself */
	const char *starter;
	struct buf bundle; /* owned: config.json of the tool; empty: it needs none */
	uid_t program;     /* its id, as the holder sees it */
	uid_t outer;       /* the first id of the holder, on the host... */
	gid_t outer_group;
	unsigned ids;              /* ...and how many it has */
	struct holder_files files; /* for the tool */
	bool kvm;                  /* a confined tool has /dev/kvm */
	bool urandom;              /* likewise: /dev/urandom */
	/* The tool's own limits, if the program's memory and processes are in a kernel of it. */
	struct held_group {
		uint64_t memory_bytes; /* 0: the group has the program's limits */
		uint64_t processes;
	} tool_group;
	unsigned char greeting[64]; /* the first bytes of the stream */
	size_t greeting_size;
	void *own; /* the provider's; freed before close */

	struct plan plan;
	struct cgroup *group; /* owned; NULL: none */
	pid_t pid;            /* of the holder; 0: reaped */
	int pidfd;            /* owned */
	int control;          /* owned: the warden's end */
	int proc;             /* owned: of the holder; -1: none */
	int sockets;          /* owned: the cell's sockstat, where no group counts; -1 */
	int log;              /* owned: the tool's messages; -1: closed */
	int gate; /* owned: the line of a gate that the agent forwards connections to; -1: none */
	char messages[HELD_LOG_BYTES];
	size_t messages_size;
	struct agent_link link;
	struct call_listener calls;
	struct holder_identity identity;
	long agent; /* its process id in the holder's namespace; 0: not known */
	bool has_handles, tool_done, asked;
	bool released; /* the agent that stays may end */
	enum held_entry entry;
	struct brig_error *refused; /* owned: the check has failed; NULL: it has not */
	bool early;                 /* the tool ended before the agent was ready */
	bool late;                  /* the tool did not start the agent in time */
	int build_errnum;           /* a step of the holder failed... */
	enum holder_step build_step;
	uint32_t tool_status; /* ...or the tool */
};

static inline struct held_cell *held_of(const struct run *run)
{
	return run->cell;
}

/* Makes run->cell, with a plan. */
int held_open(struct run *run, const struct held_kind *kind, struct brig_error *err);
/* The functions of a provider: see provider.h. */
int held_launch(struct run *run, struct brig_error *err);
int held_assign(struct run *run, const struct spec *spec);
int held_handle(struct run *run, unsigned number);
int held_listen(struct run *run);
void held_mute(struct run *run);
int held_alarm(struct run *run);
bool held_has_program(const struct run *run);
int held_ask_to_end(struct run *run);
int held_interrupt(struct run *run);
void held_next_round(struct run *run);
void held_take_options(struct run *run);
void held_kill(struct run *run);
int held_ended(struct run *run, struct brig_error *err);
void held_report(struct run *run);
void held_advise(struct run *run);
void held_nothing(struct run *run);
void held_close(struct run *run);
int held_layer_of(const char *step);
/*
 * All layers; returns those that are not in `own`, the provider's, or that this host lacks.
 */
layer_set held_resolve(const struct cgroup_manager *groups, layer_set own, struct spec *spec);

/* Are the messages of its tool still read? */
bool held_hears(const struct held_cell *held);
/* The limits of its group: the program's, and the use of a tool that stays. */
struct cgroup_limits held_limits(const struct run *run);
/*
 * From here on the limits are the program's. 1: it may begin; 0: the agent is not ready yet, or the
 * tool not done; -errno.
 */
int held_ready(struct run *run);
/* For find_agent() of a tool that is gone when the agent is ready. */
int held_find_newest(struct run *run, struct brig_error *err);
/* The function that takes the filter's listener; NULL: the layer is not wanted. held_calls.c */
int (*held_listener(const struct spec *spec))(struct run *run, int fd);
/* It is readable. */
int held_on_calls(struct run *run);
/* The reason for which the cell was not built. 0: none is known. */
int held_build_error(const struct held_cell *held, struct brig_error *err);
/*
 * Builds an empty cell, and waits for its agent: can it be done on this host? Fills in the finding.
 * `spec` has the provider and its own members; the rest is filled in here.
 */
void held_probe(const struct probe_report *host, struct spec *spec, uint64_t deadline_ns,
		struct probe_finding *ret);
/* The arguments of a trial, and the exit status that it must have; without any it is not tried. */
struct held_trial {
	const struct strlist *arguments;
	uint64_t status;
};
/* Runs the program with them, until deadline_ns. 0, or -errno with the reason. */
int held_try(const char *path, const struct held_trial *trial, uint64_t deadline_ns,
	     struct brig_error *err);
/* The part that makes a layer, for people; `tool`: that of the layers that brig does not make. */
const char *held_means(enum layer layer, const char *tool);
/* A regular file that can be executed. */
bool held_is_program(const char *path);
/* Looks for a program in the directories of PATH. */
bool held_find_program(const char *name, char path[HELD_PATH_MAX]);

/* A step of the start, for `brig explain`. */
struct held_step {
	const char *actor, *name, *what, *why;
	layer_set layers; /* it is there for one of these; 0: always */
};
struct json_out;
/* As lines; or as JSON, with a writer: the list "steps" of an open object. */
void held_print_steps(const struct held_step *steps, size_t count, const struct spec *spec,
		      struct json_out *json, struct buf *out);
/* The members of a provider that every one with a holder has. */
#define HELD_PROVIDER                                                                              \
	.layer_of = held_layer_of, .launch = held_launch, .assign = held_assign,                   \
	.event = held_handle, .listen = held_listen, .mute = held_mute, .alarm = held_alarm,       \
	.has_program = held_has_program, .ask_to_end = held_ask_to_end, .kill = held_kill,         \
	.ended = held_ended, .report = held_report, .advise = held_advise,                         \
	.interrupt = held_interrupt, .next_round = held_next_round, .rest = held_nothing,          \
	.take_options = held_take_options, .release = held_nothing, .close = held_close
#endif
