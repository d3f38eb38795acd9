/* SPDX-License-Identifier: Apache-2.0 */
/* Executions from the ledger, in the form of the API. */
#include "front/execution/stored.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "front/access/ledger_query.h"
#include "front/execution/execution_record.h"

#define FAILURE_MAX 8192
#define HEAD_MAX    8192u

static bool read_failure(const char *result, size_t size, struct problem *ret)
{
	json_t *root = size <= FAILURE_MAX ? json_loadb(result, size, 0, NULL) : NULL;
	bool failed = root && record_problem(root, ret);

	json_decref(root);
	return failed;
}

/* The text in the head after this key, up to the next quote. */
static int head_word(const char *head, size_t head_size, const char *key, char *ret, size_t size)
{
	const char *word = memmem(head, head_size, key, strlen(key));
	size_t length = word ? strcspn(word + strlen(key), "\"") : size;

	if (length >= size) {
		return -EPROTO;
	}
	memcpy(ret, word + strlen(key), length);
	ret[length] = '\0';
	return 0;
}

/* Reads the part before the result, which is short and written by the ledger. */
static int read_head(const char *data, size_t size, struct stored *ret)
{
	static const char key[] = ",\"result\":";
	/* This cannot occur before the result: quotes inside strings are escaped. */
	const char *at = memmem(data, size < HEAD_MAX ? size : HEAD_MAX, key, sizeof(key) - 1);

	if (!at || data[size - 1] != '}') {
		return -EPROTO;
	}
	ret->head = data;
	ret->head_size = (size_t)(at - data);
	if (head_word(data, ret->head_size, "\"status\":\"", ret->status, sizeof(ret->status)) <
		    0 ||
	    head_word(data, ret->head_size, "\"tenant\":\"", ret->tenant, sizeof(ret->tenant)) <
		    0) {
		return -EPROTO;
	}
	return (int)(sizeof(key) - 1);
}

int stored_read(struct block *block, struct stored *ret)
{
	const size_t places = sizeof(struct outcome);
	struct stored stored = { 0 };

	if (block->size <= places) {
		return -EPROTO;
	}
	const char *data = block->data + places;
	size_t size = block->size - places;
	int key = read_head(data, size, &stored);
	if (key < 0) {
		return key;
	}
	struct run_result *result = &stored.result;
	memcpy(&result->outcome, block->data, places);
	result->at = places + stored.head_size + (size_t)key;
	const char *json = block->data + result->at;
	if (result->outcome.magic) {
		/*
		 * It comes from another role: what it claims about the JSON is checked before it is
		 * used.
		 */
		if (outcome_check(&result->outcome, json, block->size - result->at - 1) < 0) {
			return -EPROTO;
		}
		stored.failed = read_failure(json, run_result_size(result), &stored.problem);
		result->block = block_ref(block);
	}
	*ret = stored;
	return 0;
}

void stored_done(struct stored *stored)
{
	run_result_done(&stored->result);
}

void stored_write(const struct stored *stored, struct rope *out)
{
	buf_add(&out->text, stored->head, stored->head_size);
	buf_adds(&out->text, ",\"result\":");
	if (stored->result.block && !stored->failed) {
		run_result_write(&stored->result, out);
	} else {
		buf_adds(&out->text, "null");
	}
	buf_adds(&out->text, ",\"error\":");
	if (stored->failed) {
		problem_write(&stored->problem, &out->text);
	} else {
		buf_adds(&out->text, "null");
	}
	buf_addc(&out->text, '}');
}

static void answered(struct request *request, const struct ledger_query_text *text,
		     const struct brig_error *error, const char *data, size_t size)
{
	struct stored stored = { 0 };
	struct block *block = error ? NULL : ledger_answer_keep(request->front->ledger);

	(void)data;
	(void)size;
	if (error && error->errnum == ENOENT) {
		request_refuse(request, PROBLEM_NOT_FOUND, "there is no such execution");
	} else if (error && error->errnum == ESTALE) {
		request_refuse(request, PROBLEM_NOT_FOUND, "its result is not stored any more");
	} else if (!block || stored_read(block, &stored) < 0) {
		request_refuse(request, PROBLEM_LEDGER_UNAVAILABLE, "the ledger does not answer");
	} else {
		request_audit_other(request, "operator.read", stored.tenant, request->args[0]);
		text->found(request, &stored);
	}
	stored_done(&stored);
	block_unref(block);
}

void stored_get(struct request *request, const char *id,
		void (*done)(struct request *request, const struct stored *stored))
{
	struct ledger_query_text text = { .kind = LEDGER_QUERY_EXECUTION, .found = done };

	if (!id || !id_valid(id)) {
		request_refuse(request, PROBLEM_NOT_FOUND, "there is no such execution");
		return;
	}
	memcpy(text.id, id, sizeof(text.id));
	snprintf(text.tenant, sizeof(text.tenant), "%s", request_tenant_scope(request));
	ledger_query_send(request, &text, answered);
}

void stored_answer(struct request *request, const struct stored *stored)
{
	struct rope out = { 0 };

	stored_write(stored, &out);
	request_answer_rope(request, 200, "application/json", &out);
}

void stored_answer_result(struct request *request, const struct stored *stored)
{
	struct problem problem = { 0 };

	if (stored->failed) {
		problem = stored->problem;
		request_answer_problem(request, &problem);
	} else if (stored->result.block) {
		struct rope out = { 0 };

		run_result_write(&stored->result, &out);
		request_answer_rope(request, 200, "application/json", &out);
	} else if (strcmp(stored->status, "queued") == 0 ||
		   strcmp(stored->status, "running") == 0) {
		problem_set(&problem, PROBLEM_UNAVAILABLE, "it is still in progress");
		problem.retry_s = 1;
		request_answer_problem(request, &problem);
	} else {
		request_refuse(request, PROBLEM_NOT_FOUND, "its result is not stored any more");
	}
}
