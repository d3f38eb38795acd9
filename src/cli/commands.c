/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all commands: for main(), the help text, completions and the manual. */
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"

const struct command commands[] = {
	{ "run", "run code or a program in a cell", command_run, &run_syntax },
	{ "explain", "show the plan of a run without running it", command_explain,
	  &explain_syntax },
	{ "doctor", "check what this host can enforce, and how to repair the rest", command_doctor,
	  &doctor_syntax },
	{ "providers", "list the technologies that can hold a run", command_providers,
	  &providers_syntax },
	{ "runtimes", "list the available languages", command_runtimes, &runtimes_syntax },
	{ "venv", "make, list or remove virtualenvs for Python", command_venv, &venv_syntax },
	{ "wasm", "prepare interpreters for the provider wasm", command_wasm, &wasm_syntax },
	{ "image", "make the images of the providers docker and podman", command_image,
	  &image_syntax },
	{ "bench", "measure cold and warm runs on this host", command_bench, &bench_syntax },
	{ "warm", "keep cells ready for your own runs", command_warm, &warm_syntax },
	{ "mcp", "serve the Model Context Protocol on stdin and stdout", command_mcp, &mcp_syntax },
	{ "policy", "list, show, check or learn policies", command_policy, &policy_syntax },
	{ "serve", "serve the HTTP API on a socket", command_serve, &serve_syntax },
	{ "ps", "list your executions of a service", command_ps, &ps_syntax },
	{ "logs", "print the output of an execution of a service", command_logs, &logs_syntax },
	{ "kill", "end an execution of a service", command_kill, &kill_syntax },
	{ "queue", "show the queue of a service, and release or drop a held one", command_queue,
	  &queue_syntax },
	{ "top", "monitor a service", command_top, &top_syntax },
	{ "token", "create, list or revoke tokens for the service", command_token, &token_syntax },
	{ "audit", "verify or read the audit chain of the service", command_audit, &audit_syntax },
	{ "help", "explain brig or a command", command_help, NULL },
	{ "version", "print the version", command_version, NULL },
};
const size_t commands_count = ARRAY_SIZE(commands);

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < commands_count; i++) {
		if (strcmp(commands[i].name, name) == 0) {
			return &commands[i];
		}
	}
	return NULL;
}
