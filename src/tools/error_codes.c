/* SPDX-License-Identifier: Apache-2.0 */
/* Error codes of runs, with the names of the older tool that programs may know. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "tools/tools_internal.h"

json_t *tools_error_code(const char *status)
{
	static const struct {
		const char *status, *code;
	} codes[] = {
		{ "timeout", "EXECUTION_TIMEOUT" },
		{ "cpu_limit", "EXECUTION_TIMEOUT" },
		{ "error", "SANDBOX_SETUP_FAILED" },
		{ "lost", "SANDBOX_SETUP_FAILED" },
	};

	if (!status || strcmp(status, "ok") == 0) {
		return json_null();
	}
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		if (strcmp(codes[i].status, status) == 0) {
			return json_string(codes[i].code);
		}
	}
	return json_string("RUNTIME_ERROR");
}

/* A run that did not start: in the shape of a result, so that it matches the tool's schema. */
void tools_fail_execution(struct mcp_call *mcp, const struct brig_error *error)
{
	char text[sizeof(error->message) + sizeof(error->remedy) + 4];
	int size = snprintf(text, sizeof(text), "%s.%s%s", error->message,
			    error->remedy[0] ? " " : "", error->remedy);
	json_t *content = mcp_text(text, (size_t)size);
	json_t *answer = mcp_result(1, &content);

	if (answer) {
		json_object_set_new(
			answer, "structuredContent",
			json_pack("{s:n,s:s,s:n,s:s,s:s,s:n,s:[],s:i,s:o,s:s}", "execution_id",
				  "status", "error", "exit_code", "stdout", "", "stderr", "",
				  "value", "files", "duration_ms", 0, "explanation",
				  mcp_string(text, (size_t)size), "error_code",
				  error->code == BRIG_E_RUNTIME ? "UNSUPPORTED_LANGUAGE"
								: "SANDBOX_SETUP_FAILED"));
		json_object_set_new(answer, "isError", json_true());
	}
	mcp_call_finish(mcp, answer);
}
