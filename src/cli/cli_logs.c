/* SPDX-License-Identifier: Apache-2.0 */
/* `brig logs`: what an execution of a service has written, or is writing. */
#include <errno.h>
#include <sodium/utils.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "base/write_all.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/report.h"
#include "cli/terminal.h"

#define SILENCE_MS 300 /* without -f: so long nothing new, and what there is has been shown */
#define LINE_MOST  ((size_t)128 << 20)

struct line {
	bool follow;
	const char *socket;
};

struct reader {
	struct buf event; /* lines of an event as far as they are here */
	struct terminal terminals[2];
	char status[24]; /* of the result, when it has come */
	char failure[512];
};

/* On a terminal a stranger's bytes are made harmless; in a pipe they are what they are. */
static int show(struct reader *reader, int fd, const void *data, size_t size)
{
	_cleanup_(buf_done)
	struct buf shown = { 0 };

	if (isatty(fd) != 1) {
		return write_all(fd, data, size);
	}
	terminal_add(&reader->terminals[fd == STDERR_FILENO], data, size, &shown);
	return shown.failed ? -ENOMEM : write_all(fd, shown.data, shown.size);
}

static int show_output(struct reader *reader, json_t *data)
{
	int fd = strcmp(client_text(data, "stream"), "stderr") == 0 ? STDERR_FILENO : STDOUT_FILENO;
	json_t *text = json_object_get(data, "data");
	json_t *base64 = json_object_get(data, "data_base64");
	size_t size = json_string_length(base64);

	if (text) {
		return show(reader, fd, json_string_value(text), json_string_length(text));
	}
	unsigned char *bytes = base64 ? malloc(size + 1) : NULL;
	int r = -EPROTO;
	if (bytes && sodium_base642bin(bytes, size + 1, json_string_value(base64), size, NULL,
				       &size, NULL, sodium_base64_VARIANT_ORIGINAL) == 0) {
		r = show(reader, fd, bytes, size);
	}
	free(bytes);
	return r;
}

/* What was watched; and what was refused, if it did not go well. As brig run has it. */
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

static int take_event(struct reader *reader, const char *name, const char *text)
{
	/* Programs write NUL as they write all else. */
	json_t *data = json_loads(text, JSON_ALLOW_NUL, NULL);
	int r = 0;

	if (!data) {
		return 0;
	}
	if (strcmp(name, "output") == 0) {
		r = show_output(reader, data);
	} else if (strcmp(name, "result") == 0) {
		snprintf(reader->status, sizeof(reader->status), "%s", client_text(data, "status"));
		show_events(data);
		r = 1;
	} else if (strcmp(name, "error") == 0) {
		snprintf(reader->failure, sizeof(reader->failure), "%s",
			 client_text(data, "detail"));
		r = 1;
	}
	json_decref(data);
	return r;
}

/* One event: lines "event: NAME" and "data: JSON", up to an empty line. */
static int parse_event(struct reader *reader, char *text)
{
	char *name = NULL, *data = NULL, *state = NULL;

	for (char *l = strtok_r(text, "\n", &state); l; l = strtok_r(NULL, "\n", &state)) {
		name = strncmp(l, "event: ", 7) == 0 ? l + 7 : name;
		data = strncmp(l, "data: ", 6) == 0 ? l + 6 : data;
	}
	return name && data ? take_event(reader, name, data) : 0;
}

static int take(void *user, const char *data, size_t size)
{
	struct reader *reader = user;
	struct buf *event = &reader->event;
	char *end;
	int r = 0;

	buf_add(event, data, size);
	if (event->failed || event->size > LINE_MOST) {
		return -ENOMEM;
	}
	while (r == 0 && event->data && (end = strstr(event->data, "\n\n"))) {
		size_t used = (size_t)(end - event->data) + 2;

		*end = '\0';
		r = parse_event(reader, event->data);
		memmove(event->data, event->data + used, event->size - used + 1);
		event->size -= used;
	}
	return r;
}

/* Without an id: the newest. */
static int newest(const char *socket, char id[27], struct brig_error *error)
{
	json_t *page = NULL;
	int r = client_get(socket, "GET", "/v1/executions?limit=1", &page, error);

	if (r == 0) {
		const char *found =
			client_text(json_array_get(json_object_get(page, "executions"), 0), "id");
		if (id_valid(found)) {
			memcpy(id, found, 27);
		} else {
			r = error_set(error, BRIG_E_INPUT, ENOENT, "there are no executions");
		}
		json_decref(page);
	}
	return r;
}

static int logs(void *into, const struct arguments *given)
{
	const struct line *line = into;
	const char *wanted = given->operands[0];
	struct brig_error error = { 0 };
	struct reader reader = { 0 };
	struct client_answer answer = { 0 };
	char id[27] = "", path[80];
	int r = 0;

	if (!wanted) {
		r = newest(line->socket, id, &error);
	} else if (!id_valid(wanted)) {
		r = error_set(&error, BRIG_E_INPUT, EINVAL, "%s is not an execution's id", wanted);
		error_remedy(&error, "brig ps --all lists them");
	} else {
		memcpy(id, wanted, 27);
	}
	if (r == 0) {
		snprintf(path, sizeof(path), "/v1/executions/%s/events", id);
		struct client_request request = { .socket = line->socket,
						  .method = "GET",
						  .path = path,
						  .silence_ms = line->follow ? 0 : SILENCE_MS,
						  .take = take,
						  .user = &reader };
		r = client_ask(&request, &answer, &error);
	}
	buf_done(&reader.event);
	bool silent = answer.silent;
	client_answer_done(&answer);
	if (r < 0) {
		return report_error(&error, false);
	}
	if (reader.failure[0]) {
		report_line("%s did not run: %s", id, reader.failure);
	} else if (silent) {
		report_line("%s is still under way; brig logs -f %s follows it", id, id);
	} else if (strcmp(reader.status, "ok") != 0) {
		report_line("%s ended: %s", id, reader.status);
	}
	return STATUS_OK;
}

int command_logs(int argc, char **argv)
{
	static const struct option_info options[] = {
		{ "-f", NULL, "wait for more, until it ends", option_take_flag,
		  offsetof(struct line, follow), NULL },
		{ "--follow", NULL, "the same", option_take_flag, offsetof(struct line, follow),
		  NULL },
		{ "--socket", "PATH", "the service's unix socket ($BRIG_SOCKET)", option_take_text,
		  offsetof(struct line, socket), NULL },
	};
	static const struct syntax syntax = {
		.command = "logs",
		.usage = "logs [OPTIONS] [ID]",
		.about = "Prints what an execution of a service has written: its stdout to stdout, "
			 "its\n"
			 "stderr to stderr. Without an ID it is your newest one.",
		.options = options,
		.options_count = ARRAY_SIZE(options),
		.operands_max = 1,
	};
	struct line line = { 0 };

	return command_work(&syntax, argc, argv, &line, logs);
}
