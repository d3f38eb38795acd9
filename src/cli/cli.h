/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands. Each gets its own name as argv[0] and returns brig's exit status; its syntax is for
 * parsing, the help text, completions and the manual.
 */
#ifndef BRIG_CLI_CLI_H
#define BRIG_CLI_CLI_H

#include "cli/options.h"

struct command {
	const char *name;
	const char *about;
	int (*main)(int argc, char **argv);
	const struct syntax *syntax; /* NULL: it has no options */
};
extern const struct command commands[]; /* as brig --help lists them */
extern const size_t commands_count;
/* NULL: unknown. */
const struct command *command_find(const char *name);

int command_run(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_runtimes(int argc, char **argv);
int command_providers(int argc, char **argv);
int command_policy(int argc, char **argv);
int command_wasm(int argc, char **argv);
int command_image(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_warm(int argc, char **argv);
int command_mcp(int argc, char **argv);
int command_ps(int argc, char **argv);
int command_logs(int argc, char **argv);
int command_kill(int argc, char **argv);
int command_queue(int argc, char **argv);
int command_top(int argc, char **argv);
int command_token(int argc, char **argv);
int command_venv(int argc, char **argv);
int command_audit(int argc, char **argv);
int command_serve(int argc, char **argv);
int command_help(int argc, char **argv);
int command_version(int argc, char **argv);

extern const struct syntax run_syntax, explain_syntax, doctor_syntax, runtimes_syntax,
	providers_syntax, policy_syntax, bench_syntax, mcp_syntax, ps_syntax, logs_syntax,
	kill_syntax, queue_syntax, top_syntax, token_syntax, audit_syntax, serve_syntax,
	venv_syntax, wasm_syntax, image_syntax, warm_syntax;

/* A word that is no command, with the nearest one. */
int command_unknown(int argc, char **argv);
#endif
