/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam between a run and the wall that holds it.
 *
 * A provider is one technology of isolation: a table of functions, and a set of abilities. Each run
 * has one cell, whose state is the provider's own. The run feeds and reads the streams, watches the
 * limits, gives the verdict and collects the files; the provider builds the cell, starts the
 * program in it, reports how it ended, and kills it.
 *
 * All functions are called on the thread of the warden. None of them blocks, except close(), which
 * is bounded. kill() and close() may be called more than once.
 */
#ifndef BRIG_PROVIDER_PROVIDER_H
#define BRIG_PROVIDER_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <brig/brig.h>

#include "kernel/layers.h"

struct buf;
struct cgroup_manager;
struct run;
struct run_options;
struct spec;

/* What a provider can do. A policy or a request that needs more is refused by name. */
enum ability {
	ABILITY_WALLS,      /* the program cannot reach the host */
	ABILITY_OWN_ROOT,   /* it has a file system of its own, with a closure in it */
	ABILITY_MOUNTS,     /* directories of the host can be given to it */
	ABILITY_NETWORK,    /* the network is closed, but for a gate */
	ABILITY_CALL_RULES, /* system calls are filtered by rules */
	ABILITY_CALL_WATCH, /* system calls can be watched */
	ABILITY_HOLD,       /* cells can be made ahead */
	ABILITY_VALUE,      /* a driver runs the program, and hands out its value */
	ABILITY_SESSIONS,   /* one cell can hold several runs, one after the other */
	ABILITY_PLAN,       /* a cell is built by a plan, which can be shown */
	ABILITY_COUNT,
};

typedef uint32_t ability_set;
#define ABILITY_BIT(ability) ((ability_set)1 << (ability))

struct provider {
	const char *name;
	const char *about; /* a line for people */
	ability_set abilities;

	/*
	 * Which layers a cell has on this host: those in spec->layers. Layers that the provider
	 * would have and the host lacks are returned: the policy decides if it can do without.
	 */
	layer_set (*resolve)(const struct cgroup_manager *groups, struct spec *spec);
	/* Removes what processes that were killed left on the host. NULL: nothing is left. */
	void (*sweep)(void);
	/*
	 * The steps of a start, in order: lines for people, or {"steps": [...]} as JSON. NULL: by
	 * the plan.
	 */
	void (*explain)(const struct spec *spec, bool json, struct buf *out);
	/*
	 * The layer that a step of the build stands for, by its name; or -1. A cell can be built
	 * again without it. NULL: no step stands for a layer.
	 */
	int (*layer_of)(const char *step);
	/*
	 * A directory on the host that the program starts in; the descriptor keeps it. NULL: the
	 * cell has one of its own.
	 */
	int (*make_workdir)(char **ret_path, int *ret_fd, struct brig_error *err);
	void (*remove_workdir)(const char *path);

	/* Makes run->cell, from run->options. The cell's ends of the streams are in run->inside. */
	int (*open)(struct run *run, struct brig_error *err);
	/* Starts building the cell. */
	int (*launch)(struct run *run, struct brig_error *err);
	/* The assignment of a held cell: the program begins. NULL: there are no held cells. */
	int (*assign)(struct run *run, const struct spec *spec);
	/* A descriptor of the cell's is ready: its number is the provider's. 1: the cell ended. */
	int (*event)(struct run *run, unsigned number);
	/* Adds the descriptors of the cell to the run's set, which is a new one. */
	int (*listen)(struct run *run);
	/* Takes those out whose cell has ended, and which would go on to report it. */
	void (*mute)(struct run *run);
	/* The moment run->cell_alarm_ns has come. */
	int (*alarm)(struct run *run);
	/* Is there a program, or will there be one soon, that a signal could be sent to? */
	bool (*has_program)(const struct run *run);
	/* Asks the program to end: SIGTERM, now or as soon as it has begun. */
	int (*ask_to_end)(struct run *run);
	/* Kills every process of the cell. */
	void (*kill)(struct run *run);
	/* The cell ended: reads its last messages. -errno: it was never built, and err has why. */
	int (*ended)(struct run *run, struct brig_error *err);
	/* The provider's own part of the result, before the verdict... */
	void (*report)(struct run *run);
	/* ...and behind it: what the user can do about a failure. */
	void (*advise)(struct run *run);
	/* The next round of a session: its counts start from zero. */
	void (*next_round)(struct run *run);
	/* The cell has no run for a while: closes what only a run needs. */
	void (*rest)(struct run *run);
	/* run->options are new. */
	void (*take_options)(struct run *run);
	/* The result is taken, and nothing of the cell is needed any more. */
	void (*release)(struct run *run);
	/* Ends what is left, and frees run->cell. */
	void (*close)(struct run *run);
};

extern const struct provider native_provider, local_provider;

/* All of them, the default first; NULL-terminated. */
#define PROVIDERS_MAX 16
extern const struct provider *const providers[];
/* NULL: none has that name. */
const struct provider *provider_find(const char *name);

static inline bool provider_can(const struct provider *provider, enum ability ability)
{
	return (provider->abilities & ABILITY_BIT(ability)) != 0;
}
#endif
