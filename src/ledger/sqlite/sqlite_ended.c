/* SPDX-License-Identifier: Apache-2.0 */
/* Ends of executions. A long result is stored in parts, and then all the rest at once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "ledger/sqlite/sqlite_executions.h"
#include "ledger/store/json_facts.h"
#include "ledger/store/result_facts.h"

struct store_ended {
	char id[27];
	struct open_execution one;
	struct ended_result *result; /* borrowed, or `own` */
	struct ended_result own;
	const char *data; /* of the result, or part of `shorter` */
	size_t size;
	struct buf facts;   /* for the audit chain */
	struct buf shorter; /* the shortened result, when it is too long */
	size_t first;       /* bytes that are not in a separate part */
	unsigned part;      /* number of stored parts */
};

static int no_memory(struct brig_error *error)
{
	return error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory");
}

static void ended_done(struct store_ended *ended)
{
	ended_result_done(&ended->own);
	buf_done(&ended->facts);
	buf_done(&ended->shorter);
}

void sqlite_ended_free(struct store_ended *ended)
{
	if (ended) {
		ended_done(ended);
		free(ended);
	}
}

static void ended_freep(struct store_ended **ended)
{
	sqlite_ended_free(*ended);
}

static int take_facts(struct store_ended *ended, struct brig_error *error)
{
	const struct open_execution *one = &ended->one;
	const struct result_origin origin = {
		.execution = ended->id,
		.caller = one->caller,
		.session = one->session[0] ? one->session : NULL,
		.language = one->language[0] ? one->language : NULL,
		.policy = one->policy[0] ? one->policy : NULL,
		.code_sha256 = one->code[0] ? one->code : NULL,
	};

	result_facts(&origin, ended->result->skeleton, &ended->facts);
	return ended->facts.failed ? no_memory(error) : 0;
}

static int cut(struct store_ended *ended, size_t max, struct brig_error *error)
{
	const struct ended_result *whole = ended->result;
	struct outcome outcome = whole->outcome;

	if (whole->outcome.json_size <= max) {
		return 0;
	}
	buf_add(&ended->shorter, &outcome, sizeof(outcome));
	int r = result_cut(whole->skeleton, &whole->outcome, whole->json, max, &outcome,
			   &ended->shorter);
	if (r == -ENOMEM) {
		return no_memory(error);
	}
	/* A result that cannot be shortened is not ours. */
	if (r < 0 || outcome.json_size > 2 * max) {
		return error_set(error, BRIG_E_INPUT, EFBIG, "a result of %zu bytes",
				 (size_t)whole->outcome.json_size);
	}
	memcpy(ended->shorter.data, &outcome, sizeof(outcome));
	ended->data = ended->shorter.data;
	ended->size = ended->shorter.size;
	return 0;
}

/* A reader of the first part needs the record of the whole result in it. */
static int put_record_in_front(struct store_ended *ended, struct brig_error *error)
{
	if (ended->size <= STORE_LONG_BYTES || ended->data[0] != '{') {
		return 0;
	}
	buf_add(&ended->shorter, &ended->result->outcome, sizeof(ended->result->outcome));
	buf_add(&ended->shorter, ended->data, ended->size);
	if (ended->shorter.failed) {
		return no_memory(error);
	}
	ended->data = ended->shorter.data;
	ended->size = ended->shorter.size;
	return 0;
}

static int prepare(struct store *store, struct store_ended *ended, const char *id,
		   struct ended_result *result, struct brig_error *error)
{
	(void)strncat(ended->id, id, sizeof(ended->id) - 1);
	ended->result = result;
	ended->data = result->data;
	ended->size = result->size;
	int r = execution_find_open(store, ended->id, RUNNING, &ended->one, error);
	if (r < 0) {
		return r;
	}
	r = take_facts(ended, error);
	if (r < 0) {
		return r;
	}
	/* Last: it changes the skeleton. */
	r = cut(ended, (size_t)store->limits.result_max, error);
	if (r < 0) {
		return r;
	}
	r = put_record_in_front(ended, error);
	if (r < 0) {
		return r;
	}
	ended->first = ended->size > STORE_LONG_BYTES ? STORE_PART_BYTES : ended->size;
	return 0;
}

int sqlite_ended_open(struct store *store, const char *id, struct ended_result *result,
		      struct store_ended **ret, struct brig_error *error)
{
	_cleanup_(ended_freep)
	struct store_ended *ended = calloc(1, sizeof(*ended));

	if (!ended) {
		ended_result_done(result);
		return no_memory(error);
	}
	ended->own = *result;
	*result = (struct ended_result){ 0 };
	int r = prepare(store, ended, id, &ended->own, error);
	if (r < 0) {
		return r;
	}
	*ret = TAKE_PTR(ended);
	return 0;
}

int sqlite_ended_step(struct store *store, struct store_ended *ended, struct brig_error *error)
{
	size_t at = ended->first + ended->part * STORE_PART_BYTES;

	if (at >= ended->size) {
		return 1;
	}
	size_t left = ended->size - at;
	int r = sqlite_part_put(store, ended->one.n, ended->part + 1, ended->data + at,
				left < STORE_PART_BYTES ? left : STORE_PART_BYTES, error);
	ended->part += r == 0;
	return r;
}

int sqlite_ended_undo(struct store *store, struct store_ended *ended, struct brig_error *error)
{
	int r = ended->part ? sqlite_parts_drop(store, ended->one.n, STORE_PARTS_MAX, error) : 0;

	return r < 0 ? r : 0;
}

/*
 * Cancelled or rejected before it ran. Without a request it was not acknowledged either: if it was
 * rejected (timed out in the queue, or the service stops), its key can be used for another try. A
 * lost one may have run.
 */
static int end_unbegun(struct store *store, int64_t n, json_t *result, struct brig_error *error)
{
	int r = sqlite_request_drop(store, n, error);
	bool had_request = r > 0;

	if (r < 0 || had_request || strcmp(result_status(result), "error") != 0) {
		return r < 0 ? r : 0;
	}
	return sqlite_write(store, error, SQL_KEY_DROP, "i", n);
}

static int put_result(struct store *store, const struct store_ended *ended,
		      struct brig_error *error)
{
	int64_t now = (int64_t)store_now_ms(store), n = ended->one.n;
	int r = sqlite_write(store, error, SQL_END, "tii", result_status(ended->result->skeleton),
			     now, n);

	if (r < 0) {
		return r;
	}
	r = sqlite_write(store, error, SQL_RESULT_PUT, "iiib", n, now, (int64_t)ended->size,
			 ended->data, ended->first);
	if (r < 0) {
		return r;
	}
	store->now.result_bytes += ended->size;
	return 0;
}

int sqlite_ended_finish(struct store *store, struct store_ended *ended, struct brig_error *error)
{
	int64_t n = ended->one.n;
	int r = 0;

	/* Other calls may have been handled since it was looked up. */
	if (ended->result->outcome.json_size > STORE_PART_BYTES) {
		r = execution_find_open(store, ended->id, RUNNING, &ended->one, error);
	}
	if (r < 0) {
		return r;
	}
	if (ended->one.n != n) {
		return error_set(error, BRIG_E_SYSTEM, ESTALE,
				 "execution %s was removed while its result was stored", ended->id);
	}
	if (ended->one.state == QUEUED) {
		r = end_unbegun(store, ended->one.n, ended->result->skeleton, error);
	}
	if (r < 0) {
		return r;
	}
	r = sqlite_append(store, "execution.ended", ended->one.tenant, ended->facts.data, error);
	return r < 0 ? r : put_result(store, ended, error);
}

int sqlite_execution_ended(struct store *store, const char *id, struct ended_result *result,
			   struct brig_error *error)
{
	_cleanup_(ended_done)
	struct store_ended ended = { 0 };
	int r = prepare(store, &ended, id, result, error);

	while (r == 0) {
		r = sqlite_ended_step(store, &ended, error);
	}
	return r < 0 ? r : sqlite_ended_finish(store, &ended, error);
}
