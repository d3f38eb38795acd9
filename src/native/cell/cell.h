/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a cell that is being built, and the processes that build it.
 *
 * Theory of operation. The warden (brig itself, or a program that links libbrig) makes the plan,
 * then carries out its own steps: control group, clone3, id maps. The clone is the cell's pid 1. It
 * carries out the init steps, in the set-up user namespace where it is root; then it spawns the
 * payload process, which takes its own id, enters the inner user namespace (so that the mount flags
 * are locked), drops everything and execs the program. pid 1 then gives up its privileges too and
 * only reaps: it is brig-init.
 *
 * Lifetimes: brig-init dies when the warden's end of the control socket closes, however the warden
 * ended; with brig-init the kernel kills every other process in the pid namespace. When the program
 * ends, brig-init reports and exits.
 *
 * After the clone only async-signal-safe calls are made: the host may have threads.
 */
#ifndef BRIG_NATIVE_CELL_CELL_H
#define BRIG_NATIVE_CELL_CELL_H

#include <sys/types.h>

#include "kernel/cgroup/cgroup.h"
#include "native/messages/assignment.h"
#include "native/messages/wire.h"
#include "native/plan/plan.h"

/* Makes the network namespace, the slowest one to make, while pid 1 builds the root. */
struct net_helper {
	pid_t pid;
	int fd; /* the namespace; or -errno */
	/* /proc/sys of the host, where each network has its own settings; -1: not there */
	int settings;
	_Alignas(16) char stack[8192];
};

struct cell {
	const struct plan *plan;
	uint64_t *took_ns; /* shared memory, one per step; NULL: not measured */

	/* warden */
	struct cgroup_manager *groups; /* borrowed */
	struct cgroup *group;          /* owned */
	const char *name;              /* borrowed: of its control group */
	pid_t pid;
	int pidfd;          /* owned */
	bool foreign;       /* its parent is a template's keeper, which waits for it */
	int control;        /* owned: the warden's end; in the cell: its own end */
	int control_inside; /* owned until the clone */

	/* the cell's side */
	int stdio[3];       /* become 0, 1, 2; owned until the clone */
	bool terminal;      /* they are one terminal, the program's own */
	int root;           /* the new root, while it is built */
	int report_pipe[2]; /* payload -> init */
	int go[2];          /* init -> payload; in a cell made ahead warden -> payload, [0] alone */
	pid_t payload;
	int payload_pidfd;
	int assignment_fd; /* made ahead: the file for the assignment; -1: none */
	int value_fd;      /* the file for the program's value; -1: none */
	int channel_fd;    /* made ahead: its end of a session's channel; -1: none */
	/* Of a template's clone whose payload process gets its memory: see payload_start.c. */
	struct cell *twin; /* the payload's own copy of all this; NULL: it gets one of the memory */
	char *twin_stack;  /* its stack: the end */
	int left[2];       /* brig-init's program -> payload: the memory is the payload's alone */
	int init_image;    /* the program that pid 1 becomes; -1: it stays what it is */
	struct assignment assignment; /* in the payload */
	/* Set in a template: continues a sealed payload that does not exec; does not return. */
	void (*resumed)(struct cell *cell);
	struct net_helper net;
	int names; /* without a network: the socket that receives failed name lookups; -1: none */
	int listeners[NET_PORTS_MAX + 2]; /* for the gate: DNS by UDP, by TCP, then each port */
	unsigned listeners_count;
	unsigned failed; /* index of the step that failed */
};

/* The settings of a network that another program has made, and which the caller has entered. */
int net_adopt(void);

/* A time namespace for children, whose clocks start near zero. */
int clocks_begin(void);

typedef int (*step_function)(struct cell *cell, const struct step *step);

/* The only loop: carries out all steps of one actor, in order. 0 or -errno with cell->failed. */
int cell_execute(struct cell *cell, enum actor actor);
/* The same for the steps after the last one that was carried out. */
int cell_execute_rest(struct cell *cell, enum actor actor);

/* The functions, by kind, grouped by their files. */
int step_cgroup(struct cell *cell, const struct step *step);
int step_clone(struct cell *cell, const struct step *step);
int step_idmap(struct cell *cell, const struct step *step);
int step_attach(struct cell *cell, const struct step *step);
int step_release(struct cell *cell, const struct step *step);
int step_group(struct cell *cell, const struct step *step);

int step_join(struct cell *cell, const struct step *step);
int step_await(struct cell *cell, const struct step *step);
int step_selfmap(struct cell *cell, const struct step *step);
int step_close(struct cell *cell, const struct step *step);
int step_become(struct cell *cell, const struct step *step);
int step_counts(struct cell *cell, const struct step *step);
int step_keyring(struct cell *cell, const struct step *step);
int step_net(struct cell *cell, const struct step *step);
int step_netenter(struct cell *cell, const struct step *step);
int step_names(struct cell *cell, const struct step *step);
int step_nethide(struct cell *cell, const struct step *step);
int step_route(struct cell *cell, const struct step *step);
int step_listen(struct cell *cell, const struct step *step);
int step_gate(struct cell *cell, const struct step *step);
int step_cgroupns(struct cell *cell, const struct step *step);
int step_hostname(struct cell *cell, const struct step *step);
int step_time(struct cell *cell, const struct step *step);
int step_spawn(struct cell *cell, const struct step *step);
int step_seal(struct cell *cell, const struct step *step);
int step_ready(struct cell *cell, const struct step *step);
int step_hold(struct cell *cell, const struct step *step);
int step_start(struct cell *cell, const struct step *step);

int step_private(struct cell *cell, const struct step *step);
int step_root(struct cell *cell, const struct step *step);
int step_overlay(struct cell *cell, const struct step *step);
int step_dir(struct cell *cell, const struct step *step);
int step_link(struct cell *cell, const struct step *step);
int step_file(struct cell *cell, const struct step *step);
int step_bind(struct cell *cell, const struct step *step);
int step_devices(struct cell *cell, const struct step *step);
int step_proc(struct cell *cell, const struct step *step);
int step_writable(struct cell *cell, const struct step *step);
int step_input(struct cell *cell, const struct step *step);
int step_mount(struct cell *cell, const struct step *step);
int step_handles(struct cell *cell, const struct step *step);
int step_pivot(struct cell *cell, const struct step *step);
int step_lockroot(struct cell *cell, const struct step *step);

int step_session(struct cell *cell, const struct step *step);
int step_user(struct cell *cell, const struct step *step);
int step_inner(struct cell *cell, const struct step *step);
int step_stdio(struct cell *cell, const struct step *step);
int step_workdir(struct cell *cell, const struct step *step);
int step_rlimit(struct cell *cell, const struct step *step);
int step_caps(struct cell *cell, const struct step *step);
int step_nnp(struct cell *cell, const struct step *step);
int step_landlock(struct cell *cell, const struct step *step);
int step_seccomp(struct cell *cell, const struct step *step);
int step_go(struct cell *cell, const struct step *step);
int step_assign(struct cell *cell, const struct step *step);
int step_resume(struct cell *cell, const struct step *step);
int step_value(struct cell *cell, const struct step *step);
int step_letgo(struct cell *cell, const struct step *step);
int step_channel(struct cell *cell, const struct step *step);
int step_exec(struct cell *cell, const struct step *step);

/* The code of the cell's pid 1, from its first instruction; never returns. */
_Noreturn void init_main(struct cell *cell);
#endif
