/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells made ahead. A pool holds sealed, one-shot cells for one kind of request: policy, language,
 * tenant, and those limits that are built into a cell. A request takes a ready one, tells it what
 * to run, and the pool makes another; a used cell is never used again. Whatever goes wrong here,
 * the request is started cold instead, with the same result.
 *
 * Everything runs on the caller's thread, a little at a time, when a run or the context is stepped.
 */
#ifndef BRIG_LIB_WARM_WARM_H
#define BRIG_LIB_WARM_WARM_H

#include "lib/prepare/prepare.h"
#include "lib/warm/template.h"
#include "run/run.h"

#define WARM_CELLS_MAX 64

/* One cell in the making, or ready. */
struct warm_cell {
	struct run *run;  /* owned */
	struct spec spec; /* of this cell: the pool's, with an identity of its own */
	int ids;          /* owned: holds its id range; -1: none */
	int devices;      /* owned until the cell has them */
	int set;          /* borrowed: the epoll that knows its address */
	bool asked;       /* the template has not answered yet */
	bool readable;    /* there is something to hear from it */
};

/* What a policy and a runtime were read from; another answer means: read again. */
struct warm_stamp {
	uint64_t device, inode, size, changed_ns;
};

/* Policy, what it extends, runtime, the operator's ceiling. */
#define WARM_STAMPS 4

struct warm_pool {
	struct warm *warm; /* borrowed */
	unsigned uses;     /* itself and runs that borrow from it */
	bool retired;      /* makes no more cells; freed with its last use */
	struct prepared base;
	char *policy, *tenant; /* owned; as the requests call them, NULL too */
	struct warm_stamp stamps[WARM_STAMPS];
	struct template *template; /* owned; NULL: cells start their interpreter themselves */
	struct template *next;     /* owned: gets warm while the other is still in use */
	struct warm_cell *cells[WARM_CELLS_MAX];
	unsigned count;    /* in the making, and ready */
	unsigned target;   /* as many as there should be */
	unsigned failures; /* in a row */
	uint64_t born_ns;
	uint64_t used_ns; /* when a request last asked */
	uint64_t rest_until_ns;
};

#define WARM_POOLS_MAX  64
#define WARM_ENDED_MANY 32 /* it is worth while to look after them */

struct warm {
	struct brig_context *context;     /* borrowed */
	struct brig_warm_options options; /* filled in */
	int epoll;                        /* owned */
	struct warm_pool *pools[WARM_POOLS_MAX];
	unsigned count;
	int *keepers; /* owned: keepers of templates that were told to end */
	unsigned keepers_count, keepers_room;
	struct warm_cell **ended; /* owned */
	unsigned ended_count, ended_room;
	bool closed;         /* there are no pools: only the dead are looked after */
	uint64_t looked_ns;  /* when memory was last looked at */
	bool pressed;        /* it was short then */
	unsigned turn;       /* which pool is the first in this step */
	unsigned pieces;     /* of work that may still be done in this step */
	unsigned making_max; /* cells in the making, in one pool */
};

/* Sets those that are 0, and bounds the rest. */
void warm_options_complete(struct brig_warm_options *options);
int warm_new(struct brig_context *context, const struct brig_warm_options *options,
	     struct warm **ret, struct brig_error *err);
void warm_free(struct warm *warm);

/* Takes leave of a template; its keeper is waited for later. */
void warm_end_template(struct warm *warm, struct template *template);

/*
 * Goes on with what is in the making; makes more where there is too little. Never blocks. Up to
 * `pieces` of work that take long (a cell launched, begun or buried) are done.
 */
void warm_step(struct warm *warm, unsigned pieces);
/* A pool is so empty that it is worth while to work for it while a run is waited for. */
bool warm_is_low(const struct warm *warm);
#define WARM_ALL_PIECES (~0u)

/* The pool for such a request, made when there is none. NULL: it must start cold; err says why. */
struct warm_pool *warm_pool_for(struct warm *warm, const struct brig_request *request,
				struct brig_error *err);
void warm_pool_free(struct warm_pool *pool);
/* A ready cell; NULL: none. The caller owns it. */
struct warm_cell *warm_pool_take(struct warm_pool *pool);
unsigned warm_pool_ready(const struct warm_pool *pool);
/* Until so many are ready, or the pool has given up: warm_wait.c */
int warm_pool_wait(struct warm_pool *pool, unsigned cells, struct brig_error *err);
/* For one request, which is counted. true: there is one for it; false: it must start cold. */
bool warm_pool_await(struct warm_pool *pool, enum brig_start start, bool hurried);
/* Some are on their way: they will be there sooner than a cold one. */
bool warm_pool_making(const struct warm_pool *pool);
void warm_pool_unuse(struct warm_pool *pool);
/* Lets go of all cells, in the making and ready, or of the last one. Nobody waits for their end. */
void warm_pool_drop(struct warm_pool *pool);
void warm_pool_drop_last(struct warm_pool *pool);
/* A run came to a bad end: what made its cell is not used for another. */
void warm_pool_distrust(struct warm_pool *pool);

/* A template that has served long enough makes way for a new one, with the cells it made. */
void warm_rotate(struct warm_pool *pool, uint64_t now_ns);

/* One cell: begun, launched (at once, or when its template has answered), thrown away. */
int warm_cell_new(struct warm_pool *pool, struct warm_cell **ret, struct brig_error *err);
int warm_cell_launch(struct warm_cell *cell, pid_t pid, int pidfd, struct brig_error *err);
void warm_cell_free(struct warm_cell *cell);
/* Takes one out of a list; the order of the others stays. */
struct warm_cell *warm_cell_remove(struct warm_cell **list, unsigned *count, unsigned index);

/*
 * A run whose result is there already: the kernel is still taking its cell apart. Takes the cell,
 * with its run, and lets go of it later. warm_reap.c
 */
void warm_reap(struct warm *warm, struct warm_cell *cell);
/*
 * The same of a cell that was not made ahead; it is killed. Takes the run, and what of `prepared`
 * the cell needs until it is gone. False: it cannot, and the caller has to wait.
 */
bool warm_reap_run(struct warm *warm, struct run **run, struct prepared *prepared);
/* Lets go of those that are gone; of all, waiting for them, when told so. */
void warm_reap_step(struct warm *warm, bool all);

/* How many there should be: warm_size.c */
void warm_size_asked(struct warm_pool *pool, bool hit);
unsigned warm_size_target(struct warm_pool *pool, uint64_t now_ns);
#endif
