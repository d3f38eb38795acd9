/* SPDX-License-Identifier: Apache-2.0 */
/* `brig ps`: lists your executions of a service. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/cli_report.h"
#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/service/client.h"
#include "cli/service/ps_table.h"

struct ps_args {
	bool json, all;
	const char *socket, *tenant;
};

#define PAGE_MAX 1000

static int list(void *into, const struct arguments *given)
{
	const struct ps_args *args = into;
	struct brig_error error = { 0 };
	json_t *page = NULL;
	_cleanup_(buf_done)
	struct buf out = { 0 };

	(void)given;
	if (ps_page(args->socket, args->tenant, args->all, PAGE_MAX, &page, &error) < 0) {
		return report_error(&error, args->json);
	}
	ps_filter(page, args->all);
	int status;
	if (args->json) {
		_cleanup_free_ char *text = json_dumps(page, JSON_COMPACT);
		status = report_json(text);
	} else {
		(ps_narrow() ? ps_short : ps_table)(page, 0, &out);
		status = report_text(&out);
		if (json_is_string(json_object_get(page, "next"))) {
			report_line("more executions exist: only the newest %d are shown",
				    PAGE_MAX);
		}
	}
	json_decref(page);
	return status;
}

static const struct option_info options[] = {
	OPTION_FLAG("--all", offsetof(struct ps_args, all),
		    "include ended ones; for operators, of all tenants"),
	OPTION_TEXT("--tenant", "NAME", NULL, offsetof(struct ps_args, tenant),
		    "only of this tenant, for operators; * for all"),
	OPTION_FLAG("--json", offsetof(struct ps_args, json), "print JSON"),
	SERVICE_OPTIONS(struct ps_args, socket),
};

const struct syntax ps_syntax = {
	.command = "ps",
	.usage = "ps [OPTIONS]",
	.about = "Lists your running and queued executions of a service.",
	.options = options,
	.options_count = ARRAY_SIZE(options),
};

int command_ps(int argc, char **argv)
{
	struct ps_args args = { 0 };

	return command_work(&ps_syntax, argc, argv, &args, list);
}
