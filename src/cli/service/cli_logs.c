/* SPDX-License-Identifier: Apache-2.0 */
/* `brig logs`: prints the output of an execution of a service, ended or running. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/write_all.h"
#include "base/id.h"
#include "base/json/json_out.h"
#include "cli/cli.h"
#include "cli/cli_report.h"
#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/service/client.h"
#include "cli/service/event_reader.h"
#include "cli/terminal_escape.h"

#define SILENCE_MS 300 /* without -f: after this long without output, all of it was shown */

struct logs_args {
	bool follow, json;
	const char *socket;
};

struct log_reader {
	bool json;
	struct terminal_escape terminals[2];
	char status[24]; /* of the result, after it has arrived */
	char failure[512];
};

/* On a terminal untrusted bytes are escaped; in a pipe they are passed unchanged. */
static int show(struct log_reader *reader, int fd, const void *data, size_t size)
{
	_cleanup_(buf_done)
	struct buf shown = { 0 };

	if (isatty(fd) != 1) {
		return write_all(fd, data, size);
	}
	terminal_escape_add(&reader->terminals[fd == STDERR_FILENO], data, size, &shown);
	return shown.failed ? -ENOMEM : write_all(fd, shown.data, shown.size);
}

static int show_output(struct log_reader *reader, json_t *data)
{
	_cleanup_(buf_done)
	struct buf bytes = { 0 };
	int fd;
	int r = event_output(data, &bytes, &fd);

	return r < 0 ? r : show(reader, fd, bytes.data, bytes.size);
}

/* Watched events; and refusals, if the run failed. As in brig run. */
static void show_events(json_t *result)
{
	json_t *events = json_object_get(result, "events");
	bool well = strcmp(client_text(result, "status"), "ok") == 0;

	for (size_t i = 0; i < json_array_size(events); i++) {
		json_t *event = json_array_get(events, i);
		const char *kind = client_text(event, "kind");

		if (!well || strstr(kind, ".watched")) {
			report_line("event: %s, %lld: %s: %s", kind,
				    (long long)json_integer_value(json_object_get(event, "count")),
				    client_text(event, "subject"), client_text(event, "reason"));
		}
	}
}

/* One line per event: the service's own JSON, without bytes that a terminal would obey. */
static int print_event(const char *name, const char *text)
{
	_cleanup_(buf_done)
	struct buf out = { 0 };

	struct json_out json = { .buf = &out };

	json_open(&json, NULL, '{');
	json_text(&json, "event", name);
	buf_adds(&out, ",\"data\":");
	json_add_harmless(&out, text, strlen(text));
	buf_adds(&out, "}\n");
	int r = out.failed ? -ENOMEM : write_all(STDOUT_FILENO, out.data, out.size);
	return r < 0 ? r : strcmp(name, "result") == 0 || strcmp(name, "error") == 0;
}

static int take_event(void *user, const char *name, json_t *data, const char *text)
{
	struct log_reader *reader = user;

	if (reader->json) {
		return print_event(name, text);
	}
	if (strcmp(name, "output") == 0) {
		return show_output(reader, data);
	}
	if (strcmp(name, "result") == 0) {
		snprintf(reader->status, sizeof(reader->status), "%s", client_text(data, "status"));
		show_events(data);
		return 1;
	}
	if (strcmp(name, "error") == 0) {
		snprintf(reader->failure, sizeof(reader->failure), "%s",
			 client_text(data, "detail"));
		return 1;
	}
	return 0;
}

/* Without an id: the newest. */
static int newest(const char *socket, char id[27], struct brig_error *error)
{
	json_auto_t *page = NULL;
	int r = client_get(socket, "GET", "/v1/executions?limit=1", &page, error);

	if (r < 0) {
		return r;
	}
	const char *found =
		client_text(json_array_get(json_object_get(page, "executions"), 0), "id");
	if (!id_valid(found)) {
		return error_set(error, BRIG_E_INPUT, ENOENT, "no executions found");
	}
	memcpy(id, found, 27);
	return 0;
}

/* `silent`: no event has come for a while. */
static int read_events(const struct logs_args *args, const char *id, struct log_reader *reader,
		       bool *silent, struct brig_error *error)
{
	_cleanup_(event_reader_done)
	struct event_reader events = { .take = take_event, .user = reader };
	_cleanup_(client_answer_done)
	struct client_answer answer = { 0 };
	char path[80];
	struct client_request request = { .socket = args->socket,
					  .method = "GET",
					  .path = path,
					  .silence_ms = args->follow ? 0 : SILENCE_MS,
					  .take = event_reader_take,
					  .user = &events };

	snprintf(path, sizeof(path), "/v1/executions/%s/events", id);
	int r = client_ask(&request, &answer, error);
	*silent = answer.silent;
	return r;
}

static int logs(void *into, const struct arguments *given)
{
	const struct logs_args *args = into;
	const char *wanted = given->operands[0];
	struct brig_error error = { 0 };
	struct log_reader reader = { .json = args->json };
	char id[27] = "";
	bool silent = false;
	int r = 0;

	if (wanted && !id_valid(wanted)) {
		error_set(&error, BRIG_E_INPUT, EINVAL, "'%s' is not an execution id", wanted);
		error_remedy(&error, "brig ps --all lists them");
		return report_usage(&error, args->json);
	}
	if (!wanted) {
		r = newest(args->socket, id, &error);
	} else {
		memcpy(id, wanted, 27);
	}
	r = r < 0 ? r : read_events(args, id, &reader, &silent, &error);
	if (r < 0) {
		return report_error(&error, args->json);
	}
	if (args->json) {
		return STATUS_OK;
	}
	if (reader.failure[0]) {
		report_line("%s did not run: %s", id, reader.failure);
	} else if (silent) {
		report_line("%s is still running; brig logs -f %s follows it", id, id);
	} else if (strcmp(reader.status, "ok") != 0) {
		report_line("%s ended: %s", id, reader.status);
	}
	return STATUS_OK;
}

static const struct option_info options[] = {
	OPTION_FLAG("-f", offsetof(struct logs_args, follow), "wait for more, until it ends"),
	OPTION_FLAG("--follow", offsetof(struct logs_args, follow), "the same"),
	OPTION_FLAG("--json", offsetof(struct logs_args, json),
		    "print each event as a line of JSON"),
	SERVICE_OPTIONS(struct logs_args, socket),
};

const struct syntax logs_syntax = {
	.command = "logs",
	.usage = "logs [OPTIONS] [ID]",
	.about = "Prints the output of an execution of a service: its stdout to stdout,\n"
		 "its stderr to stderr. Without an ID: of your newest one.",
	.options = options,
	.options_count = ARRAY_SIZE(options),
	.operands_max = 1,
};

int command_logs(int argc, char **argv)
{
	struct logs_args args = { 0 };

	return command_work(&logs_syntax, argc, argv, &args, logs);
}
