/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run on a service: see run_service.h. The response is a stream of events. Closing the connection
 * ends the run, so a signal that ends brig ends it too.
 */
#include "cli/run/run_service.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/run/result_read.h"
#include "cli/service/client.h"
#include "cli/service/event_reader.h"
#include "cli/service/problem_read.h"

struct event_listener {
	run_service_output *take;
	void *user;
	struct brig_result *result; /* owned */
	char *json;                 /* owned */
	struct brig_error *err;
	bool failed;
};

static int take_output(struct event_listener *listener, json_t *data)
{
	_cleanup_(buf_done)
	struct buf bytes = { 0 };
	int fd;
	int r = event_output(data, &bytes, &fd);

	return r < 0 || bytes.size == 0
		       ? r
		       : listener->take(listener->user, fd, bytes.data, bytes.size);
}

static int take_failure(struct event_listener *listener, json_t *problem)
{
	listener->failed = true;
	problem_read(problem, 0, listener->err);
	return 1;
}

static int take_event(void *user, const char *name, json_t *data, const char *text)
{
	struct event_listener *listener = user;

	if (strcmp(name, "output") == 0) {
		return take_output(listener, data);
	}
	if (strcmp(name, "error") == 0) {
		return take_failure(listener, data);
	}
	if (strcmp(name, "result") != 0) {
		return 0;
	}
	listener->result = result_read(data);
	listener->json = strdup(text);
	return listener->result && listener->json ? 1 : -ENOMEM;
}

static void listener_done(struct event_listener *listener)
{
	brig_result_free(listener->result);
	free(listener->json);
}

static int ask(const struct run_args *args, const struct run_request *request,
	       struct event_listener *listener, struct brig_error *err)
{
	_cleanup_(event_reader_done)
	struct event_reader events = { .take = take_event, .user = listener };
	_cleanup_(client_answer_done)
	struct client_answer answer = { 0 };
	_cleanup_(buf_done)
	struct buf body = { 0 };
	struct client_request call = { .socket = args->service,
				       .method = "POST",
				       .path = "/v1/execute",
				       .body = &body,
				       .take = event_reader_take,
				       .user = &events };
	int r = run_service_body(args, request, &body, err);

	return r < 0 ? r : client_ask(&call, &answer, err);
}

int run_service(const struct run_args *args, const struct run_request *request,
		run_service_output *take, void *user, struct brig_result **ret, char **ret_json,
		struct brig_error *err)
{
	_cleanup_(listener_done)
	struct event_listener listener = { .take = take, .user = user, .err = err };
	int r = ask(args, request, &listener, err);

	if (r < 0 || listener.failed) {
		return r < 0 ? r : -EIO;
	}
	if (!listener.result) {
		return error_set(err, BRIG_E_SYSTEM, EPROTO,
				 "the service ended the run without a result");
	}
	*ret = TAKE_PTR(listener.result);
	*ret_json = TAKE_PTR(listener.json);
	return 0;
}
