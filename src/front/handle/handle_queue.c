/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue for operators. When the service has died several times in a row, executions that were
 * queued before its last start are held in the ledger: none of them starts before an operator
 * releases or drops them. New requests run as always.
 */
#include <stdlib.h>

#include "base/json/json_out.h"
#include "front/execution/execution_record.h"
#include "front/request/request.h"
#include "role/log.h"

struct queue_work {
	struct front *front;
	struct request *request; /* NULL: the operator has left; the work goes on */
	uint64_t dropped;
	bool drops;
};

static void closed(struct request *request)
{
	((struct queue_work *)request->state)->request = NULL;
}

static uint64_t number_of(const char *data, size_t size, const char *key)
{
	json_t *root = json_loadb(data, size, 0, NULL);
	json_int_t number = json_integer_value(json_object_get(root, key));

	json_decref(root);
	return number > 0 ? (uint64_t)number : 0;
}

static void answer(struct queue_work *work, uint64_t held)
{
	const struct front *front = work->front;
	struct request *request = work->request;
	struct buf text = { 0 };
	struct json_out json = { .buf = &text };

	if (request) {
		json_open(&json, NULL, '{');
		json_text(&json, "state", front->queue_held ? "held" : "open");
		json_u64(&json, "held", front->queue_held ? held : 0);
		json_u64(&json, "waiting", front->admission.waiting);
		json_u64(&json, "running", front->admission.running);
		if (work->drops) {
			json_u64(&json, "dropped", work->dropped);
		}
		json_close(&json, '}');
		request->closed = NULL;
		request_answer_json(request, 200, text.data ? text.data : "{}",
				    text.data ? text.size : 2);
	}
	buf_done(&text);
	free(work);
}

static void fail(struct queue_work *work)
{
	if (work->request) {
		work->request->closed = NULL;
		request_refuse(work->request, PROBLEM_LEDGER_UNAVAILABLE,
			       "the ledger does not answer");
	}
	free(work);
}

static void counted(void *user, const struct brig_error *error, const char *data, size_t size)
{
	if (error) {
		fail(user);
	} else {
		answer(user, number_of(data, size, "pending"));
	}
}

static void count(struct queue_work *work)
{
	if (ledger_stats(work->front->ledger, counted, work) < 0) {
		fail(work);
	}
}

/* NULL: the request has been answered. */
static struct queue_work *begin(struct request *request)
{
	if (!request->caller.is_operator) {
		request_refuse(request, PROBLEM_FORBIDDEN, "only operators may use the queue");
		return NULL;
	}
	struct queue_work *work = calloc(1, sizeof(*work));
	if (!work) {
		request_refuse(request, PROBLEM_MEMORY_LOW, "no memory for the answer");
		return NULL;
	}
	work->front = request->front;
	work->request = request;
	request->state = work;
	request->closed = closed;
	return work;
}

static void released(struct front *front, const char *tenant, const char *event)
{
	front->queue_held = false;
	role_log(ROLE_NOTICE, event, NULL);
	ledger_audit(front->ledger, event, tenant, "{}", NULL, NULL);
	if (front->queue_released) {
		front->queue_released(front->queue_user);
	}
}

void handle_queue(struct request *request)
{
	struct queue_work *work = begin(request);

	if (work) {
		count(work);
	}
}

void handle_queue_release(struct request *request)
{
	struct queue_work *work = begin(request);

	if (work && work->front->queue_held) {
		released(work->front, request->caller.tenant, "queue.released");
		front_recover(work->front);
	}
	if (work) {
		count(work);
	}
}

static void drop_some(struct queue_work *work);

static void dropped(void *user, const struct brig_error *error, const char *data, size_t size)
{
	struct queue_work *work = user;
	uint64_t some = error ? 0 : number_of(data, size, "dropped");

	work->dropped += some;
	if (error) {
		fail(work);
	} else if (some > 0) {
		drop_some(work);
	} else {
		if (work->front->queue_held) {
			released(work->front, "brig", "queue.dropped");
		}
		count(work);
	}
}

static void drop_some(struct queue_work *work)
{
	if (ledger_drop(work->front->ledger, dropped, work) < 0) {
		fail(work);
	}
}

void handle_queue_drop(struct request *request)
{
	struct queue_work *work = begin(request);

	if (work) {
		work->drops = true;
		if (work->front->queue_held) {
			drop_some(work);
		} else {
			count(work);
		}
	}
}
