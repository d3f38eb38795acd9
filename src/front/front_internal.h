/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the front. Private to it. */
#ifndef BRIG_FRONT_INTERNAL_H
#define BRIG_FRONT_INTERNAL_H

#include "base/list.h"
#include "front/execution/execution.h"
#include "front/execution/turns.h"
#include "front/front.h"

#define FRONT_STATUSES 16

struct front_counts {
	uint64_t answers[6]; /* by the hundreds digit of their status */
	uint64_t problems[PROBLEM_KINDS];
	uint64_t executions[FRONT_STATUSES]; /* by enum brig_status */
	uint64_t events[BRIG_EVENT_KINDS];
	uint64_t run_seconds_bucket[12];
	double run_seconds_sum;
	uint64_t replayed;
};

struct front {
	struct loop *loop;
	/* owned: the engine for all calls; it passes them on to those below */
	struct engine *engine;
	struct engine *sessions; /* owned: records sessions */
	struct engine *forks;    /* owned */
	struct ledger *ledger;
	struct http_server *http; /* owned */
	struct auth auth;
	struct http_limits limits; /* complete: none is 0 */
	struct admission admission;
	struct execution *executions; /* all in progress */
	struct execution *close_next; /* of these, while they are closed one by one; or NULL */
	struct list requests;         /* that are not answered yet */
	struct front_counts counts;
	struct turns turns;         /* shared by all streams */
	struct list ledger_queries; /* owned: see ledger_query.c */
	unsigned unsaved; /* ends that the ledger had no room for, and the bytes they hold */
	size_t unsaved_bytes;
	uint64_t ledger_failed_ns; /* when a record last failed; 0: records succeed */
	uint64_t resume_ns;
	uint64_t refusals_ns; /* when one was last audited, and how many since then */
	uint64_t refusals;
	int64_t usage_day; /* the day that the ledger was asked about at the start */
	bool queue_held;   /* executions that are pending in the ledger wait for an operator */
	void (*queue_released)(void *user);
	void *queue_user;
	struct loop_timer look; /* at the host's memory */
	struct engine_run *looking;
	const struct caller *mcp_caller; /* of the MCP request that is being handled; or NULL */
	struct engine *admitted; /* owned: with admission, ceilings and the ledger in front */
	struct front_mcp *mcp;   /* owned */
	void (*drained)(void *user);
	void *drained_user;
	bool draining, http_drained;
};

/*
 * The engine for all calls: sessions are recorded in the ledger before they are reported, and
 * sessions that the warden does not know any more are looked up there. `inner` is borrowed.
 */
int session_engine_new(struct front *front, struct engine *inner, struct engine **ret);
/* Calls that are not runs take turns, by tenant. `inner` is borrowed. */
int call_engine_new(struct front *front, struct engine *inner, struct engine **ret);
/* Forks wait for their turn, and are audited. `inner` is borrowed. */
int fork_engine_new(struct front *front, struct engine *inner, struct engine **ret);
/* Nothing starts any more: waiting forks are refused. */
void fork_engine_close(struct engine *forks);
/*
 * An engine for the tools of MCP: their calls are checked, wait for their turn and are recorded
 * like all others. The tenants of its calls are names of callers.
 */
int admitted_engine_new(struct front *front, struct engine **ret);
int front_mcp_new(struct front *front, struct front_mcp **ret, struct brig_error *error);
void front_mcp_drain(struct front_mcp *mcp);
/* Ends the exchanges whose token is gone. */
void front_mcp_revoke(struct front *front);
/* Call after the HTTP server has been freed. */
void front_mcp_free(struct front_mcp *mcp);
/* Frees queries to the ledger that no request waits for any more, when the front ends. */
void ledger_queries_forget(struct front *front);
/* Calls `drained` when nothing is left; to be called whenever something ends. */
void front_check_drained(struct front *front);
/* Starts to watch the host's memory. */
void front_watch_begin(struct front *front);
void front_watch_end(struct front *front);
/* Usage of daily limits: the ledger stores it, and is asked for it before anything runs. */
void front_usage_begin(struct front *front);
/* Queues executions again that were acknowledged before a restart. */
void front_recover(struct front *front);
/* Writes an audit record for a caller that was refused; a flood of them becomes one record. */
void front_audit_refusal(struct front *front, const struct http_exchange *exchange,
			 enum problem_kind kind);
/* May this caller make this request? Also fills in the token's ceilings. */
int front_permit(struct front *front, const struct caller *caller,
		 struct execution_request *execution_request, struct problem *problem);
#endif
