/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may run, and when. Everybody's runs wait in a line of their tenant; lines take turns. What
 * does not fit is refused at once, with an honest guess of when to come again.
 */
#ifndef BRIG_FRONT_ADMISSION_H
#define BRIG_FRONT_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "front/auth.h"
#include "front/problem.h"

struct admission_limits {        /* 0: what the comment says */
	unsigned running;        /* at once (2 for each processor) */
	unsigned running_tenant; /* of one tenant (no less than all) */
	unsigned queue;          /* waiting, all together (1024) */
	unsigned queue_tenant;   /* of one tenant (256) */
	uint64_t queue_ns;       /* a caller waits at most (30 s) */
	uint64_t memory_floor;   /* refuse when the host has less (256 MiB) */
	size_t body_bytes;       /* of one tenant's requests under way (64 MiB) */
	size_t answer_bytes;     /* of one tenant's answers that wait to be taken (64 MiB) */
};

/* What is counted for a token, or for a local user. */
struct account {
	struct account *next;
	char name[TOKEN_NAME_MAX + 1];
	unsigned running;
	unsigned tickets; /* that point here */
	double allowance; /* requests that may come now */
	uint64_t allowance_ns;
	int64_t day; /* since the epoch, UTC */
	uint64_t cpu_ns;
	/* as the token says; 0: no limit */
	uint64_t rate_per_minute, concurrency, cpu_day_ns;
};

struct line; /* a tenant's */

/* One run's place; a part of whatever waits. */
struct ticket {
	struct account *account;
	struct line *line;
	void (*granted)(void *user);
	void *user;
	struct ticket *next, *previous;
	enum { TICKET_NONE, TICKET_RESERVED, TICKET_WAITING, TICKET_RUNNING } state;
};

struct admission {
	struct admission_limits limits;
	struct account *accounts; /* owned */
	struct line *lines;       /* owned */
	struct line *turn;        /* whose the last one was */
	unsigned waiting;         /* reserved ones too */
	unsigned running;
	double run_ns;       /* moving average */
	uint64_t memory_now; /* what the host has left; UINT64_MAX: not known */
	bool pumping, again, closed;
	bool by_processors; /* nobody said how many may run at once */
};

void admission_init(struct admission *admission, const struct admission_limits *limits);
/* How many the host has: this process has no file to read it from. */
void admission_processors(struct admission *admission, unsigned processors);
void admission_done(struct admission *admission);
/* What is held for a tenant; NULL: no memory to count it. */
struct http_budget *admission_budget(struct admission *admission, const char *tenant);
/* Other tokens: those that stay keep their counts, under what is said of them now. */
void admission_tokens(struct admission *admission, const struct tokens *tokens);
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
/* When it is worth coming again, with so much waiting. */
unsigned admission_retry_s(const struct admission *admission);
/* Nothing is granted any more; what waits stays. */
void admission_close(struct admission *admission);
#endif
