/* SPDX-License-Identifier: Apache-2.0 */
/* What the service can do, and that it is there. */
#include <errno.h>
#include <string.h>

#include "base/embedded.h"
#include "base/error.h"
#include "front/request/request.h"

void handle_runtimes(struct visit *visit)
{
	struct engine_call call = { .op = ENGINE_RUNTIMES };

	visit_engine(visit, &call, NULL);
}

void handle_policies(struct visit *visit)
{
	struct engine_call call = { .op = ENGINE_POLICIES };

	visit_engine(visit, &call, NULL);
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

/* A no is told as the run itself would be refused: in words that may leave the house. */
static void checked(void *user, const char *data, size_t size)
{
	struct visit *visit = user;
	json_t *answer = json_loadb(data, size, 0, NULL);
	json_t *why = json_object_get(answer, "error");
	const char *message = json_string_value(json_object_get(why, "message"));
	const char *remedy = json_string_value(json_object_get(why, "remedy"));
	struct brig_error error = { 0 };
	struct problem problem = { 0 };
	struct buf text = { 0 };

	visit->run = NULL;
	if (!json_is_false(json_object_get(answer, "allowed"))) {
		visit_json(visit, 200, data, size);
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
	visit_json(visit, 200, text.data ? text.data : "{}", text.data ? text.size : 2);
	buf_done(&text);
	json_decref(answer);
}

void handle_policy_check(struct visit *visit)
{
	struct problem problem = { 0 };
	struct ask *ask = NULL;

	if (ask_of_body(ASK_CHECK, visit->exchange, &ask, &problem) < 0 ||
	    front_permit(visit->front, &visit->caller, ask, &problem) < 0) {
		ask_free(ask);
		visit_problem(visit, &problem);
		return;
	}
	ask->call.op = ENGINE_POLICY_CHECK;
	visit_engine(visit, &ask->call, checked);
	ask_free(ask);
}

/* For everybody, and so without detail. */
void handle_health(struct visit *visit)
{
	bool fine = !visit->front->draining;
	const char *text = !fine                      ? "{\"status\":\"draining\"}"
			   : visit->front->queue_held ? "{\"status\":\"ok\",\"queue\":\"held\"}"
						      : "{\"status\":\"ok\"}";

	visit_json(visit, fine ? 200 : 503, text, strlen(text));
}

void handle_openapi(struct visit *visit)
{
	const struct embedded_file *file = embedded_find("schema/openapi.json");

	if (file) {
		visit_json(visit, 200, file->data, file->size);
	} else {
		visit_refuse(visit, PROBLEM_NOT_FOUND, "the description was not built in");
	}
}
