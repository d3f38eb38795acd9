/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of `brig run`, `brig explain` and `brig policy learn`, and the request made from
 * it.
 */
#ifndef BRIG_CLI_RUN_RUN_OPTIONS_H
#define BRIG_CLI_RUN_RUN_OPTIONS_H

#include <brig/brig.h>

#include "base/strlist.h"
#include "cli/options.h"

/* The options as given. Strings are borrowed from argv. */
struct run_args {
	const char *code, *language, *policy, *out_dir, *config, *audit;
	struct brig_limits limits;
	struct strlist in, out, ro, rw, env, net;
	bool changes, json, schema, yes, no_cache, time, force, out_exec, value, check, project,
		clamp, terminal;
	const char *tenant, *guard, *service, *provider, *venv;
	enum brig_start start;
	bool start_given;
	struct arguments given;
};
void run_args_done(struct run_args *args);

#define RUN_OPTIONS_MAX 56

enum run_command { RUN_COMMAND_RUN, RUN_COMMAND_EXPLAIN, RUN_COMMAND_LEARN };
/* The rows of a command: limits come from the table of limits. Returns how many. */
size_t run_options(enum run_command command, struct option_info ret[RUN_OPTIONS_MAX]);

/* "auto", "cold" or "warm"; `from` is its source, for the error. */
int run_start_parse(const char *from, const char *word, enum brig_start *ret,
		    struct brig_error *err);

/* A request, with the data that it points to. */
struct run_request {
	struct brig_request request;
	struct brig_file_in *files;                /* owned */
	struct brig_mount *mounts;                 /* owned */
	struct strlist names;                      /* owned texts of files and mounts */
	struct strlist beside_names, beside_paths; /* of --project */
	struct strlist env;
	struct buf code; /* from stdin */
};
/* -EINVAL: the command line is invalid. Reads the code from stdin if requested. */
int run_request_make(const struct run_args *args, struct run_request *ret, struct brig_error *err);
void run_request_done(struct run_request *request);

/* Does stdin belong to the program? Not when the code was read from it. */
bool run_args_feeds(const struct run_args *args);
#endif
