/* SPDX-License-Identifier: Apache-2.0 */
/* brig's own output: see cli_report.h. */
#include "cli/cli_report.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "base/units.h"
#include "cli/exit_status.h"
#include "cli/terminal_escape.h"

#define EVENTS_SHOWN 8
#define NAMES_SHOWN  3

/* 0 or -errno; waits if the stream, which other processes share, is non-blocking. */
static int write_all(int fd, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, data, size);
		if (n >= 0) {
			data += n;
			size -= (size_t)n;
		} else if (errno == EAGAIN) {
			struct pollfd ready = { .fd = fd, .events = POLLOUT };
			poll(&ready, 1, -1);
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

static int write_harmless(int fd, const struct buf *text)
{
	struct terminal_escape terminal = { 0 };
	_cleanup_(buf_done)
	struct buf shown = { 0 };

	if (text->failed) {
		return -ENOMEM;
	}
	if (isatty(fd) != 1) {
		return write_all(fd, text->data, text->size);
	}
	terminal_escape_add(&terminal, text->data, text->size, &shown);
	terminal_escape_end(&terminal, &shown);
	return shown.failed ? -ENOMEM : write_all(fd, shown.data, shown.size);
}

/* A reader that has closed the pipe (head, less) is not worth an error. */
static int stdout_status(int r)
{
	if (r == -EPIPE) {
		return STATUS_SIGNAL + SIGPIPE;
	}
	if (r < 0) {
		report_line("cannot write to stdout: %s", strerror(-r));
		return STATUS_ERROR;
	}
	return STATUS_OK;
}

int report_text(const struct buf *text)
{
	return stdout_status(write_harmless(STDOUT_FILENO, text));
}

int report_json(const char *json)
{
	_cleanup_(buf_done)
	struct buf text = { 0 };

	if (!json) {
		return stdout_status(-ENOMEM);
	}
	/* Some of it comes from a service: brig's own JSON has nothing to escape. */
	json_add_harmless(&text, json, strlen(json));
	buf_addc(&text, '\n');
	return stdout_status(text.failed ? -ENOMEM
					 : write_all(STDOUT_FILENO, text.data, text.size));
}

void report_line(const char *format, ...)
{
	_cleanup_(buf_done)
	struct buf line = { 0 };
	char text[1200];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	buf_addf(&line, "brig: %s\n", text);
	write_harmless(STDERR_FILENO, &line);
}

static void error_text(const struct brig_error *error)
{
	_cleanup_(buf_done)
	struct buf text = { 0 };

	buf_addf(&text, "brig: %s\n", error->message);
	if (error->remedy[0]) {
		buf_addf(&text, "  %s\n", error->remedy);
	}
	write_harmless(STDERR_FILENO, &text);
}

static void error_show(const struct brig_error *error, bool json)
{
	if (json) {
		_cleanup_free_ char *text = brig_error_json(error);
		report_json(text);
	} else {
		error_text(error);
	}
}

int report_error(const struct brig_error *error, bool json)
{
	error_show(error, json);
	return exit_status_of_error(error);
}

int report_usage(const struct brig_error *error, bool json)
{
	error_show(error, json);
	return STATUS_USAGE;
}

int report_help(const struct syntax *syntax)
{
	_cleanup_(buf_done)
	struct buf text = { 0 };

	options_help(syntax, &text);
	return report_text(&text);
}

static void report_risk(const struct brig_result *result)
{
	const char *text = result->risk_reasons;

	report_line("risk: %u of 100", result->risk);
	while (*text) {
		int length = (int)strcspn(text, "\n");

		report_line("  %.*s", length, text);
		text += length;
		text += *text == '\n';
	}
}

/* A name that the program tried to resolve in a run without a network. */
static bool is_vain_name(const struct brig_result *result, const struct brig_event *event)
{
	return event->kind == BRIG_EVENT_CONNECTION_REFUSED && !result->networked;
}

/* In one line, also for a program that continued without them; unless the remedy has it already. */
static void report_names(const struct brig_result *result)
{
	_cleanup_(buf_done)
	struct buf names = { 0 };
	unsigned count = 0;

	for (size_t i = 0; i < result->events_count; i++) {
		if (is_vain_name(result, &result->events[i]) && count++ < NAMES_SHOWN) {
			buf_addf(&names, "%s%s", count > 1 ? ", " : "", result->events[i].subject);
		}
	}
	if (count && !strstr(result->remedy, "no network")) {
		report_line("network: the run has no network, but the program tried to reach %s%s. "
			    "Allow "
			    "hosts with --net, or in network.allow of the policy.",
			    names.data ? names.data : "names", count > NAMES_SHOWN ? ", ..." : "");
	}
}

/* Events that the operator has requested; and all refusals, if the run failed. */
static void report_events(const struct brig_result *result)
{
	bool well = result->status == BRIG_OK;
	size_t told = 0;

	for (size_t i = 0; i < result->events_count; i++) {
		const struct brig_event *event = &result->events[i];
		bool watched = event->kind == BRIG_EVENT_CALL_WATCHED ||
			       event->kind == BRIG_EVENT_FILE_WATCHED;

		bool refused = (event->kind == BRIG_EVENT_CALL_DENIED &&
				strcmp(event->subject, result->denial.meaning) != 0) ||
			       event->kind == BRIG_EVENT_CONNECTION_REFUSED;

		/* The verdict reports the others. */
		if (!watched && (well || !refused || is_vain_name(result, event))) {
			continue;
		}
		if (told++ == EVENTS_SHOWN) {
			report_line("event: further events are in the result (--json)");
			return;
		}
		report_line("event: %s, %llu: %s: %s", brig_event_name(event->kind),
			    (unsigned long long)event->count, event->subject, event->reason);
	}
}

void report_verdict(const struct brig_result *result)
{
	const char *status = brig_status_name(result->status);

	if (strcmp(result->cause, "checked") == 0) {
		report_line("checked: the guard allows it; nothing was run");
	}
	if (result->risk_known) {
		report_risk(result);
	}
	report_events(result);
	report_names(result);
	if (result->status == BRIG_OK || result->status == BRIG_CANCELLED) {
		return;
	}
	/* The refused thing comes first: the remedy refers to it. */
	if (result->refused && result->refusal.line && !result->refusal.column) {
		report_line("refused: line %u: %s", result->refusal.line, result->refusal.reason);
	} else if (result->refused && result->refusal.line) {
		report_line("refused: line %u, column %u: %s", result->refusal.line,
			    result->refusal.column, result->refusal.reason);
	} else if (result->refused) {
		report_line("refused: %s", result->refusal.reason);
	}
	if (result->status == BRIG_FAILED && result->signal > 0) {
		const char *name = sigabbrev_np(result->signal);
		report_line("%s: ended by signal %d (SIG%s). %s", status, result->signal,
			    name ? name : "?", result->remedy);
	} else if (result->status != BRIG_FAILED || result->refused || result->operator_remedy[0]) {
		/* A program that exits with a number has reported the reason itself. */
		report_line("%s: %s%s%s", status, result->remedy,
			    result->operator_remedy[0] ? " " : "", result->operator_remedy);
	}
	if (result->denied) {
		report_line("refused: %s: %s", result->denial.meaning, result->denial.reason);
	}
}

void report_usage_figures(const struct brig_result *result)
{
	const struct brig_usage *usage = &result->usage;
	char wall[32], cpu[32], memory[32], disk[32];

	report_line("time: wall %s, cpu %s, memory %s, processes %llu, disk %s",
		    unit_format(UNIT_TIME, usage->wall_ns / 1000 * 1000, wall, sizeof(wall)),
		    unit_format(UNIT_TIME, usage->cpu_ns / 1000 * 1000, cpu, sizeof(cpu)),
		    unit_format(UNIT_BYTES, usage->memory_peak_bytes, memory, sizeof(memory)),
		    (unsigned long long)usage->processes_peak,
		    unit_format(UNIT_BYTES, usage->disk_bytes, disk, sizeof(disk)));
}
