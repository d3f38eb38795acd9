/* SPDX-License-Identifier: Apache-2.0 */
/* The commands. Each gets its own name as argv[0] and returns brig's exit status. */
#ifndef BRIG_CLI_CLI_H
#define BRIG_CLI_CLI_H

int command_run(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_runtimes(int argc, char **argv);
int command_policy(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_mcp(int argc, char **argv);
int command_ps(int argc, char **argv);
int command_logs(int argc, char **argv);
int command_kill(int argc, char **argv);
int command_queue(int argc, char **argv);
int command_top(int argc, char **argv);
int command_token(int argc, char **argv);
int command_audit(int argc, char **argv);
int command_serve(int argc, char **argv);
#endif
