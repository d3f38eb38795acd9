/* SPDX-License-Identifier: Apache-2.0 */
/* `brig top`: a service at a glance; on a terminal refreshed until stopped, else once. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/cli_report.h"
#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/service/client.h"
#include "cli/service/ps_table.h"

#define ROWS_USUAL  24
#define ROWS_OURS   5 /* above the table */
#define INTERVAL_MS 1000

struct top_args {
	bool once, json;
	const char *socket;
};

struct figures {
	double running, waiting, ended, seconds, sessions, connections, memory;
};

static double figure(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, name, length) == 0 && at[length] == ' ') {
			return strtod(at + length, NULL);
		}
	}
	return -1;
}

static int read_figures(const char *socket, struct figures *ret, struct brig_error *error)
{
	struct client_request request = { .socket = socket, .method = "GET", .path = "/metrics" };
	struct client_answer answer;
	int r = client_ask(&request, &answer, error);

	if (r < 0) {
		return r;
	}
	const char *text = answer.body.data ? answer.body.data : "";
	*ret = (struct figures){
		.running = figure(text, "brig_executions_running"),
		.waiting = figure(text, "brig_executions_waiting"),
		.ended = figure(text, "brig_execution_seconds_count"),
		.seconds = figure(text, "brig_execution_seconds_sum"),
		.sessions = figure(text, "brig_engine_sessions_open"),
		.connections = figure(text, "brig_http_connections"),
		.memory = figure(text, "brig_engine_memory_available_bytes"),
	};
	client_answer_done(&answer);
	return 0;
}

static void write_figures(const struct figures *now, const struct figures *before, double seconds,
			  struct buf *out)
{
	buf_addf(out, "running %.0f   waiting %.0f   ended %.0f", now->running, now->waiting,
		 now->ended);
	if (before && seconds > 0) {
		buf_addf(out, "   %.1f/s", (now->ended - before->ended) / seconds);
	}
	if (now->ended > 0) {
		buf_addf(out, "   mean %.1f ms", now->seconds / now->ended * 1000);
	}
	buf_adds(out, "\n");
	if (now->sessions >= 0) {
		buf_addf(out, "sessions %.0f   ", now->sessions);
	}
	if (now->memory >= 0) {
		buf_addf(out, "memory left %.0f MiB   ", now->memory / 1048576);
	}
	if (now->connections >= 0) {
		buf_addf(out, "connections %.0f", now->connections);
	}
	buf_adds(out, "\n\n");
}

/* Figures that the caller may not see are left out. */
static char *to_json(const struct figures *now, json_t *page)
{
	const struct {
		const char *name;
		double value;
	} counts[] = {
		{ "running", now->running },
		{ "waiting", now->waiting },
		{ "ended", now->ended },
		{ "sessions", now->sessions },
		{ "connections", now->connections },
		{ "memory_available_bytes", now->memory },
	};
	json_t *all = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		if (counts[i].value >= 0) {
			json_object_set_new(all, counts[i].name,
					    json_integer((json_int_t)counts[i].value));
		}
	}
	if (now->seconds >= 0) {
		json_object_set_new(all, "seconds", json_real(now->seconds));
	}
	json_object_set(all, "executions", json_object_get(page, "executions"));
	char *text = json_dumps(all, JSON_COMPACT);
	json_decref(all);
	return text;
}

static size_t rows(void)
{
	struct winsize size = { 0 };

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > ROWS_OURS + 2
		       ? size.ws_row - ROWS_OURS
		       : ROWS_USUAL - ROWS_OURS;
}

static int draw(const struct top_args *args, struct figures *figures, bool first, bool live,
		struct brig_error *error)
{
	struct figures before = *figures;
	json_auto_t *page = NULL;
	_cleanup_(buf_done)
	struct buf out = { 0 };
	int r = read_figures(args->socket, figures, error);

	if (r < 0) {
		return r;
	}
	r = ps_page(args->socket, NULL, true, 200, &page, error);
	if (r < 0) {
		return r;
	}
	ps_filter(page, !live && !args->json);
	if (args->json) {
		_cleanup_free_ char *text = to_json(figures, page);
		return report_json(text) == STATUS_OK ? 0 : -EIO;
	}
	write_figures(figures, first ? NULL : &before, INTERVAL_MS / 1000.0, &out);
	if (isatty(STDOUT_FILENO) == 1) {
		ps_short(page, rows(), &out);
	} else {
		ps_table(page, 0, &out);
	}
	if (live) {
		/* Cursor home, and clear below; our own sequence, so not through report. */
		(void)!write(STDOUT_FILENO, "\033[H\033[J", 6);
	}
	return report_text(&out) == STATUS_OK ? 0 : -EIO;
}

/* False: the user has stopped it. */
static bool wait_a_while(int signals)
{
	struct pollfd ready[] = { { .fd = signals, .events = POLLIN },
				  { .fd = STDIN_FILENO, .events = POLLIN } };
	char key[16];

	if (poll(ready, 2, INTERVAL_MS) <= 0) {
		return true;
	}
	if (ready[0].revents) {
		return false;
	}
	ssize_t n = read(STDIN_FILENO, key, sizeof(key));
	return n > 0 && key[0] != 'q';
}

static int top(void *into, const struct arguments *given)
{
	const struct top_args *args = into;
	struct brig_error error = { 0 };
	struct figures figures = { 0 };
	bool live = !args->once && !args->json && isatty(STDOUT_FILENO) == 1 &&
		    isatty(STDIN_FILENO) == 1;
	sigset_t set;

	(void)given;
	int r = draw(args, &figures, true, live, &error);
	if (!live || r < 0) {
		return r == -EIO ? STATUS_ERROR
		       : r < 0   ? report_error(&error, args->json)
				 : STATUS_OK;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	_cleanup_close_ int signals = signalfd(-1, &set, SFD_CLOEXEC);
	while (r == 0 && wait_a_while(signals)) {
		r = draw(args, &figures, false, true, &error);
	}
	return r < 0 && error.message[0] ? report_error(&error, false) : STATUS_OK;
}

static const struct option_info options[] = {
	OPTION_FLAG("--once", offsetof(struct top_args, once), "print once, also on a terminal"),
	OPTION_FLAG("--json", offsetof(struct top_args, json), "print once, as JSON"),
	SERVICE_OPTIONS(struct top_args, socket),
};

const struct syntax top_syntax = {
	.command = "top",
	.usage = "top [OPTIONS]",
	.about = "Shows the load and speed of a service, and your executions; to an\n"
		 "operator those of all tenants. On a terminal it refreshes until q and\n"
		 "Enter; else it prints once.",
	.options = options,
	.options_count = ARRAY_SIZE(options),
};

int command_top(int argc, char **argv)
{
	struct top_args args = { 0 };

	return command_work(&top_syntax, argc, argv, &args, top);
}
