/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine has one thread, and while it works for one tenant all others wait. So each tenant has
 * an account of that thread's time: it fills by itself, turns are charged to it, and a tenant in
 * debt waits. All debtors together get a third of the thread; the rest is for tenants that need
 * little of it. A program that keeps the engine busy slows down its own tenant.
 */
#ifndef BRIG_ENGINE_ENGINE_SHARE_H
#define BRIG_ENGINE_ENGINE_SHARE_H

#include <stdint.h>

#define SHARE_BURST_NS                                                                             \
	UINT64_C(20000000) /* that a tenant may use at once, after a while without use */
#define SHARE_DEBT_NS  UINT64_C(100000000) /* the largest debt */
#define SHARE_FILLS    24                  /* an account fills with this part of the time... */
#define SHARE_DEBTORS  3                   /* ...and all debtors together pay with this part */
#define SHARE_LEAST_NS UINT64_C(2000000) /* the shortest wait: small turns are combined meanwhile */
#define SHARE_MOST_NS  UINT64_C(100000000)

struct share {
	struct share *next;
	char *tenant;         /* owned */
	int64_t credit_ns;    /* below 0: a debt */
	uint64_t at_ns;       /* when it was last updated */
	unsigned waiting;     /* of its runs */
	unsigned runs;        /* that are in cells now */
	uint64_t spent_ns;    /* recent processor time of its cells... */
	uint64_t spent_at_ns; /* ...when it was last updated */
};

struct shares {
	struct share *all; /* owned */
	unsigned count;
	unsigned debtors; /* shares with a run that waits */
	unsigned active;  /* shares with runs in cells */
	unsigned cores;   /* 0: counts as 1 */
};

/* NULL: no memory, or too many: then the tenant is not charged. It lives as long as the table. */
struct share *shares_of(struct shares *shares, const char *tenant);
void shares_free(struct shares *shares);
/* Charges a turn. Returns how long to wait for the next one; 0: not at all. `share` may be NULL. */
uint64_t share_charge(struct shares *shares, struct share *share, uint64_t used_ns,
		      uint64_t now_ns);
/* A run begins to wait, or stops waiting. */
void share_wait(struct shares *shares, struct share *share);
void share_waited(struct shares *shares, struct share *share);
/*
 * The kernel divides processor time among cells, and new ones come first (run/watch/watch.c). A
 * tenant with many short runs would always be new. So the time that its ended runs have used counts
 * for its next ones, until it expires: at half the rate of a fair part of all cores. engine_spent.c
 */
void share_run_begins(struct shares *shares, struct share *share);
void share_run_ends(struct shares *shares, struct share *share, uint64_t cpu_ns, uint64_t now_ns);
/* The amount at this time. */
uint64_t share_spent(const struct shares *shares, struct share *share, uint64_t now_ns);
/* Processor time of this thread. */
uint64_t share_clock_ns(void);
#endif
