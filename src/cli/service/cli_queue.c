/* SPDX-License-Identifier: Apache-2.0 */
/* `brig queue`: shows a service's queue, and releases or drops a held one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/cli_report.h"
#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/service/client.h"

struct queue_args {
	bool json;
	const char *socket;
};

static const struct {
	const char *word, *method, *path;
} verbs[] = {
	{ "show", "GET", "/v1/queue" },
	{ "release", "POST", "/v1/queue/release" },
	{ "drop", "POST", "/v1/queue/drop" },
};

static long long number(json_t *queue, const char *key)
{
	return (long long)json_integer_value(json_object_get(queue, key));
}

static void print(json_t *queue, struct buf *out)
{
	buf_addf(out, "%s: %lld held, %lld waiting, %lld running\n", client_text(queue, "state"),
		 number(queue, "held"), number(queue, "waiting"), number(queue, "running"));
	if (json_object_get(queue, "dropped")) {
		buf_addf(out, "%lld dropped\n", number(queue, "dropped"));
	}
	if (strcmp(client_text(queue, "state"), "held") == 0) {
		buf_adds(out, "The service crashed several times in a row. See its log for the "
			      "reason, then run: "
			      "brig queue release, or brig queue drop\n");
	}
}

static int ask(void *into, const struct arguments *given)
{
	const struct queue_args *args = into;
	const char *word = given->operands[0] ? given->operands[0] : verbs[0].word;
	struct brig_error error = { 0 };
	json_t *queue = NULL;
	_cleanup_(buf_done)
	struct buf out = { 0 };
	size_t i = 0;
	int status;

	while (i < ARRAY_SIZE(verbs) && strcmp(verbs[i].word, word) != 0) {
		i++;
	}
	if (i == ARRAY_SIZE(verbs)) {
		error_set(&error, BRIG_E_INPUT, EINVAL, "queue: unknown action '%s'", word);
		error_remedy(&error, "brig queue [show|release|drop]");
		return report_usage(&error, args->json);
	}
	if (client_get(args->socket, verbs[i].method, verbs[i].path, &queue, &error) < 0) {
		return report_error(&error, args->json);
	}
	if (args->json) {
		_cleanup_free_ char *text = json_dumps(queue, JSON_COMPACT);
		status = report_json(text);
	} else {
		print(queue, &out);
		status = report_text(&out);
	}
	json_decref(queue);
	return status;
}

static const struct option_info options[] = {
	OPTION_FLAG("--json", offsetof(struct queue_args, json), "print JSON"),
	SERVICE_OPTIONS(struct queue_args, socket),
};

static const struct completion actions = COMPLETE_COLUMN(verbs, word);

const struct syntax queue_syntax = {
	.command = "queue",
	.usage = "queue [OPTIONS] [show|release|drop]",
	.about = "Shows the queue of a service. A queue is held after the service\n"
		 "crashed several times in a row: release runs its entries, drop cancels\n"
		 "them. For operators: root, the user of the service, and tokens made\n"
		 "with --operator.",
	.options = options,
	.options_count = ARRAY_SIZE(options),
	.operands_max = 1,
	.operands = &actions,
};

int command_queue(int argc, char **argv)
{
	struct queue_args args = { 0 };

	return command_work(&queue_syntax, argc, argv, &args, ask);
}
