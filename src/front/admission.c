/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that take turns. */
#include "front/admission.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

#define ACCOUNTS_MAX  4096 /* tokens and local users are the operator's, so this is never met */
#define RETRY_MAX_S   3600
#define TENANT_BYTES  (((size_t)64 << 20) + 1) /* room for the largest body, and its end */
#define DAY_S         86400
#define RUNNING_USUAL 4 /* until the engine has told of the processors */

struct line {
	struct line *next;
	char tenant[TOKEN_NAME_MAX + 1];
	struct ticket *first, *last;
	unsigned waiting; /* reserved ones too */
	unsigned running;
	struct http_budget budget;
};

static void pump(struct admission *admission);

static unsigned or_default(unsigned value, unsigned otherwise)
{
	return value ? value : otherwise;
}

void admission_init(struct admission *admission, const struct admission_limits *limits)
{
	struct admission_limits *own = &admission->limits;

	*admission =
		(struct admission){ .limits = *limits, .memory_now = UINT64_MAX, .run_ns = 100e6 };
	admission->by_processors = own->running == 0;
	own->running = or_default(own->running, RUNNING_USUAL);
	own->queue = or_default(own->queue, 1024);
	own->queue_tenant = or_default(own->queue_tenant, 256);
	own->queue_ns = own->queue_ns ? own->queue_ns : UINT64_C(30000000000);
	own->body_bytes = own->body_bytes ? own->body_bytes : TENANT_BYTES;
	own->answer_bytes = own->answer_bytes ? own->answer_bytes : TENANT_BYTES;
	own->memory_floor = own->memory_floor ? own->memory_floor : UINT64_C(256) << 20;
}

void admission_processors(struct admission *admission, unsigned processors)
{
	if (admission->by_processors && processors > 0 && processors < 65536) {
		admission->limits.running = 2 * processors;
		pump(admission);
	}
}

void admission_done(struct admission *admission)
{
	while (admission->accounts) {
		struct account *account = admission->accounts;
		admission->accounts = account->next;
		free(account);
	}
	while (admission->lines) {
		struct line *line = admission->lines;
		admission->lines = line->next;
		free(line);
	}
}

static void set_limits(struct account *account, const struct token *token)
{
	if (token) {
		account->rate_per_minute = token->rate_per_minute;
		account->concurrency = token->concurrency;
		account->cpu_day_ns = token->cpu_seconds_per_day * UINT64_C(1000000000);
	}
}

static struct account *account_of(struct admission *admission, const struct caller *caller)
{
	unsigned count = 0;

	for (struct account *a = admission->accounts; a; a = a->next, count++) {
		if (strcmp(a->name, caller->name) == 0) {
			return a;
		}
	}
	struct account *account = count < ACCOUNTS_MAX ? calloc(1, sizeof(*account)) : NULL;
	if (!account) {
		return NULL;
	}
	memcpy(account->name, caller->name, sizeof(account->name));
	set_limits(account, caller->token);
	account->allowance = (double)account->rate_per_minute;
	account->allowance_ns = clock_now_ns();
	account->next = admission->accounts;
	admission->accounts = account;
	return account;
}

static struct line *line_of(struct admission *admission, const char *tenant)
{
	unsigned count = 0;

	for (struct line *l = admission->lines; l; l = l->next, count++) {
		if (strcmp(l->tenant, tenant) == 0) {
			return l;
		}
	}
	struct line *line = count < ACCOUNTS_MAX ? calloc(1, sizeof(*line)) : NULL;
	if (line) {
		struct line **at = &admission->lines;

		snprintf(line->tenant, sizeof(line->tenant), "%s", tenant);
		line->budget.bodies_max = admission->limits.body_bytes;
		line->budget.answers_max = admission->limits.answer_bytes;
		while (*at) {
			at = &(*at)->next;
		}
		*at = line;
	}
	return line;
}

void admission_tokens(struct admission *admission, const struct tokens *tokens)
{
	for (struct account **at = &admission->accounts; *at;) {
		struct account *account = *at;
		const struct token *token = tokens_named(tokens, account->name);
		bool is_user = strncmp(account->name, "uid:", 4) == 0;

		if (!token && !is_user && account->tickets == 0) {
			*at = account->next;
			free(account);
			continue;
		}
		/* What was not counted begins with a full bucket. */
		if (token && account->rate_per_minute == 0) {
			account->allowance = (double)token->rate_per_minute;
			account->allowance_ns = clock_now_ns();
		}
		set_limits(account, token);
		at = &account->next;
	}
	pump(admission);
}

struct http_budget *admission_budget(struct admission *admission, const char *tenant)
{
	struct line *line = line_of(admission, tenant);

	return line ? &line->budget : NULL;
}

/* A bucket that holds a minute's worth. */
int admission_rate(struct admission *admission, const struct caller *caller,
		   struct problem *problem)
{
	struct account *account = account_of(admission, caller);

	if (!account || account->rate_per_minute == 0) {
		return 0;
	}
	double rate = (double)account->rate_per_minute / 60e9;
	uint64_t now = clock_now_ns();

	account->allowance += (double)(now - account->allowance_ns) * rate;
	account->allowance_ns = now;
	if (account->allowance > (double)account->rate_per_minute) {
		account->allowance = (double)account->rate_per_minute;
	}
	if (account->allowance < 1) {
		problem_set(problem, PROBLEM_RATE_LIMITED, "at most %llu requests a minute",
			    (unsigned long long)account->rate_per_minute);
		problem->retry_s = (unsigned)ceil((1 - account->allowance) / rate / 1e9);
		return -EAGAIN;
	}
	account->allowance -= 1;
	return 0;
}

unsigned admission_retry_s(const struct admission *admission)
{
	double ahead = admission->waiting + 1;
	double seconds = ceil(ahead * admission->run_ns / admission->limits.running / 1e9);

	return seconds < 1 ? 1 : seconds > RETRY_MAX_S ? RETRY_MAX_S : (unsigned)seconds;
}

static int check_quota(struct account *account, struct problem *problem)
{
	time_t now = time(NULL);

	if (account->day != now / DAY_S) {
		account->day = now / DAY_S;
		account->cpu_ns = 0;
	}
	if (account->cpu_day_ns == 0 || account->cpu_ns < account->cpu_day_ns) {
		return 0;
	}
	problem_set(problem, PROBLEM_QUOTA_EXCEEDED, "%llu processor seconds a day are used up",
		    (unsigned long long)(account->cpu_day_ns / 1000000000));
	problem->retry_s = (unsigned)(DAY_S - now % DAY_S);
	return -EDQUOT;
}

static int check_room(const struct admission *admission, const struct line *line,
		      struct problem *problem)
{
	int r = 0;

	if (admission->closed) {
		r = problem_set(problem, PROBLEM_UNAVAILABLE, "the service is going down");
	} else if (admission->memory_now < admission->limits.memory_floor) {
		r = problem_set(problem, PROBLEM_MEMORY_LOW,
				"the host is short of memory; nothing new is begun");
	} else if (admission->waiting >= admission->limits.queue) {
		r = problem_set(problem, PROBLEM_QUEUE_FULL, "%u runs are waiting already",
				admission->waiting);
	} else if (line->waiting >= admission->limits.queue_tenant) {
		r = problem_set(problem, PROBLEM_QUEUE_FULL, "%u of your runs are waiting already",
				line->waiting);
	}
	problem->retry_s = r < 0 ? admission_retry_s(admission) : 0;
	return r;
}

int admission_reserve(struct admission *admission, const struct caller *caller, bool forced,
		      struct ticket *ticket, struct problem *problem)
{
	struct account *account = account_of(admission, caller);
	struct line *line = line_of(admission, caller->tenant);
	int r = 0;

	if (!account || !line) {
		return problem_set(problem, PROBLEM_MEMORY_LOW, "no memory for the request");
	}
	if (!forced) {
		r = check_room(admission, line, problem);
		if (r == 0) {
			r = check_quota(account, problem);
		}
	}
	if (r == 0) {
		ticket->account = account;
		ticket->line = line;
		ticket->state = TICKET_RESERVED;
		account->tickets++;
		admission->waiting++;
		line->waiting++;
	}
	return r;
}

static void unlink_ticket(struct ticket *ticket)
{
	struct line *line = ticket->line;

	*(ticket->previous ? &ticket->previous->next : &line->first) = ticket->next;
	*(ticket->next ? &ticket->next->previous : &line->last) = ticket->previous;
	ticket->next = ticket->previous = NULL;
}

/* The first in this line whose account has room. */
static struct ticket *line_head(const struct admission *admission, struct line *line)
{
	unsigned most = admission->limits.running_tenant;

	if (most && line->running >= most) {
		return NULL;
	}
	for (struct ticket *t = line->first; t; t = t->next) {
		if (t->account->concurrency == 0 || t->account->running < t->account->concurrency) {
			return t;
		}
	}
	return NULL;
}

static struct line *line_after(const struct admission *admission, const struct line *line)
{
	return line && line->next ? line->next : admission->lines;
}

/* The line behind that of the last turn comes first. */
static struct ticket *next_ticket(struct admission *admission)
{
	struct line *first = line_after(admission, admission->turn);
	struct line *line = first;

	if (!line || admission->closed || admission->running >= admission->limits.running) {
		return NULL;
	}
	do {
		struct ticket *ticket = line_head(admission, line);

		if (ticket) {
			admission->turn = line;
			return ticket;
		}
		line = line_after(admission, line);
	} while (line != first);
	return NULL;
}

static void grant(struct admission *admission, struct ticket *ticket)
{
	unlink_ticket(ticket);
	admission->waiting--;
	ticket->line->waiting--;
	admission->running++;
	ticket->line->running++;
	ticket->account->running++;
	ticket->state = TICKET_RUNNING;
	ticket->granted(ticket->user);
}

/* A grant may end at once and come back here: then the outer turn goes on. */
static void pump(struct admission *admission)
{
	struct ticket *ticket;

	if (admission->pumping) {
		admission->again = true;
		return;
	}
	admission->pumping = true;
	do {
		admission->again = false;
		while ((ticket = next_ticket(admission)) != NULL) {
			grant(admission, ticket);
		}
	} while (admission->again);
	admission->pumping = false;
}

void admission_enter(struct admission *admission, struct ticket *ticket)
{
	struct line *line = ticket->line;

	ticket->state = TICKET_WAITING;
	ticket->previous = line->last;
	ticket->next = NULL;
	*(line->last ? &line->last->next : &line->first) = ticket;
	line->last = ticket;
	pump(admission);
}

void admission_leave(struct admission *admission, struct ticket *ticket, uint64_t wall_ns,
		     uint64_t cpu_ns)
{
	if (ticket->state == TICKET_NONE) {
		return;
	}
	if (ticket->state == TICKET_RUNNING) {
		admission->running--;
		ticket->line->running--;
		ticket->account->running--;
		ticket->account->cpu_ns += cpu_ns;
		if (wall_ns) {
			admission->run_ns += ((double)wall_ns - admission->run_ns) / 16;
		}
	} else {
		if (ticket->state == TICKET_WAITING) {
			unlink_ticket(ticket);
		}
		admission->waiting--;
		ticket->line->waiting--;
	}
	ticket->state = TICKET_NONE;
	ticket->account->tickets--;
	pump(admission);
}

void admission_close(struct admission *admission)
{
	admission->closed = true;
}
