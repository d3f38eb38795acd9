/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells made ahead. A pool holds sealed cells, each for one run, for one kind of request: policy,
 * language, tenant, and those limits that are built into a cell. A request takes a ready cell and
 * sends it an assignment, and the pool makes another; a used cell is never used again. If anything
 * fails here, the request is started cold instead, with the same result.
 *
 * Everything runs on the caller's thread, in small steps, when a run or the context is stepped.
 */
#ifndef BRIG_LIB_WARM_WARM_H
#define BRIG_LIB_WARM_WARM_H

#include "lib/prepare/prepare.h"
#include "lib/warm/template.h"
#include "run/run.h"

#define WARM_CELLS_MAX 64
/* For hundreds of cells that share their interpreter's pages, or for four machines. */
#define WARM_MEMORY_USUAL (1ull << 30)

/* A cell that is being made, or is ready. */
struct warm_cell {
	struct run *run;  /* owned */
	struct spec spec; /* of this cell: the pool's, with an identity of its own */
	int ids;          /* owned: holds its id range; -1: none */
	int devices;      /* owned until the cell has received them */
	int set;          /* borrowed: the epoll set that holds a pointer to `readable` */
	bool asked;       /* the template has not answered yet */
	bool readable;    /* its run needs a step */
};

/* Identifies the file of a policy or runtime; if the stamp has changed, the file is read again. */
struct warm_stamp {
	uint64_t device, inode, size, changed_ns;
};

/*
 * Policy, what it extends, runtime, the operator's ceiling, the virtualenv; of provider wasm the
 * engine, and the native code of the interpreter.
 */
#define WARM_STAMPS 7

struct warm_pool {
	struct warm *warm; /* borrowed */
	unsigned uses;     /* itself and runs that borrow from it */
	bool retired;      /* makes no more cells; freed with its last use */
	struct prepared base;
	char *policy, *tenant, *venv; /* owned; as in the requests, may be NULL */
	bool listed;                  /* brig_request.mounts_listed, for `venv` */
	struct warm_stamp stamps[WARM_STAMPS];
	struct template *template; /* owned; NULL: cells start their interpreter themselves */
	struct template *next;     /* owned: warms up while the other is still in use */
	struct warm_cell *cells[WARM_CELLS_MAX];
	unsigned count;    /* being made, and ready */
	unsigned target;   /* wanted number of cells */
	unsigned failures; /* in a row */
	unsigned lost;     /* of these: cells that ended while they waited, since one was taken */
	uint64_t born_ns;
	uint64_t used_ns; /* the time of the last request */
	uint64_t rest_until_ns;
};

#define WARM_POOLS_MAX  64
#define WARM_ENDED_MANY 32 /* from here on they are worth a step */

struct warm {
	struct brig_context *context;     /* borrowed */
	struct brig_warm_options options; /* filled in */
	int epoll;                        /* owned */
	struct warm_pool *pools[WARM_POOLS_MAX];
	unsigned count;
	int *keepers; /* owned: of templates that are ending */
	unsigned keepers_count, keepers_room;
	struct warm_cell **ended; /* owned: used cells that the kernel has not removed yet */
	unsigned ended_count, ended_room;
	bool closed;         /* there are no pools: only ended cells are handled */
	uint64_t looked_ns;  /* when the host's memory was last checked */
	bool pressed;        /* it was short then */
	unsigned turn;       /* which pool is the first in this step */
	unsigned pieces;     /* units of work that are left in this step */
	unsigned making_max; /* cells being made, in one pool */
	/* See context_on_cells(); NULL: nobody waits. */
	void (*on_cells)(void *user);
	void *user;
};

/* Replaces zeros by defaults, and bounds the rest. */
void warm_options_complete(struct brig_warm_options *options);
int warm_new(struct brig_context *context, const struct brig_warm_options *options,
	     struct warm **ret, struct brig_error *err);
void warm_free(struct warm *warm);

/* A cell is ready, or one that was being made will not be: whoever waits for one looks again. */
void warm_tell(const struct warm *warm);

/* Ends a template; its keeper is waited for later. */
void warm_end_template(struct warm *warm, struct template *template);

/*
 * Continues the cells that are being made, and makes more where there are too few. Never blocks. At
 * most `pieces` units of long work (a cell begun, launched or reaped) are done.
 */
void warm_step(struct warm *warm, unsigned pieces);
/* Is a pool so empty that it is worth a step while the caller waits for a run? */
bool warm_is_low(const struct warm *warm);
#define WARM_ALL_PIECES (~0u)

/* The pool for such a request, made if there is none. NULL: it must start cold; err has why. */
struct warm_pool *warm_pool_for(struct warm *warm, const struct brig_request *request,
				struct brig_error *err);
/* Can a cell with these limits have those of a request? See provider.fixed_limits. */
bool warm_pool_keeps(const struct provider *provider, const struct brig_limits *built,
		     const struct brig_limits *wanted);
void warm_pool_free(struct warm_pool *pool);
/* A ready cell; NULL: none. The caller owns it. */
struct warm_cell *warm_pool_take(struct warm_pool *pool);
unsigned warm_pool_ready(const struct warm_pool *pool);
/* Of its template (template.pinned); -EOPNOTSUPP: it has none. */
int warm_pool_pinned(const struct warm_pool *pool);
/* Waits until `cells` are ready, or the pool has failed: warm_wait.c */
int warm_pool_wait(struct warm_pool *pool, unsigned cells, struct brig_error *err);
/* For one request, which is counted. True: a cell is ready for it; false: it must start cold. */
bool warm_pool_await(struct warm_pool *pool, enum brig_start start, bool hurried);
/* Are cells being made? They will be ready sooner than a cold start. */
bool warm_pool_making(const struct warm_pool *pool);
void warm_pool_unuse(struct warm_pool *pool);
/* Drops all cells, or the last one, being made or ready. Does not wait for their end. */
void warm_pool_drop(struct warm_pool *pool);
void warm_pool_drop_last(struct warm_pool *pool);
/* A run ended badly: the template and the other cells of its pool are not used again. */
void warm_pool_distrust(struct warm_pool *pool);

/* Replaces a template that is old or used up, and the cells of an old one. */
void warm_rotate(struct warm_pool *pool, uint64_t now_ns);

/* One cell: begun, launched (at once, or when its template has answered), freed. */
int warm_cell_new(struct warm_pool *pool, struct warm_cell **ret, struct brig_error *err);
int warm_cell_launch(struct warm_cell *cell, pid_t pid, int pidfd, struct brig_error *err);
void warm_cell_free(struct warm_cell *cell);
/* Removes a cell from a list; the order of the others stays. */
struct warm_cell *warm_cell_remove(struct warm_cell **list, unsigned *count, unsigned index);

/*
 * For a run whose result is complete, while the kernel still removes its cell. Takes ownership of
 * the cell and its run, and frees them later. warm_reap.c
 */
void warm_reap(struct warm *warm, struct warm_cell *cell);
/*
 * The same for a cell that was not made ahead; it is killed. Takes the run, and those parts of
 * `prepared` that the cell needs until it is gone. False: no memory, the caller has to wait.
 */
bool warm_reap_run(struct warm *warm, struct run **run, struct prepared *prepared);
/* Frees the cells that are gone; with `all`, waits for every cell and frees it. */
void warm_reap_step(struct warm *warm, bool all);

/* The wanted number of cells: warm_size.c */
void warm_size_asked(struct warm_pool *pool, bool hit);
unsigned warm_size_target(struct warm_pool *pool, uint64_t now_ns);
#endif
