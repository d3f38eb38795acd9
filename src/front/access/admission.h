/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may run, and when. Everybody's runs wait in a line of their tenant; lines take turns. What
 * does not fit is refused at once, with an honest guess of when to come again.
 */
#ifndef BRIG_FRONT_ACCESS_ADMISSION_H
#define BRIG_FRONT_ACCESS_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "front/access/accounts.h"
#include "front/access/auth.h"
#include "front/execution/output_log.h"
#include "front/request/problem.h"
#include "http/http.h"

struct admission_limits {        /* 0: what the comment says */
	unsigned running;        /* at once (2 for each processor) */
	unsigned reserve;        /* more at once, for tenants that have none running (none) */
	unsigned running_tenant; /* of one tenant (no less than all) */
	unsigned queue;          /* waiting, all together (1024) */
	unsigned queue_tenant;   /* of one tenant (256) */
	uint64_t queue_ns;       /* a caller waits at most (30 s) */
	uint64_t memory_floor;   /* refuse when the host has less (256 MiB) */
	size_t body_bytes;       /* of one tenant's requests under way (no limit) */
	size_t answer_bytes;     /* of one tenant's answers that wait to be taken (no limit) */
};

/* A tenant's. */
struct tenant_queue {
	struct tenant_queue *next;
	char tenant[TOKEN_NAME_MAX + 1];
	struct ticket *first, *last;
	unsigned waiting; /* reserved ones too */
	unsigned running;
	uint64_t ended, wall_ns, cpu_ns; /* since the service's start */
	struct http_budget budget;
	struct output_budget output; /* of its runs under way, for those who read it later */
};

/* One run's place; a part of whatever waits. */
struct ticket {
	struct account *account;
	struct tenant_queue *queue;
	void (*granted)(void *user);
	/* Its turn, but its quota is used up: it leaves. NULL: that is no reason. */
	void (*refused)(void *user, const struct problem *problem);
	void *user;
	struct ticket *next, *previous;
	enum { TICKET_NONE, TICKET_RESERVED, TICKET_WAITING, TICKET_RUNNING } state;
};

struct admission {
	struct admission_limits limits;
	struct account *accounts;    /* owned */
	struct tenant_queue *queues; /* owned */
	struct tenant_queue *turn;   /* whose the last one was */
	unsigned waiting;            /* reserved ones too */
	unsigned running;
	double run_ns;       /* moving average */
	uint64_t memory_now; /* what the host has left; UINT64_MAX: not known */
	bool pumping, again, closed;
	bool restoring; /* nothing begins until it is known what was used today */
	/* Of an account that has a daily limit: it was charged; or NULL. */
	void (*used)(void *user, const struct account *account);
	void *used_user;
	bool by_processors; /* nobody said how many may run at once */
};

void admission_init(struct admission *admission, const struct admission_limits *limits);
/* How many the host has: this process has no file to read it from. */
void admission_processors(struct admission *admission, unsigned processors);
void admission_done(struct admission *admission);
/* What is held for a tenant; NULL: no memory to count it. */
struct http_budget *admission_budget(struct admission *admission, const char *tenant);
struct output_budget *admission_output(struct admission *admission, const char *tenant);
/* Other tokens: those that stay keep their counts, under what is said of them now. */
void admission_tokens(struct admission *admission, const struct tokens *tokens);
/* What an account used on a day in an earlier life; when all is told, turns begin. */
void admission_restore(struct admission *admission, const struct tokens *tokens, const char *name,
		       int64_t day, uint64_t cpu_ns);
void admission_restored(struct admission *admission);
/* Counts one request against the account's rate. 0, or refused with the problem. */
int admission_rate(struct admission *admission, const struct caller *caller,
		   struct problem *problem);
/* A place in the line, or refused. `forced`: it was acknowledged in an earlier life. */
int admission_reserve(struct admission *admission, const struct caller *caller, bool forced,
		      struct ticket *ticket, struct problem *problem);
/* Into the line. `granted` is called when its turn is there, maybe before this returns. */
void admission_enter(struct admission *admission, struct ticket *ticket);
/* Out of it, or done: whatever state it is in. Of a run: how long it took. */
void admission_leave(struct admission *admission, struct ticket *ticket, uint64_t wall_ns,
		     uint64_t cpu_ns);
/* Processor time of an account's, and its tenant's, that no ticket stands for. */
void admission_charge(struct admission *admission, const char *tenant, const char *name,
		      uint64_t cpu_ns);
/* 0, or refused: the day's processor time is used up. */
int admission_quota(struct admission *admission, const struct caller *caller,
		    struct problem *problem);
/* When it is worth coming again, with so much waiting. */
unsigned admission_retry_s(const struct admission *admission);
/* Nothing is granted any more; what waits stays. */
void admission_close(struct admission *admission);
#endif
