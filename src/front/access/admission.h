/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission: decides which runs may start, and when. Runs wait in a queue of their tenant; the
 * queues take turns. A run that does not fit is refused at once, with an honest estimate of when to
 * try again.
 */
#ifndef BRIG_FRONT_ACCESS_ADMISSION_H
#define BRIG_FRONT_ACCESS_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "front/access/accounts.h"
#include "front/access/auth.h"
#include "front/execution/output_log.h"
#include "front/request/problem.h"
#include "http/http.h"

struct admission_limits { /* 0: the default in parentheses */
	unsigned running; /* at the same time (2 for each processor) */
	unsigned reserve; /* more at the same time, for tenants that have none running (none) */
	unsigned running_tenant; /* of one tenant (as many as all together) */
	unsigned queue;          /* waiting, of all tenants (1024) */
	unsigned queue_tenant;   /* waiting, of one tenant (256) */
	uint64_t queue_ns;       /* the longest time in the queue (30 s) */
	uint64_t memory_floor;   /* refuse while the host has less free (256 MiB) */
	size_t body_bytes;       /* of one tenant's requests in progress (no limit) */
	size_t answer_bytes;     /* of one tenant's answers that are not sent yet (no limit) */
};

/* The runs of one tenant. */
struct tenant_queue {
	struct tenant_queue *next;
	char tenant[TOKEN_NAME_MAX + 1];
	struct list tickets; /* that wait */
	unsigned waiting;    /* includes reserved ones */
	unsigned running;
	uint64_t ended, wall_ns, cpu_ns; /* since the service started */
	struct http_budget budget;
	struct output_budget output; /* of its runs in progress, for listeners that read it later */
};

/* One run in a queue. It is a member of the object that waits. */
struct ticket {
	struct account *account;
	struct tenant_queue *queue;
	void (*granted)(void *user);
	/* Its turn came, but its quota is used up: it leaves. NULL: it runs in any case. */
	void (*refused)(void *user, const struct problem *problem);
	void *user;
	struct list_node node;
	enum { TICKET_NONE, TICKET_RESERVED, TICKET_WAITING, TICKET_RUNNING } state;
};

struct admission {
	struct admission_limits limits;
	struct account *accounts;    /* owned */
	struct tenant_queue *queues; /* owned */
	struct tenant_queue *turn;   /* the queue that had the last turn */
	unsigned waiting;            /* includes reserved ones */
	unsigned running;
	double run_ns;       /* moving average */
	uint64_t memory_now; /* free memory of the host; UINT64_MAX: not known */
	bool pumping, again, closed;
	bool restoring; /* nothing starts until the ledger has reported today's usage */
	/* Called when an account with a daily limit was charged; or NULL. */
	void (*used)(void *user, const struct account *account);
	void *used_user;
	bool by_processors; /* the number of runs at the same time was not configured */
};

void admission_init(struct admission *admission, const struct admission_limits *limits);
/* The number of processors of the host: this process cannot read it from a file. */
void admission_processors(struct admission *admission, unsigned processors);
void admission_done(struct admission *admission);
/* The budgets of a tenant; NULL: no memory to count it. */
struct http_budget *admission_budget(struct admission *admission, const char *tenant);
struct output_budget *admission_output(struct admission *admission, const char *tenant);
/*
 * The tokens were read again. Accounts whose token stays keep their counts, under its new limits.
 */
void admission_tokens(struct admission *admission, const struct tokens *tokens);
/*
 * Sets the time that an account used on a day before the restart. Runs start after
 * admission_restored().
 */
void admission_restore(struct admission *admission, const struct tokens *tokens, const char *name,
		       int64_t day, uint64_t cpu_ns);
void admission_restored(struct admission *admission);
/* Counts one request against the account's rate. 0, or refused, with the problem. */
int admission_rate(struct admission *admission, const struct caller *caller,
		   struct problem *problem);
/* Reserves a place in the queue, or refuses. `forced`: it was acknowledged before a restart. */
int admission_reserve(struct admission *admission, const struct caller *caller, bool forced,
		      struct ticket *ticket, struct problem *problem);
/* Joins the queue. `granted` is called when its turn comes, possibly before this returns. */
void admission_enter(struct admission *admission, struct ticket *ticket);
/* Leaves the queue, or ends the run, in any state. Of a run: the time that it took. */
void admission_leave(struct admission *admission, struct ticket *ticket, uint64_t wall_ns,
		     uint64_t cpu_ns);
/* Charges an account, and its tenant, for processor time that belongs to no ticket. */
void admission_charge(struct admission *admission, const char *tenant, const char *name,
		      uint64_t cpu_ns);
/* 0, or refused: the day's processor time is used up. */
int admission_quota(struct admission *admission, const struct caller *caller,
		    struct problem *problem);
/* When it is worth trying again, given the present queue. */
unsigned admission_retry_s(const struct admission *admission);
/* Nothing is granted any more; waiting runs stay in the queue. */
void admission_close(struct admission *admission);
#endif
