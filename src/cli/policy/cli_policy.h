/* SPDX-License-Identifier: Apache-2.0 */
/* The actions of `brig policy`, one file each, and their shared parts. */
#ifndef BRIG_CLI_POLICY_CLI_POLICY_H
#define BRIG_CLI_POLICY_CLI_POLICY_H

#include <string.h>

#include "base/config_path.h"
#include "cli/options.h"
#include "policy/policy.h"

#define POLICY_BYTES_MAX (1u << 20) /* of a file */

/* The options of every action: each action's struct begins with it. */
struct policy_args {
	bool json;
	const char *config;
};

/* The rows of --json and --config, after their names. */
#define POLICY_JSON NULL, "print JSON", option_take_flag, offsetof(struct policy_args, json), NULL
#define POLICY_CONFIG                                                                              \
	"DIR", "the operator's policies (/etc/brig)", option_take_directory,                       \
		offsetof(struct policy_args, config), NULL

static inline void policy_freep(struct policy **policy)
{
	policy_free(*policy);
}

/* The directory of the policies. The caller owns it; NULL: no memory. */
static inline char *policy_args_place(const struct policy_args *args)
{
	return args->config ? strdup(args->config) : config_path();
}

/* Each gets its own name as argv[0] and returns brig's exit status. */
int policy_command_list(int argc, char **argv);
int policy_command_show(int argc, char **argv);
int policy_command_check(int argc, char **argv);
int policy_command_learn(int argc, char **argv);

/*
 * The rows of actions with further options; returns how many. The action's word may come after
 * options, so the search for it must know which of them have values.
 */
#define POLICY_OPTIONS_MAX 64
size_t policy_check_options(struct option_info ret[POLICY_OPTIONS_MAX]);
size_t policy_learn_options(struct option_info ret[POLICY_OPTIONS_MAX]);
#endif
