/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brig: runs untrusted code in a sealed cell.
 *
 * Theory of operation. There is no daemon: `brig run` links libbrig, and is itself the warden of
 * the one cell that it starts (src/native/cell/cell.h describes how a cell is built, and which
 * process ends with which). The process has one thread and one loop (run_pump.c): it moves bytes
 * between its own streams and the cell's pipes, reads signals from a signalfd, and lets the library
 * watch the limits. Every other command makes one request to the library, prints the result and
 * ends. Before main(), src/thin asks the user's warm service (cli/warm) to do a `brig run`.
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
#include "cli/cli.h"
#include "cli/cli_report.h"
#include "cli/exit_status.h"
#include "serve/supervisor/supervisor.h"
#include "thin/thin.h"

/* The same words as options, as people try them. */
static const struct {
	const char *name;
	int (*main)(int argc, char **argv);
} spelled_as_options[] = {
	{ "--help", command_help },
	{ "-h", command_help },
	{ "--version", command_version },
};

static int command_main(int argc, char **argv)
{
	const struct command *command = command_find(argv[0]);

	if (command) {
		return command->main(argc, argv);
	}
	for (size_t i = 0; i < ARRAY_SIZE(spelled_as_options); i++) {
		if (strcmp(spelled_as_options[i].name, argv[0]) == 0) {
			return spelled_as_options[i].main(argc, argv);
		}
	}
	return command_unknown(argc, argv);
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

/* The program may have begun: doing it again would not be what was asked for. */
static int report_lost(int argc, char **argv)
{
	struct brig_error error = { 0 };

	error_set(&error, BRIG_E_SYSTEM, EPIPE, "the warm service ended in the middle of the run");
	error_remedy(&error, "the program may have run in part: check before you run it again; "
			     "brig warm status shows the service, BRIG_WARM=off runs without it");
	return report_error(&error, options_mention(argc - 1, argv + 1, "--json"));
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
	if (thin_outcome == THIN_LOST) {
		return report_lost(argc, argv);
	}
	int role = serve_role_main(argc, argv);
	if (role >= 0) {
		return role;
	}
	return command_main(argc - 1, argv + 1);
}
