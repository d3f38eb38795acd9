/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches the free memory of the host. The front cannot open files, so it asks the engine. Also
 * checks what a caller may request.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json/json_out.h"
#include "front/request/request.h"
#include "role/log.h"

#define LOOK_BUSY_NS UINT64_C(500000000)
#define LOOK_IDLE_NS UINT64_C(5000000000)
#define REFUSAL_NS   UINT64_C(1000000000)

/* --- memory ---------------------------------------------------------------------------------- */

static void look_again(struct front *front)
{
	bool busy = front->admission.running > 0 || front->admission.waiting > 0 ||
		    front->admission.memory_now < front->admission.limits.memory_floor;

	front->looking = NULL;
	loop_timer_set(front->loop, &front->look,
		       clock_now_ns() + (busy ? LOOK_BUSY_NS : LOOK_IDLE_NS));
}

static uint64_t find_number(json_t *object, const char *name, uint64_t otherwise)
{
	json_t *value = json_object_get(object, name);

	return json_is_integer(value) && json_integer_value(value) >= 0
		       ? (uint64_t)json_integer_value(value)
		       : otherwise;
}

static void looked(void *user, const char *data, size_t size)
{
	struct front *front = user;
	json_t *stats = json_loadb(data, size, 0, NULL);
	json_t *memory = json_object_get(stats, "memory");

	front->admission.memory_now = find_number(memory, "available_bytes", UINT64_MAX);
	admission_processors(&front->admission, (unsigned)find_number(stats, "processors", 0));
	json_decref(stats);
	look_again(front);
}

static void look_failed(void *user, const struct brig_error *error)
{
	(void)error;
	look_again(user);
}

static void look(void *user)
{
	struct front *front = user;
	struct engine_call call = { .op = ENGINE_STATS,
				    .tenant = "brig",
				    .end = looked,
				    .fail = look_failed,
				    .user = front };

	/* Directly, so that it does not wait behind the calls of a tenant of this name. */
	if (engine_start(front->forks, &call, &front->looking, NULL) < 0) {
		look_again(front);
	}
}

void front_watch_begin(struct front *front)
{
	front->look.due = look;
	front->look.user = front;
	look(front);
}

void front_watch_end(struct front *front)
{
	loop_timer_clear(&front->look);
	if (front->looking) {
		engine_forget(front->looking);
		front->looking = NULL;
	}
}

/* Only the engine knows a session's policy. A copy: tokens may be read again while runs wait. */
static int put_policies(const struct token *token, struct execution_request *execution_request,
			struct problem *problem)
{
	int r = 0;

	strlist_done(&execution_request->policies);
	execution_request->call.policies = NULL;
	if (!token || execution_request->call.op != ENGINE_EXECUTE ||
	    !execution_request->call.session) {
		return 0;
	}
	for (size_t i = 0; r == 0 && i < token->policies.count; i++) {
		r = strlist_add(&execution_request->policies, token->policies.items[i]);
	}
	if (execution_request->policies.count) {
		execution_request->call.policies =
			(const char *const *)execution_request->policies.items;
	}
	return r < 0 ? problem_set(problem, PROBLEM_MEMORY_LOW, "no memory for the request") : 0;
}

/*
 * The warden checks this itself; here the refusal has a clear message, and names the caller to be
 * marked.
 */
static int permit_consent(const struct caller *caller, struct execution_request *execution_request,
			  struct problem *problem)
{
	if (!execution_request->call.run.consent) {
		return 0;
	}
	if (!caller->consent) {
		problem_set(problem, PROBLEM_CONSENT_NOT_ALLOWED,
			    "consent: %s may not give a person's consent", caller->name);
		problem_remedy(problem, caller->token
						? "the operator marks the token with "
						  "\"consent\": true in the token file"
						: "the operator lists the user in "
						  "consent_users of its configuration, or a token "
						  "with \"consent\": true is used");
		return -EACCES;
	}
	if (caller->token && !caller->presented[0]) {
		return problem_set(
			problem, PROBLEM_CONSENT_NOT_ALLOWED,
			"consent: it does not survive a restart; send the request again");
	}
	execution_request->call.proof = execution_request->proof = strdup(caller->presented);
	return execution_request->proof
		       ? 0
		       : problem_set(problem, PROBLEM_MEMORY_LOW, "no memory for the request");
}

int front_permit(struct front *front, const struct caller *caller,
		 struct execution_request *execution_request, struct problem *problem)
{
	struct brig_request *run = &execution_request->call.run;

	(void)front;
	/* A session's runs have the session's policy. */
	if (!execution_request->call.session || run->policy) {
		int r = token_allows(caller->token, run->policy, problem);
		if (r < 0) {
			return r;
		}
	}
	/*
	 * Limits that are not given are the policy's, or the session's: only the engine knows
	 * these.
	 */
	run->limits_most = caller->token ? caller->token->ceilings : (struct brig_limits){ 0 };
	int r = permit_consent(caller, execution_request, problem);
	r = r < 0 ? r : put_policies(caller->token, execution_request, problem);
	return r < 0 || run->clamp ? r : token_bound(caller->token, &run->limits, problem);
}

/* --- refused callers ------------------------------------------------------------------------- */

void front_audit_refusal(struct front *front, const struct http_exchange *exchange,
			 enum problem_kind kind)
{
	uint64_t now = clock_now_ns();
	struct buf facts = { 0 };
	struct json_out json = { .buf = &facts };

	front->refusals++;
	if (front->refusals_ns && now - front->refusals_ns < REFUSAL_NS) {
		return;
	}
	json_open(&json, NULL, '{');
	json_text(&json, "code", problem_info(kind)->code);
	if (exchange->peer.local) {
		json_int(&json, "uid", exchange->peer.uid);
	} else {
		json_text(&json, "address", exchange->peer.address);
	}
	json_u64(&json, "count", front->refusals);
	json_close(&json, '}');
	ledger_audit(front->ledger, "auth.refused", "brig", facts.data ? facts.data : "{}", NULL,
		     NULL);
	role_log(ROLE_NOTICE, "auth.refused", "code=%s count=%llu", problem_info(kind)->code,
		 (unsigned long long)front->refusals);
	front->refusals_ns = now;
	front->refusals = 0;
	buf_done(&facts);
}
