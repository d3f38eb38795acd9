/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brig: runs untrusted code in a sealed cell.
 *
 * Theory of operation. There is no daemon: `brig run` links libbrig, and is itself the warden of
 * the one cell that it starts (src/native/cell/cell.h describes how a cell is built, and which
 * process ends with which). The process has one thread and one loop (run_pump.c): it moves bytes
 * between its own streams and the cell's pipes, reads signals from a signalfd, and lets the library
 * watch the limits. Every other command makes one request to the library, prints the result and
 * ends.
 *
 * Privileges. brig is never set-user-id and keeps its caller's privileges. As root it uses them to
 * give each cell ids of its own and to make control groups; as an ordinary user it needs user
 * namespaces and nothing else. Code is never parsed here: it is copied into the cell as bytes.
 * Output of a cell is hostile: it is counted and cut by the library, escaped in JSON
 * (base/json/json_out.h), and escaped before it reaches a terminal (terminal_escape.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/suggest.h"
#include "cli/cli.h"
#include "cli/exit_status.h"
#include "cli/report.h"
#include "serve/supervisor.h"

struct command {
	const char *name;
	const char *about;
	int (*main)(int argc, char **argv);
};

static int command_help(int argc, char **argv);
static int command_version(int argc, char **argv);

static const struct command commands[] = {
	{ "run", "run code or a program in a cell", command_run },
	{ "explain", "show the plan of a run without running it", command_explain },
	{ "doctor", "check what this host can enforce, and how to repair the rest",
	  command_doctor },
	{ "runtimes", "list the available languages", command_runtimes },
	{ "bench", "measure cold and warm runs on this host", command_bench },
	{ "mcp", "serve the Model Context Protocol on stdin and stdout", command_mcp },
	{ "policy", "list, show, check or learn policies", command_policy },
	{ "serve", "serve the HTTP API on a socket", command_serve },
	{ "ps", "list your executions of a service", command_ps },
	{ "logs", "print the output of an execution of a service", command_logs },
	{ "kill", "end an execution of a service", command_kill },
	{ "queue", "show the queue of a service, and release or drop a held one", command_queue },
	{ "top", "monitor a service", command_top },
	{ "token", "create, list or revoke tokens for the service", command_token },
	{ "audit", "verify or read the audit chain of the service", command_audit },
	{ "help", "explain brig or a command", command_help },
	{ "version", "print the version", command_version },
};

/* The same words as options, as people try them. */
static const struct command spelled_as_options[] = {
	{ "--help", NULL, command_help },
	{ "-h", NULL, command_help },
	{ "--version", NULL, command_version },
};

static const struct command *find(const struct command *table, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(table[i].name, name) == 0) {
			return &table[i];
		}
	}
	return NULL;
}

static void overview(struct buf *text)
{
	buf_adds(text, "usage: brig COMMAND [ARGS...]\n\n"
		       "Runs untrusted code in a sealed cell, and reports how it ended.\n\n"
		       "Commands:\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		buf_addf(text, "  %-10s %s\n", commands[i].name, commands[i].about);
	}
	buf_adds(text,
		 "\nbrig COMMAND --help explains a command; brig --version prints the version.\n"
		 "A first run: brig run -c 'print(6 * 7)'\n");
}

static int unknown_command(int argc, char **argv)
{
	struct suggestion best = { 0 };
	struct brig_error error = { 0 };
	const char *name = argv[0];

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		suggest(&best, name, commands[i].name);
	}
	error_set(&error, BRIG_E_INPUT, EINVAL, "unknown command '%s'", name);
	if (best.word) {
		error_remedy(&error, "did you mean %s? brig --help lists all", best.word);
	} else {
		error_remedy(&error,
			     "to run a file: brig run FILE; brig --help lists the commands");
	}
	return report_usage(&error, options_mention(argc, argv, "--json"));
}

static int command_help(int argc, char **argv)
{
	_cleanup_(buf_done)
	struct buf text = { 0 };
	char word[] = "--help";

	if (argc > 1 && argv[1][0] != '-') {
		const struct command *command = find(commands, ARRAY_SIZE(commands), argv[1]);
		if (!command) {
			return unknown_command(argc - 1, argv + 1);
		}
		if (command->main != command_help && command->main != command_version) {
			return command->main(2, (char *[]){ argv[1], word, NULL });
		}
	}
	overview(&text);
	return report_text(&text);
}

static int command_version(int argc, char **argv)
{
	_cleanup_(buf_done)
	struct buf text = { 0 };

	(void)argc;
	(void)argv;
	buf_adds(&text, "brig " BRIG_VERSION "\n");
	return report_text(&text);
}

/* The next file that is opened would take the number of a closed stream. */
static int fill_streams(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0) {
		return -1;
	}
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	if (fill_streams() < 0) {
		(void)!write(STDERR_FILENO, "brig: cannot open /dev/null\n", 28);
		return STATUS_ERROR;
	}
	if (argc < 2) {
		struct brig_error error = { 0 };
		error_set(&error, BRIG_E_INPUT, EINVAL, "missing command");
		error_remedy(&error,
			     "brig --help lists the commands; a first run: brig run -c 'print(1)'");
		return report_usage(&error, false);
	}
	int role = serve_role_main(argc, argv);
	if (role >= 0) {
		return role;
	}
	const struct command *command = find(commands, ARRAY_SIZE(commands), argv[1]);
	if (!command) {
		command = find(spelled_as_options, ARRAY_SIZE(spelled_as_options), argv[1]);
	}
	return command ? command->main(argc - 1, argv + 1) : unknown_command(argc - 1, argv + 1);
}
