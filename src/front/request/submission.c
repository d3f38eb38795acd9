/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions: see submission.h. */
#include "front/request/submission.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "front/request/upload.h"

#define KEY_MAX 255

/* The ledger's answer comes even if the client has left. */
struct waiting {
	struct request *request; /* NULL: it has ended */
	void (*begun)(struct request *request, const struct problem *problem,
		      const char *existing_id, bool same);
};

static void closed(struct request *request)
{
	((struct waiting *)request->state)->request = NULL;
}

static void begun(void *user, const struct problem *problem, const char *existing_id, bool same)
{
	struct waiting *waiting = user;
	struct request *request = waiting->request;

	if (request) {
		request->closed = NULL;
		request->state = NULL;
		waiting->begun(request, problem, existing_id, same);
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

/* The body itself is not held: the hash and the text were made while it arrived. */
static int prepare_upload(struct request *request, struct submission *submission,
			  struct problem *problem)
{
	if (submission->key) {
		upload_digest(request->exchange, submission->text_sha256);
	}
	if (!submission->queued) {
		return 0;
	}
	submission->text = upload_text(request->exchange, false);
	return submission->text
		       ? 0
		       : problem_set(problem, PROBLEM_MEMORY_LOW, "no memory for the request");
}

static int prepare(struct request *request, struct submission *submission, struct waiting **ret,
		   struct problem *problem)
{
	submission->caller = &request->caller;
	submission->key = request_header(request, "Idempotency-Key");
	submission->path = request->exchange->path;
	submission->body = request->exchange->body;
	submission->body_size = request->exchange->body_size;
	int r = front_permit(request->front, &request->caller, submission->execution_request,
			     problem);
	if (r < 0) {
		return r;
	}
	r = submission->key ? check_key(submission->key, problem) : 0;
	if (r < 0) {
		return r;
	}
	r = upload_has(request->exchange) ? prepare_upload(request, submission, problem) : 0;
	if (r < 0 || !(submission->key || submission->queued)) {
		return r;
	}
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : problem_set(problem, PROBLEM_MEMORY_LOW, "no memory");
}

int submission_begin(struct request *request, struct submission *submission,
		     void (*then)(struct request *request, const struct problem *problem,
				  const char *existing_id, bool same),
		     struct execution **ret, struct problem *problem)
{
	struct waiting *waiting = NULL;
	int r = prepare(request, submission, &waiting, problem);

	if (r < 0) {
		execution_request_free(submission->execution_request);
		block_unref(submission->text);
		return r;
	}
	submission->begun = begun;
	submission->user = waiting;
	r = execution_new(request->front, submission, ret, problem);
	block_unref(TAKE_PTR(submission->text));
	if (r < 0) {
		free(waiting);
	} else if (waiting) {
		waiting->request = request;
		waiting->begun = then;
		request->state = waiting;
		request->closed = closed;
	}
	return r;
}
