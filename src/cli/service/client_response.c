/* SPDX-License-Identifier: Apache-2.0 */
/* Responses: see client_response.h. */
#include "cli/service/client_response.h"

#include <errno.h>

static const struct http1_rules rules = {
	.kind = HTTP1_RESPONSE,
	.head_bytes = (size_t)64 << 10,
	.fields = 256,
	.extra_bytes = (size_t)16 << 10,
};

void client_response_init(struct client_response *response, const struct client_request *request,
			  struct client_answer *answer)
{
	*response = (struct client_response){ .request = request, .answer = answer };
	http1_init(&response->reader, &rules);
}

void client_response_done(struct client_response *response)
{
	buf_done(&response->head);
}

static bool is_streamed(const struct client_response *response)
{
	return response->request->take && response->answer->status < 300;
}

static int keep(struct client_answer *answer, const struct http1_text *data)
{
	buf_add(&answer->body, data->at, data->size);
	return answer->body.failed ? -ENOMEM : 0;
}

static int pass_on(struct client_response *response, const struct http1_text *data,
		   struct brig_error *err)
{
	const struct client_request *request = response->request;
	int r = is_streamed(response) ? request->take(request->user, data->at, data->size)
				      : keep(response->answer, data);

	if (r < 0 && err && !err->message[0]) {
		return error_errno(err, BRIG_E_SYSTEM, -r,
				   "the response of the service cannot be read");
	}
	return r;
}

/* Errors stay in the reader, which reports them next. */
static void begin_body(struct client_response *response)
{
	struct http1_reader *reader = &response->reader;

	if (http1_read_fields(reader, response->head.data)) {
		response->answer->status = (int)reader->line.status;
		http1_begin_body(reader, is_streamed(response) ? UINT64_MAX : CLIENT_BODY_MAX);
	}
}

/* After an interim response another one follows. */
static int end_response(struct client_response *response)
{
	if (!http1_is_interim(&response->reader)) {
		return 1;
	}
	buf_done(&response->head);
	http1_init(&response->reader, &rules);
	return 0;
}

static int fail(const struct client_response *response, struct brig_error *err)
{
	enum http1_error error = response->reader.error;

	if (error == HTTP1_CUT_OFF) { /* EPIPE means stdout */
		return error_set(err, BRIG_E_SYSTEM, ECONNRESET,
				 "the response of the service is incomplete");
	}
	return error_set(err, BRIG_E_SYSTEM, EPROTO,
			 "the response of the service is not valid HTTP: %s",
			 http1_error_text(error));
}

static int handle(struct client_response *response, enum http1_event event,
		  const struct http1_text *data, struct brig_error *err)
{
	switch (event) {
	case HTTP1_HEAD:
		begin_body(response);
		return 0;
	case HTTP1_DATA:
		return pass_on(response, data, err);
	case HTTP1_END:
		return end_response(response);
	case HTTP1_WRONG:
		return fail(response, err);
	case HTTP1_MORE:
	case HTTP1_LINE:
		break;
	}
	return 0;
}

int client_response_take(struct client_response *response, const char *data, size_t size,
			 struct brig_error *err)
{
	struct http1_text input = { data, size }, body = { 0 };
	enum http1_event event = HTTP1_LINE;
	int r = 0;

	while (r == 0 && event != HTTP1_MORE) {
		const char *before = input.at;
		bool in_head = response->reader.state < HTTP1_HEAD_DONE;
		event = http1_read(&response->reader, &input, &body);
		if (in_head) {
			buf_add(&response->head, before, (size_t)(input.at - before));
		}
		if (response->head.failed) {
			return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory");
		}
		r = handle(response, event, &body, err);
	}
	return r;
}

int client_response_close(struct client_response *response, struct brig_error *err)
{
	return http1_close(&response->reader) == HTTP1_END ? 1 : fail(response, err);
}
