/* SPDX-License-Identifier: Apache-2.0 */
/* `brig kill`: ends an execution of a service. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "cli/cli.h"
#include "cli/cli_report.h"
#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/service/client.h"

struct kill_args {
	bool json;
	const char *socket;
};

static int end(void *into, const struct arguments *given)
{
	const struct kill_args *args = into;
	const char *id = given->operands[0];
	struct brig_error error = { 0 };
	json_t *execution = NULL;
	_cleanup_(buf_done)
	struct buf out = { 0 };
	char path[64];
	int status;

	if (!id || !id_valid(id)) {
		error_set(&error, BRIG_E_INPUT, EINVAL,
			  id ? "'%s' is not an execution id" : "missing execution id%s",
			  id ? id : "");
		error_remedy(&error, "brig ps lists them");
		return report_usage(&error, args->json);
	}
	snprintf(path, sizeof(path), "/v1/executions/%s", id);
	if (client_get(args->socket, "DELETE", path, &execution, &error) < 0) {
		return report_error(&error, args->json);
	}
	if (args->json) {
		_cleanup_free_ char *text = json_dumps(execution, JSON_COMPACT);
		status = report_json(text);
	} else {
		buf_addf(&out, "%s %s\n", id, client_text(execution, "status"));
		status = report_text(&out);
	}
	json_decref(execution);
	return status;
}

static const struct option_info options[] = {
	OPTION_FLAG("--json", offsetof(struct kill_args, json), "print the execution as JSON"),
	SERVICE_OPTIONS(struct kill_args, socket),
};

const struct syntax kill_syntax = {
	.command = "kill",
	.usage = "kill [OPTIONS] ID",
	.about = "Ends an execution of a service, waits until all its processes are\n"
		 "gone, and prints its final status. An execution that has ended already\n"
		 "is not changed.",
	.options = options,
	.options_count = ARRAY_SIZE(options),
	.operands_max = 1,
};

int command_kill(int argc, char **argv)
{
	struct kill_args args = { 0 };

	return command_work(&kill_syntax, argc, argv, &args, end);
}
