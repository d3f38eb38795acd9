/* SPDX-License-Identifier: Apache-2.0 */
/* Orders. */
#include "front/request/submission.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "front/request/upload.h"

#define KEY_MAX 255

/* The ledger's answer comes even if the visitor has left. */
struct waiting {
	struct visit *visit; /* NULL: has left */
	void (*begun)(struct visit *visit, const struct problem *problem, const char *twin,
		      bool same);
};

static void closed(struct visit *visit)
{
	((struct waiting *)visit->state)->visit = NULL;
}

static void begun(void *user, const struct problem *problem, const char *twin, bool same)
{
	struct waiting *waiting = user;
	struct visit *visit = waiting->visit;

	if (visit) {
		visit->closed = NULL;
		visit->state = NULL;
		waiting->begun(visit, problem, twin, same);
	}
	free(waiting);
}

static int check_key(const char *key, struct problem *problem)
{
	for (const char *c = key; *c; c++) {
		if (*c < 0x21 || *c > 0x7e) {
			return problem_set(problem, PROBLEM_INVALID_REQUEST,
					   "Idempotency-Key: visible ASCII characters only");
		}
	}
	if (!*key || strlen(key) > KEY_MAX) {
		return problem_set(problem, PROBLEM_INVALID_REQUEST,
				   "Idempotency-Key: must have 1 to %d characters", KEY_MAX);
	}
	return 0;
}

/* The body is not held: what is wanted of it was made as it came. */
static int prepare_upload(struct visit *visit, struct execution_order *order,
			  struct problem *problem)
{
	if (order->key) {
		upload_digest(visit->exchange, order->text_sha256);
	}
	if (!order->queued) {
		return 0;
	}
	order->text = upload_text(visit->exchange, false);
	return order->text ? 0
			   : problem_set(problem, PROBLEM_MEMORY_LOW, "no memory for the request");
}

static int prepare(struct visit *visit, struct execution_order *order, struct waiting **ret,
		   struct problem *problem)
{
	int r = front_permit(visit->front, &visit->caller, order->ask, problem);

	order->caller = &visit->caller;
	order->key = visit_asks(visit, "Idempotency-Key");
	order->path = visit->exchange->path;
	order->body = visit->exchange->body;
	order->body_size = visit->exchange->body_size;
	if (r == 0 && order->key) {
		r = check_key(order->key, problem);
	}
	if (r == 0 && upload_has(visit->exchange)) {
		r = prepare_upload(visit, order, problem);
	}
	if (r == 0 && (order->key || order->queued)) {
		*ret = calloc(1, sizeof(**ret));
		r = *ret ? 0 : problem_set(problem, PROBLEM_MEMORY_LOW, "no memory");
	}
	return r;
}

int order_place(struct visit *visit, struct execution_order *order,
		void (*then)(struct visit *visit, const struct problem *problem, const char *twin,
			     bool same),
		struct execution **ret, struct problem *problem)
{
	struct waiting *waiting = NULL;
	int r = prepare(visit, order, &waiting, problem);

	if (r < 0) {
		ask_free(order->ask);
		block_unref(order->text);
		return r;
	}
	order->begun = begun;
	order->user = waiting;
	r = execution_new(visit->front, order, ret, problem);
	block_unref(TAKE_PTR(order->text));
	if (r < 0) {
		free(waiting);
	} else if (waiting) {
		waiting->visit = visit;
		waiting->begun = then;
		visit->state = waiting;
		visit->closed = closed;
	}
	return r;
}
