/* SPDX-License-Identifier: Apache-2.0 */
/* What the ledger tells, as the API has it. */
#include "front/stored.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "front/execution_record.h"

#define FAILURE_MAX 8192

static bool read_failure(const char *result, size_t size, struct problem *ret)
{
	json_t *root = size <= FAILURE_MAX ? json_loadb(result, size, 0, NULL) : NULL;
	bool failed = root && record_problem(root, ret);

	json_decref(root);
	return failed;
}

int stored_read(const char *data, size_t size, struct stored *ret)
{
	static const char key[] = ",\"result\":";
	static const char status[] = "\"status\":\"";
	/* Nothing in front of the result can hold these: quotes inside of strings are escaped. */
	const char *at = size ? memmem(data, size, key, sizeof(key) - 1) : NULL;
	const char *word =
		at ? memmem(data, (size_t)(at - data), status, sizeof(status) - 1) : NULL;

	if (!word || data[size - 1] != '}') {
		return -EPROTO;
	}
	*ret = (struct stored){ .head = data, .head_size = (size_t)(at - data) };
	word += sizeof(status) - 1;
	size_t length = strcspn(word, "\"");
	if (length >= sizeof(ret->status)) {
		return -EPROTO;
	}
	memcpy(ret->status, word, length);
	at += sizeof(key) - 1;
	size_t result_size = (size_t)(data + size - 1 - at);
	if (result_size >= 2 && at[0] == '{') {
		ret->result = at;
		ret->result_size = result_size;
		ret->failed = read_failure(at, result_size, &ret->problem);
	}
	return 0;
}

void stored_write(const struct stored *stored, struct buf *out)
{
	buf_add(out, stored->head, stored->head_size);
	buf_adds(out, ",\"result\":");
	if (stored->result && !stored->failed) {
		buf_add(out, stored->result, stored->result_size);
	} else {
		buf_adds(out, "null");
	}
	buf_adds(out, ",\"error\":");
	if (stored->failed) {
		struct buf problem = { 0 };
		problem_write(&stored->problem, &problem);
		buf_add(out, problem.data ? problem.data : "null", problem.data ? problem.size : 4);
		buf_done(&problem);
	} else {
		buf_adds(out, "null");
	}
	buf_addc(out, '}');
}

/* A question to the ledger cannot be taken back; its asker may leave. */
struct question {
	struct visit *visit; /* NULL: gone */
	void (*done)(struct visit *visit, const struct stored *stored);
};

static void asker_closed(struct visit *visit)
{
	((struct question *)visit->state)->visit = NULL;
}

static void answered(void *user, const struct brig_error *error, const char *data, size_t size)
{
	struct question *question = user;
	struct visit *visit = question->visit;
	struct stored stored;

	if (visit) {
		visit->closed = NULL;
		visit->state = NULL;
		if (error && error->errnum == ENOENT) {
			visit_refuse(visit, PROBLEM_NOT_FOUND, "there is no such execution");
		} else if (error || stored_read(data, size, &stored) < 0) {
			visit_refuse(visit, PROBLEM_LEDGER_UNAVAILABLE,
				     "the ledger does not answer");
		} else {
			question->done(visit, &stored);
		}
	}
	free(question);
}

void stored_get(struct visit *visit, const char *id,
		void (*done)(struct visit *visit, const struct stored *stored))
{
	struct question *question = id && id_valid(id) ? calloc(1, sizeof(*question)) : NULL;

	if (!question) {
		visit_refuse(visit, PROBLEM_NOT_FOUND, "there is no such execution");
		return;
	}
	question->visit = visit;
	question->done = done;
	visit->state = question;
	visit->closed = asker_closed;
	if (ledger_get(visit->front->ledger, visit->caller.tenant, id, answered, question) < 0) {
		visit->closed = NULL;
		free(question);
		visit_refuse(visit, PROBLEM_LEDGER_UNAVAILABLE, "the ledger does not answer");
	}
}

void stored_answer(struct visit *visit, const struct stored *stored)
{
	struct buf out = { 0 };

	stored_write(stored, &out);
	if (out.failed) {
		visit_refuse(visit, PROBLEM_MEMORY_LOW, "no memory for the answer");
	} else {
		visit_json(visit, 200, out.data, out.size);
	}
	buf_done(&out);
}

void stored_answer_result(struct visit *visit, const struct stored *stored)
{
	struct problem problem = { 0 };

	if (stored->failed) {
		problem = stored->problem;
		visit_problem(visit, &problem);
	} else if (stored->result) {
		visit_json(visit, 200, stored->result, stored->result_size);
	} else if (strcmp(stored->status, "queued") == 0 ||
		   strcmp(stored->status, "running") == 0) {
		problem_set(&problem, PROBLEM_UNAVAILABLE, "it is still under way");
		problem.retry_s = 1;
		visit_problem(visit, &problem);
	} else {
		visit_refuse(visit, PROBLEM_NOT_FOUND, "its result is not kept any more");
	}
}
