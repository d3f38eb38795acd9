/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface between a run and the technology that isolates it.
 *
 * A provider is one technology of isolation: a table of functions, and a set of abilities. Each run
 * has one cell, whose state is the provider's own. The run feeds and reads the streams, watches the
 * limits, gives the verdict and collects the files; the provider builds the cell, starts the
 * program in it, reports how it ended, and kills it.
 *
 * All functions are called on the thread of the warden. None of them blocks, except close(), which
 * is bounded, and base_image(), which only the command line calls. kill() and close() may be called
 * more than once.
 */
#ifndef BRIG_PROVIDER_PROVIDER_H
#define BRIG_PROVIDER_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <brig/brig.h>

#include "kernel/layers.h"

struct buf;
struct cgroup_manager;
struct probe_finding;
struct probe_report;
struct run;
struct run_options;
struct spec;

/*
 * The abilities of a provider. A policy or a request that needs more is refused, and the error
 * names the ability.
 */
enum ability {
	ABILITY_WALLS,        /* the program cannot reach the host */
	ABILITY_OWN_ROOT,     /* it has its own file system, with a closure in it */
	ABILITY_MOUNTS,       /* directories of the host can be mounted in it */
	ABILITY_NETWORK,      /* the network is closed, except for a gate */
	ABILITY_CALL_RULES,   /* system calls are filtered by rules */
	ABILITY_CALL_WATCH,   /* system calls can be watched */
	ABILITY_HOLD,         /* cells can be made ahead */
	ABILITY_VALUE,        /* a driver runs the program, and returns its value */
	ABILITY_SESSIONS,     /* one cell can hold several runs, one after the other */
	ABILITY_PLAN,         /* a cell is built by a plan, which can be shown */
	ABILITY_TERMINAL,     /* a program can have a terminal */
	ABILITY_VENV,         /* a virtualenv of the host can run the program */
	ABILITY_INSTRUCTIONS, /* a program's instructions can be limited */
	ABILITY_COUNT,
};

struct ability_info {
	const char *name;  /* "call-rules" */
	const char *about; /* a line for people */
};
extern const struct ability_info ability_table[ABILITY_COUNT];

typedef uint32_t ability_set;
#define ABILITY_BIT(ability) ((ability_set)1 << (ability))

#define PROVIDER_SETTING_MAX 640

struct provider {
	const char *name;
	const char *about; /* a line for people */
	ability_set abilities;
	layer_set layers; /* that its cells can have; the host may lack some */
	/* A cell limits memory and processes by a control group of its own kernel. */
	bool own_groups;
	/*
	 * LAYER_CGROUP_MEMORY, LAYER_CGROUP_PIDS: a cell keeps these limits from its start, so
	 * that one made ahead serves only requests with the same. 0: a waiting cell gets them with
	 * its request.
	 */
	layer_set fixed_limits;
	/*
	 * The memory that a waiting cell takes of the host, without an interpreter. NULL: its
	 * processes are the host's, and it takes little.
	 */
	uint64_t (*held_bytes)(const struct spec *spec);
	/* Nothing limits the number of a program's files: it is counted. */
	bool counts_inodes;
	/*
	 * The files of a session stay in its cell: those of its opening are put there, and after
	 * that brig reads, writes and returns none.
	 */
	bool keeps_files;
	/*
	 * The gate shares no network with its cells: the agent in the cell forwards connections
	 * over its stream.
	 */
	bool network_by_stream;
	/* How long a session's driver may take to answer an interrupt; 0: the usual time. */
	uint64_t answer_ns;
	/* Processes of the provider's own in a cell's group: brig-init, a supervisor, an agent. */
	unsigned own_processes;
	/* Of these, the ones that count for the program's user id in its user namespace. */
	unsigned inner_processes;
	/*
	 * The most tasks of the host that stand for one process of the program, where a kernel of
	 * the cell's own is between them. 0: its processes are the host's.
	 */
	unsigned tasks_each;
	/*
	 * The cell's kernel counts processor time by a clock that goes on while the host runs
	 * others: only the host can limit it.
	 */
	bool own_clock;
	/*
	 * The folder of its own languages in data/runtimes, and in the operator's runtimes/: it
	 * runs no others, and no programs of the host. NULL: it runs what the host runs.
	 */
	const char *runtimes;

	/*
	 * Writes the policy's setting, of the provider's own, that findings depend on: of a
	 * runtime, a launcher. NULL, or false: there is none.
	 */
	bool (*setting)(const struct spec *spec, char ret[PROVIDER_SETTING_MAX]);
	/* Of its layers, those that another setting may add. */
	layer_set setting_layers;
	/*
	 * Can cells of this provider be made on this host? `host` has what the kernel can do; what
	 * else must be known is tried, until deadline_ns (monotonic) at the latest. Fills in the
	 * whole finding: one that is missing has the repair.
	 */
	void (*probe)(const struct probe_report *host, uint64_t deadline_ns,
		      struct probe_finding *ret);
	/*
	 * The same for cells of this spec, with its setting. NULL: there is none, and probe() is
	 * used.
	 */
	void (*probe_for)(const struct probe_report *host, uint64_t deadline_ns,
			  const struct spec *spec, struct probe_finding *ret);
	/*
	 * Sets spec->layers to the layers of a cell on this host. Returns the provider's layers
	 * that the host lacks: the policy decides whether they may be missing. The spec may have no
	 * setting of the provider's: then it is about the usual one.
	 */
	layer_set (*resolve)(const struct cgroup_manager *groups, struct spec *spec);
	/*
	 * The control groups that hold the limits of a run. NULL: those of brig itself. Its return
	 * may be NULL: none was found.
	 */
	const struct cgroup_manager *(*groups)(const struct run *run);
	/* The part that makes a layer of a cell, for people. NULL: brig itself makes all. */
	const char *(*means)(enum layer layer);
	/* Removes files that killed processes left on the host. NULL: there are none. */
	void (*sweep)(void);
	/*
	 * Prints the steps of a start, in order: lines for people, or {"steps": [...]} as JSON.
	 * NULL: nothing is printed.
	 */
	void (*explain)(const struct spec *spec, bool json, struct buf *out);
	/* The same for a run that was measured, with times. NULL: its steps are not measured. */
	void (*explain_run)(const struct run *run, bool json, struct buf *out);
	/*
	 * The image that cells of this spec begin from, where brig makes it: writes it to `tar`, or
	 * if that is NULL gives it to the provider's daemon, and waits. 1: the daemon had it. NULL:
	 * there is no such image.
	 */
	int (*base_image)(const struct spec *spec, struct buf *tar, char name[PROVIDER_SETTING_MAX],
			  struct brig_error *err);
	/*
	 * The layer that a step of the build belongs to, by the step's name; or -1. A cell can be
	 * built again without that layer. NULL: no step belongs to a layer.
	 */
	int (*layer_of)(const char *step);
	/*
	 * Makes a directory on the host in which the program starts; it is kept as long as the
	 * descriptor is open. NULL: the cell has its own.
	 */
	int (*make_workdir)(char **ret_path, int *ret_fd, struct brig_error *err);
	void (*remove_workdir)(const char *path);

	/* Makes run->cell, from run->options. The cell's ends of the streams are in run->inside. */
	int (*open)(struct run *run, struct brig_error *err);
	/* Starts building the cell. */
	int (*launch)(struct run *run, struct brig_error *err);
	/* The assignment of a held cell: the program begins. NULL: there are no held cells. */
	int (*assign)(struct run *run, const struct spec *spec);
	/*
	 * The warden's end of the channel of a held cell that a session takes; the caller owns it.
	 * NULL: no held cell has one.
	 */
	int (*take_channel)(struct run *run);
	/*
	 * Interrupts the code of a session: SIGINT to its driver's process group. NULL: the driver
	 * is the peer of the session's channel, and gets the signal from there.
	 */
	int (*interrupt)(struct run *run);
	/* A descriptor of the cell is ready; the provider chose its number. 1: the cell ended. */
	int (*event)(struct run *run, unsigned number);
	/* Adds the descriptors of the cell to the run's new set. */
	int (*listen)(struct run *run);
	/* Removes descriptors of an ended cell, which would report its end again and again. */
	void (*mute)(struct run *run);
	/* The time run->cell_alarm_ns is reached. */
	int (*alarm)(struct run *run);
	/* Is there a program, or will there be one soon, to which a signal can be sent? */
	bool (*has_program)(const struct run *run);
	/* Asks the program to end: SIGTERM, now or as soon as it has begun. */
	int (*ask_to_end)(struct run *run);
	/* Kills every process of the cell. */
	void (*kill)(struct run *run);
	/*
	 * The cell ended: reads its last messages. -errno: it was never built; err has the reason.
	 */
	int (*ended)(struct run *run, struct brig_error *err);
	/* The provider's own part of the result, before the verdict... */
	void (*report)(struct run *run);
	/* ...and after it: advice for the user about a failure. */
	void (*advise)(struct run *run);
	/* The next round of a session: its counts start from zero. */
	void (*next_round)(struct run *run);
	/* The cell has no run for a while: closes descriptors that only a run needs. */
	void (*rest)(struct run *run);
	/* run->options are new. */
	void (*take_options)(struct run *run);
	/* The result was taken, and the cell is not needed any more. */
	void (*release)(struct run *run);
	/* Ends the remaining processes, and frees run->cell. */
	void (*close)(struct run *run);
};

extern const struct provider native_provider, local_provider, oci_provider, launcher_provider,
	gvisor_provider, vm_provider, wasm_provider, docker_provider, podman_provider;

/* All of them, the default first; NULL-terminated. */
#define PROVIDERS_MAX 16
extern const struct provider *const providers[];
/* NULL: not found. */
const struct provider *provider_find(const char *name);

/* For setting(): a text of the policy's, or NULL. */
static inline bool provider_set(const char *text, char ret[PROVIDER_SETTING_MAX])
{
	snprintf(ret, PROVIDER_SETTING_MAX, "%s", text ? text : "");
	return text != NULL;
}

static inline bool provider_can(const struct provider *provider, enum ability ability)
{
	return (provider->abilities & ABILITY_BIT(ability)) != 0;
}
#endif
