/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trusted local run: a process group with the caller's own rights, and no walls.
 *
 * The warden starts a supervisor, which starts the program. The supervisor is the subreaper of all
 * processes that the program starts, and kills them when the program ends or when the warden's end
 * of the control socket closes.
 */
#ifndef BRIG_LOCAL_LOCAL_H
#define BRIG_LOCAL_LOCAL_H

#include "kernel/cgroup/cgroup.h"
#include "run/run_internal.h"

/* Messages of the supervisor to the warden, in this order; FAILED comes in place of the others. */
enum local_kind {
	LOCAL_STARTED = 1, /* the program has begun */
	LOCAL_EXITED,
	LOCAL_FAILED, /* it could not begin */
};

/* The parts of a start that can fail. */
enum local_stage {
	LOCAL_GROUP,
	LOCAL_SPAWN,
	LOCAL_STDIO,
	LOCAL_DIRECTORY,
	LOCAL_LIMITS,
	LOCAL_EXEC,
	LOCAL_STAGES,
};

/* The life of the program, as the supervisor reports it. */
enum local_state {
	LOCAL_STARTING,
	LOCAL_RUNNING,
	LOCAL_ENDED, /* or it could not begin */
};

struct local_message {
	uint32_t kind;  /* enum local_kind */
	uint32_t stage; /* of FAILED */
	int32_t errnum; /* the same */
	int32_t code, status;
	uint32_t unused;
	uint64_t cpu_ns; /* of the program, and of all reaped processes */
};

/* Commands of the warden to the supervisor: a byte each. End of file: kill all. */
enum local_command {
	LOCAL_GO = 'g',   /* it is in its control group: begin */
	LOCAL_TERM = 't', /* SIGTERM to the program's process group */
};

struct local_cell {
	struct cgroup *group;   /* owned; NULL: none */
	pid_t pid;              /* of the supervisor; 0: reaped */
	int pidfd;              /* owned */
	int control;            /* owned: the warden's end */
	enum local_state state; /* by the supervisor's messages */
	bool asked;             /* the program was asked to end */
	int build_errnum;       /* the start failed: why... */
	enum local_stage build_stage;
};

/* The supervisor's input, made before the clone. */
struct local_start {
	const struct spec *spec;
	int control; /* its end */
	int stdio[3];
	bool terminal;
	int join[CGROUP_JOIN_MAX]; /* v1: files to which it writes itself */
	int join_count;
};

/* Prints the steps of a start: explain.c. */
void local_explain(const struct spec *spec, bool json, struct buf *out);
/* The code of the supervisor, from its first instruction: supervise.c. */
_Noreturn void local_supervise(struct local_start *start);
#endif
