/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the front share. Private to it. */
#ifndef BRIG_FRONT_INTERNAL_H
#define BRIG_FRONT_INTERNAL_H

#include "front/execution/execution.h"
#include "front/execution/turns.h"
#include "front/front.h"

#define FRONT_STATUSES 16

struct front_counts {
	uint64_t answers[6]; /* by hundreds of their status */
	uint64_t problems[PROBLEM_KINDS];
	uint64_t executions[FRONT_STATUSES]; /* by enum brig_status */
	uint64_t events[BRIG_EVENT_KINDS];
	uint64_t run_seconds_bucket[12];
	double run_seconds_sum;
	uint64_t replayed;
};

struct front {
	struct loop *loop;
	struct engine *engine;   /* owned: the one that was given, behind those that follow */
	struct engine *sessions; /* owned: records of sessions */
	struct engine *forks;    /* owned */
	struct ledger *ledger;
	struct http_server *http; /* owned */
	struct auth auth;
	struct http_limits limits; /* all are set */
	struct admission admission;
	struct execution *executions; /* all that are under way */
	struct execution *close_next; /* of these, while they are closed one by one; or NULL */
	struct request *requests;     /* requests that are not answered yet */
	struct front_counts counts;
	struct turns turns;                  /* of all streams */
	struct ledger_query *ledger_queries; /* owned: to the ledger (question.c) */
	unsigned unsaved; /* ends that the ledger had no room for, and what they hold */
	size_t unsaved_bytes;
	uint64_t ledger_failed_ns; /* when it last could not record; 0: it can */
	uint64_t resume_ns;
	uint64_t refusals_ns; /* when one was last audited, and how many since */
	uint64_t refusals;
	int64_t usage_day; /* of which the ledger was asked at the start */
	bool queue_held;   /* what is pending in the ledger waits for an operator */
	void (*queue_released)(void *user);
	void *queue_user;
	struct loop_timer look; /* at the host's memory */
	struct engine_run *looking;
	const struct caller *mcp_caller; /* by MCP, while its request is handled; or NULL */
	struct engine *admitted; /* owned: the engine behind turns, ceilings and the ledger */
	struct front_mcp *mcp;   /* owned */
	void (*drained)(void *user);
	void *drained_user;
	bool draining, http_drained;
};

/*
 * The engine that is used for all: sessions are recorded in the ledger before they are told, and
 * what the warden does not know any more is looked up there. `inner` is borrowed.
 */
int session_engine_new(struct front *front, struct engine *inner, struct engine **ret);
/* Calls that are no runs have turns, by tenant. `inner` is borrowed. */
int call_engine_new(struct front *front, struct engine *inner, struct engine **ret);
/* Forks wait for their turn, and are audited. `inner` is borrowed. */
int fork_engine_new(struct front *front, struct engine *inner, struct engine **ret);
/* No more turns: those that wait are refused. */
void fork_engine_close(struct engine *forks);
/*
 * An engine for the protocol's tools: what they ask is checked, waits for its turn and is recorded
 * like all else. Tenants of its calls are callers' names.
 */
int admitted_engine_new(struct front *front, struct engine **ret);
int front_mcp_new(struct front *front, struct front_mcp **ret, struct brig_error *error);
void front_mcp_drain(struct front_mcp *mcp);
/* Cuts off those whose token is no more. */
void front_mcp_revoke(struct front *front);
/* After the HTTP server. */
void front_mcp_free(struct front_mcp *mcp);
/* When the front goes: questions to the ledger that nobody waits for any more. */
void ledger_queries_forget(struct front *front);
/* Says `drained` when it is time; asked whenever something ends. */
void front_look_drained(struct front *front);
/* Starts to watch the host's memory. */
void front_watch_begin(struct front *front);
void front_watch_end(struct front *front);
/* What was used of daily limits: kept by the ledger, and asked for before anything runs. */
void front_usage_begin(struct front *front);
/* Queues again what was acknowledged in an earlier life. */
void front_recover(struct front *front);
/* An audit line for one who was not let in; floods become one line. */
void front_audit_refusal(struct front *front, const struct http_exchange *exchange,
			 enum problem_kind kind);
/* May this caller ask that? Also fills in the token's ceilings. */
int front_permit(struct front *front, const struct caller *caller,
		 struct execution_request *execution_request, struct problem *problem);
#endif
