/* SPDX-License-Identifier: Apache-2.0 */
/* Information about the service: runtimes, policies, health, the OpenAPI document. */
#include <errno.h>
#include <string.h>

#include "base/embedded.h"
#include "base/error.h"
#include "front/request/request.h"

void handle_runtimes(struct request *request)
{
	struct engine_call call = { .op = ENGINE_RUNTIMES };

	request_call_engine(request, &call, NULL);
}

void handle_policies(struct request *request)
{
	struct engine_call call = { .op = ENGINE_POLICIES };

	request_call_engine(request, &call, NULL);
}

static enum brig_code code_of(const char *name)
{
	for (int i = BRIG_E_NONE; name && i <= BRIG_E_SYSTEM; i++) {
		if (strcmp(brig_code_name((enum brig_code)i), name) == 0) {
			return (enum brig_code)i;
		}
	}
	return BRIG_E_SYSTEM;
}

/* A refusal is reported as for the run itself: in words that reveal nothing about the host. */
static void checked(void *user, const char *data, size_t size)
{
	struct request *request = user;
	json_t *answer = json_loadb(data, size, 0, NULL);
	json_t *why = json_object_get(answer, "error");
	const char *message = json_string_value(json_object_get(why, "message"));
	const char *remedy = json_string_value(json_object_get(why, "remedy"));
	struct brig_error error = { 0 };
	struct problem problem = { 0 };
	struct buf text = { 0 };

	request->run = NULL;
	if (!json_is_false(json_object_get(answer, "allowed"))) {
		request_answer_json(request, 200, data, size);
		json_decref(answer);
		return;
	}
	error_set(&error, code_of(json_string_value(json_object_get(why, "code"))), EACCES, "%s",
		  message ? message : "");
	error_remedy(&error, "%s", remedy ? remedy : "");
	problem_of_error(&problem, &error);
	buf_adds(&text, "{\"allowed\":false,\"error\":");
	problem_write(&problem, &text);
	buf_addc(&text, '}');
	request_answer_json(request, 200, text.data ? text.data : "{}", text.data ? text.size : 2);
	buf_done(&text);
	json_decref(answer);
}

void handle_policy_check(struct request *request)
{
	struct problem problem = { 0 };
	struct execution_request *execution_request = NULL;

	if (execution_request_from_body(EXECUTION_REQUEST_CHECK, request->exchange,
					&execution_request, &problem) < 0 ||
	    front_permit(request->front, &request->caller, execution_request, &problem) < 0) {
		execution_request_free(execution_request);
		request_answer_problem(request, &problem);
		return;
	}
	execution_request->call.op = ENGINE_POLICY_CHECK;
	request_call_engine(request, &execution_request->call, checked);
	execution_request_free(execution_request);
}

/* Needs no token, and so gives no details. */
void handle_health(struct request *request)
{
	bool fine = !request->front->draining;
	const char *text = !fine                        ? "{\"status\":\"draining\"}"
			   : request->front->queue_held ? "{\"status\":\"ok\",\"queue\":\"held\"}"
							: "{\"status\":\"ok\"}";

	request_answer_json(request, fine ? 200 : 503, text, strlen(text));
}

void handle_openapi(struct request *request)
{
	const struct embedded_file *file = embedded_find("schema/openapi.json");

	if (file) {
		request_answer_json(request, 200, file->data, file->size);
	} else {
		request_refuse(request, PROBLEM_NOT_FOUND, "the OpenAPI document was not built in");
	}
}
