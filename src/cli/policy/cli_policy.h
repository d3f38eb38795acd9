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

/* The rows of --json and --config. */
#define POLICY_OPTIONS                                                                             \
	OPTION_FLAG("--json", offsetof(struct policy_args, json), "print JSON"),                   \
		OPTION_DIRECTORY("--config", "DIR", offsetof(struct policy_args, config),          \
				 "the operator's policies (/etc/brig)")

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

extern const struct syntax policy_list_syntax, policy_show_syntax, policy_check_syntax,
	policy_learn_syntax;
#endif
