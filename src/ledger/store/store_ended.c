/* SPDX-License-Identifier: Apache-2.0 */
/* Ends of executions. A long result is stored in parts, and then all the rest at once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "ledger/store/json_facts.h"
#include "ledger/store/result_facts.h"
#include "ledger/store/store_executions.h"

/* The input: a result of a run, or a short record of a failure without an outcome. */
struct store_ended {
	char id[27];
	struct open_execution one;
	const char *data; /* borrowed, or part of `shorter` */
	size_t size;
	const char *json;
	struct outcome outcome;
	json_t *skeleton;   /* owned: everything except the long parts */
	struct buf facts;   /* for the audit chain */
	struct buf shorter; /* the shortened result, when it is too long */
	size_t first;       /* bytes that are not in a separate part */
	unsigned part;      /* number of stored parts */
};

static int no_memory(struct brig_error *error)
{
	return error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory");
}

void store_ended_free(struct store_ended *ended)
{
	if (ended) {
		json_decref(ended->skeleton);
		buf_done(&ended->facts);
		buf_done(&ended->shorter);
		free(ended);
	}
}

static void ended_freep(struct store_ended **ended)
{
	store_ended_free(*ended);
}

static int read_all(struct store_ended *ended)
{
	int r = ended->size && ended->data[0] == '{'
			? outcome_find(ended->data, ended->size, &ended->outcome)
			: outcome_read(ended->data, ended->size, &ended->outcome, &ended->json);

	if (r < 0) {
		return r;
	}
	r = outcome_parse(&ended->outcome, ended->json, &ended->skeleton);
	return r == 0 && !result_status(ended->skeleton) ? -EPROTO : r;
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

	result_facts(&origin, ended->skeleton, &ended->facts);
	return ended->facts.failed ? no_memory(error) : 0;
}

static int cut(struct store_ended *ended, size_t max, struct brig_error *error)
{
	struct outcome outcome = ended->outcome;

	if (ended->outcome.json_size <= max) {
		return 0;
	}
	buf_add(&ended->shorter, &outcome, sizeof(outcome));
	int r = result_cut(ended->skeleton, &ended->outcome, ended->json, max, &outcome,
			   &ended->shorter);
	if (r == -ENOMEM) {
		return no_memory(error);
	}
	/* A result that cannot be shortened is not ours. */
	if (r < 0 || outcome.json_size > 2 * max) {
		return error_set(error, BRIG_E_INPUT, EFBIG, "a result of %zu bytes",
				 (size_t)ended->outcome.json_size);
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
	buf_add(&ended->shorter, &ended->outcome, sizeof(ended->outcome));
	buf_add(&ended->shorter, ended->data, ended->size);
	if (ended->shorter.failed) {
		return no_memory(error);
	}
	ended->data = ended->shorter.data;
	ended->size = ended->shorter.size;
	return 0;
}

int store_ended_open(struct store *store, const char *id, const char *data, size_t size,
		     struct store_ended **ret, struct brig_error *error)
{
	_cleanup_(ended_freep)
	struct store_ended *ended = calloc(1, sizeof(*ended));

	if (!ended) {
		return no_memory(error);
	}
	(void)strncat(ended->id, id, sizeof(ended->id) - 1);
	ended->data = ended->json = data;
	ended->size = size;
	int r = read_all(ended);
	if (r < 0) {
		return error_set(error, BRIG_E_INPUT, r == -ENOMEM ? ENOMEM : EPROTO,
				 "execution %s: the result is invalid", ended->id);
	}
	r = execution_find_open(store, ended->id, RUNNING, &ended->one, error);
	if (r < 0) {
		return r;
	}
	r = take_facts(ended, error);
	if (r < 0) {
		return r;
	}
	/* Last: it changes the skeleton. */
	r = cut(ended, (size_t)store->result_max, error);
	if (r < 0) {
		return r;
	}
	r = put_record_in_front(ended, error);
	if (r < 0) {
		return r;
	}
	ended->first = ended->size > STORE_LONG_BYTES ? STORE_PART_BYTES : ended->size;
	*ret = TAKE_PTR(ended);
	return 0;
}

int store_ended_step(struct store *store, struct store_ended *ended, struct brig_error *error)
{
	size_t at = ended->first + ended->part * STORE_PART_BYTES;

	if (at >= ended->size) {
		return 1;
	}
	size_t left = ended->size - at;
	int r = store_part_put(store, ended->one.n, ended->part + 1, ended->data + at,
			       left < STORE_PART_BYTES ? left : STORE_PART_BYTES, error);
	ended->part += r == 0;
	return r;
}

int store_ended_undo(struct store *store, struct store_ended *ended, struct brig_error *error)
{
	int r = ended->part ? store_parts_drop(store, ended->one.n, STORE_PARTS_MAX, error) : 0;

	return r < 0 ? r : 0;
}

/*
 * Cancelled or rejected before it ran. Without a request it was not acknowledged either: if it was
 * rejected (timed out in the queue, or the service stops), its key can be used for another try. A
 * lost one may have run.
 */
static int end_unbegun(struct store *store, int64_t n, json_t *result, struct brig_error *error)
{
	int r = store_request_drop(store, n, error);
	bool had_request = r > 0;

	if (r < 0 || had_request || strcmp(result_status(result), "error") != 0) {
		return r < 0 ? r : 0;
	}
	return store_write(store, error, SQL_KEY_DROP, "i", n);
}

static int put_result(struct store *store, const struct store_ended *ended,
		      struct brig_error *error)
{
	int64_t now = (int64_t)store_time_ms(), n = ended->one.n;
	int r = store_write(store, error, SQL_END, "tii", result_status(ended->skeleton), now, n);

	if (r < 0) {
		return r;
	}
	r = store_write(store, error, SQL_RESULT_PUT, "iiib", n, now, (int64_t)ended->size,
			ended->data, ended->first);
	if (r < 0) {
		return r;
	}
	store->now.result_bytes += ended->size;
	return 0;
}

int store_ended_finish(struct store *store, struct store_ended *ended, struct brig_error *error)
{
	int64_t n = ended->one.n;
	int r = 0;

	/* Other calls may have been handled since it was looked up. */
	if (ended->outcome.json_size > STORE_PART_BYTES) {
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
		r = end_unbegun(store, ended->one.n, ended->skeleton, error);
	}
	if (r < 0) {
		return r;
	}
	r = store_append(store, "execution.ended", ended->one.tenant, ended->facts.data, error);
	return r < 0 ? r : put_result(store, ended, error);
}

int store_execution_ended(struct store *store, const char *id, const char *data, size_t size,
			  struct brig_error *error)
{
	_cleanup_(ended_freep)
	struct store_ended *ended = NULL;
	int r = store_ended_open(store, id, data, size, &ended, error);

	if (r < 0 || !ended) {
		return r;
	}
	while (r == 0) {
		r = store_ended_step(store, ended, error);
	}
	return r < 0 ? r : store_ended_finish(store, ended, error);
}
