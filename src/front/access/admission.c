/* SPDX-License-Identifier: Apache-2.0 */
/* Admission: queues that take turns. */
#include "front/access/admission.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define RETRY_MAX_S   3600
#define RUNNING_USUAL 4 /* until the engine has reported the number of processors */

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
	accounts_free(admission->accounts);
	while (admission->queues) {
		struct tenant_queue *queue = admission->queues;
		admission->queues = queue->next;
		free(queue);
	}
}

static struct tenant_queue *queue_of(struct admission *admission, const char *tenant)
{
	unsigned count = 0;

	for (struct tenant_queue *q = admission->queues; q; q = q->next, count++) {
		if (strcmp(q->tenant, tenant) == 0) {
			return q;
		}
	}
	struct tenant_queue *queue = count < ACCOUNTS_MAX ? calloc(1, sizeof(*queue)) : NULL;
	if (queue) {
		struct tenant_queue **at = &admission->queues;

		snprintf(queue->tenant, sizeof(queue->tenant), "%s", tenant);
		queue->budget.bodies_max = admission->limits.body_bytes;
		queue->budget.answers_max = admission->limits.answer_bytes;
		queue->output.max = admission->limits.answer_bytes;
		while (*at) {
			at = &(*at)->next;
		}
		*at = queue;
	}
	return queue;
}

void admission_tokens(struct admission *admission, const struct tokens *tokens)
{
	accounts_tokens(&admission->accounts, tokens);
	pump(admission);
}

void admission_restore(struct admission *admission, const struct tokens *tokens, const char *name,
		       int64_t day, uint64_t cpu_ns)
{
	struct account *account =
		account_get(&admission->accounts, name, tokens_named(tokens, name));

	if (account) {
		account_restore(account, day, cpu_ns);
	}
}

void admission_restored(struct admission *admission)
{
	admission->restoring = false;
	pump(admission);
}

struct http_budget *admission_budget(struct admission *admission, const char *tenant)
{
	struct tenant_queue *queue = queue_of(admission, tenant);

	return queue ? &queue->budget : NULL;
}

struct output_budget *admission_output(struct admission *admission, const char *tenant)
{
	struct tenant_queue *queue = queue_of(admission, tenant);

	return queue ? &queue->output : NULL;
}

static struct account *account_of(struct admission *admission, const struct caller *caller)
{
	return account_get(&admission->accounts, caller->name, caller->token);
}

int admission_rate(struct admission *admission, const struct caller *caller,
		   struct problem *problem)
{
	struct account *account = account_of(admission, caller);

	return account ? account_rate(account, problem) : 0;
}

static void charge(struct admission *admission, struct account *account, uint64_t cpu_ns)
{
	account_charge(account, cpu_ns);
	if (admission->used && account->cpu_day_ns) {
		admission->used(admission->used_user, account);
	}
}

unsigned admission_retry_s(const struct admission *admission)
{
	double ahead = admission->waiting + 1;
	double seconds = ceil(ahead * admission->run_ns / admission->limits.running / 1e9);

	return seconds < 1 ? 1 : seconds > RETRY_MAX_S ? RETRY_MAX_S : (unsigned)seconds;
}

static int check_room(const struct admission *admission, const struct tenant_queue *queue,
		      struct problem *problem)
{
	int r = 0;

	if (admission->closed) {
		r = problem_set(problem, PROBLEM_UNAVAILABLE, "the service is shutting down");
	} else if (admission->memory_now < admission->limits.memory_floor) {
		r = problem_set(problem, PROBLEM_MEMORY_LOW,
				"the host is low on memory; no new runs are started");
	} else if (admission->waiting >= admission->limits.queue) {
		r = problem_set(problem, PROBLEM_QUEUE_FULL, "%u runs are waiting already",
				admission->waiting);
	} else if (queue->waiting >= admission->limits.queue_tenant) {
		r = problem_set(problem, PROBLEM_QUEUE_FULL, "%u of your runs are waiting already",
				queue->waiting);
	}
	problem->retry_s = r < 0 ? admission_retry_s(admission) : 0;
	return r;
}

int admission_reserve(struct admission *admission, const struct caller *caller, bool forced,
		      struct ticket *ticket, struct problem *problem)
{
	struct account *account = account_of(admission, caller);
	struct tenant_queue *queue = queue_of(admission, caller->tenant);

	if (!account || !queue) {
		return problem_set(problem, PROBLEM_MEMORY_LOW, "no memory for the request");
	}
	if (!forced) {
		int r = check_room(admission, queue, problem);
		r = r < 0 ? r : account_quota(account, problem);
		if (r < 0) {
			return r;
		}
	}
	ticket->account = account;
	ticket->queue = queue;
	ticket->state = TICKET_RESERVED;
	account->tickets++;
	admission->waiting++;
	queue->waiting++;
	return 0;
}

/* The first ticket in this queue whose account has room. */
static struct ticket *queue_head(const struct admission *admission, struct tenant_queue *queue)
{
	unsigned most = admission->limits.running_tenant;

	if (most && queue->running >= most) {
		return NULL;
	}
	LIST_EACH(struct ticket, t, &queue->tickets, node) {
		if (t->account->concurrency == 0 || t->account->running < t->account->concurrency) {
			return t;
		}
	}
	return NULL;
}

static struct tenant_queue *queue_after(const struct admission *admission,
					const struct tenant_queue *queue)
{
	return queue && queue->next ? queue->next : admission->queues;
}

/* Is there room for a run of this tenant? Long runs of other tenants do not block its first one. */
static bool has_room(const struct admission *admission, const struct tenant_queue *queue)
{
	const struct admission_limits *limits = &admission->limits;

	if (admission->running < limits->running) {
		return true;
	}
	return queue->running == 0 && admission->running - limits->running < limits->reserve &&
	       admission->memory_now >= limits->memory_floor;
}

/* The queue after the one that had the last turn comes first. */
static struct ticket *next_ticket(struct admission *admission)
{
	struct tenant_queue *first = queue_after(admission, admission->turn);
	struct tenant_queue *queue = first;

	if (!queue || admission->closed || admission->restoring) {
		return NULL;
	}
	do {
		struct ticket *ticket =
			has_room(admission, queue) ? queue_head(admission, queue) : NULL;

		if (ticket) {
			admission->turn = queue;
			return ticket;
		}
		queue = queue_after(admission, queue);
	} while (queue != first);
	return NULL;
}

static void grant(struct admission *admission, struct ticket *ticket)
{
	list_remove(&ticket->queue->tickets, &ticket->node);
	admission->waiting--;
	ticket->queue->waiting--;
	admission->running++;
	ticket->queue->running++;
	ticket->account->running++;
	ticket->state = TICKET_RUNNING;
	ticket->granted(ticket->user);
}

/* Quotas are checked again: runs in front of it may have used them up since it was queued. */
static void grant_or_refuse(struct admission *admission, struct ticket *ticket)
{
	struct problem problem = { 0 };

	if (ticket->refused && account_quota(ticket->account, &problem) < 0) {
		ticket->refused(ticket->user, &problem);
	} else {
		grant(admission, ticket);
	}
}

/* A granted run may end at once and call this again: then the outer call goes on. */
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
			grant_or_refuse(admission, ticket);
		}
	} while (admission->again);
	admission->pumping = false;
}

void admission_enter(struct admission *admission, struct ticket *ticket)
{
	ticket->state = TICKET_WAITING;
	list_append(&ticket->queue->tickets, &ticket->node);
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
		ticket->queue->running--;
		ticket->account->running--;
		charge(admission, ticket->account, cpu_ns);
		ticket->queue->ended++;
		ticket->queue->wall_ns += wall_ns;
		ticket->queue->cpu_ns += cpu_ns;
		if (wall_ns) {
			admission->run_ns += ((double)wall_ns - admission->run_ns) / 16;
		}
	} else {
		if (ticket->state == TICKET_WAITING) {
			list_remove(&ticket->queue->tickets, &ticket->node);
		}
		admission->waiting--;
		ticket->queue->waiting--;
	}
	ticket->state = TICKET_NONE;
	ticket->account->tickets--;
	pump(admission);
}

void admission_charge(struct admission *admission, const char *tenant, const char *name,
		      uint64_t cpu_ns)
{
	struct tenant_queue *queue = queue_of(admission, tenant);

	if (queue) {
		queue->cpu_ns += cpu_ns;
	}
	struct account *account = account_find(admission->accounts, name);
	if (account) {
		charge(admission, account, cpu_ns);
	}
}

int admission_quota(struct admission *admission, const struct caller *caller,
		    struct problem *problem)
{
	struct account *account = account_of(admission, caller);

	if (account && account->cpu_day_ns && admission->restoring) {
		problem_set(problem, PROBLEM_UNAVAILABLE, "the service is starting");
		problem->retry_s = 1;
		return -EAGAIN;
	}
	return account ? account_quota(account, problem) : 0;
}

void admission_close(struct admission *admission)
{
	admission->closed = true;
}
