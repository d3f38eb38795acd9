/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine has one thread, and what it does for one tenant all others wait for. So the time of
 * that thread is an account of each tenant's: it fills by itself, turns are taken from it, and who
 * is in debt waits. All debtors together get a third of the thread, the rest is for those who
 * need little of it. A program that keeps the engine busy slows down its own tenant.
 */
#ifndef BRIG_ENGINE_ENGINE_SHARE_H
#define BRIG_ENGINE_ENGINE_SHARE_H

#include <stdint.h>

#define SHARE_BURST_NS                                                                             \
	UINT64_C(20000000) /* that who has not used any for a while may use at once */
#define SHARE_DEBT_NS  UINT64_C(100000000) /* more than this is forgiven */
#define SHARE_FILLS    24                  /* an account fills with this part of the time... */
#define SHARE_DEBTORS  3                   /* ...and debts are paid, by all debtors, with this */
#define SHARE_LEAST_NS UINT64_C(2000000)   /* who waits at all: small things gather meanwhile */
#define SHARE_MOST_NS  UINT64_C(100000000)

struct share {
	struct share *next;
	char *tenant;         /* owned */
	int64_t credit_ns;    /* below 0: a debt */
	uint64_t at_ns;       /* when it was counted */
	unsigned waiting;     /* of its runs */
	unsigned runs;        /* that are in cells now */
	uint64_t spent_ns;    /* processor time of its cells, lately... */
	uint64_t spent_at_ns; /* ...as it was counted then */
};

struct shares {
	struct share *all; /* owned */
	unsigned count;
	unsigned debtors; /* shares with somebody waiting */
	unsigned active;  /* shares with runs in cells */
	unsigned cores;   /* 0: as one */
};

/* NULL: no memory, or too many: nobody is counted then. It lives as long as the table. */
struct share *shares_of(struct shares *shares, const char *tenant);
void shares_free(struct shares *shares);
/* A turn took so much: how long to wait for the next one; 0: no need to. `share` may be NULL. */
uint64_t share_charge(struct shares *shares, struct share *share, uint64_t used_ns,
		      uint64_t now_ns);
/* Somebody begins to wait, or does not any more. */
void share_wait(struct shares *shares, struct share *share);
void share_waited(struct shares *shares, struct share *share);
/*
 * Processor time of cells is shared out by the kernel, and the young come first (run/watch.c).
 * A tenant with many short runs would always be young. So what its ended runs have used counts for
 * its next ones, until it is forgotten: as fast as half of a fair part of all cores would use it
 * up. engine_spent.c
 */
void share_run_begins(struct shares *shares, struct share *share);
void share_run_ends(struct shares *shares, struct share *share, uint64_t cpu_ns, uint64_t now_ns);
/* How much that is by now. */
uint64_t share_spent(const struct shares *shares, struct share *share, uint64_t now_ns);
/* Processor time of this thread. */
uint64_t share_clock_ns(void);
#endif
