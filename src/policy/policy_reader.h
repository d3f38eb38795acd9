/* SPDX-License-Identifier: Apache-2.0 */
/* Reading typed values out of a policy's JSON, with errors that point at the place. */
#ifndef BRIG_POLICY_POLICY_READER_H
#define BRIG_POLICY_POLICY_READER_H

#include <jansson.h>

#include "base/json/json_in.h"
#include "policy/policy.h"

#define POLICY_PATH_MAX 160

struct policy_reader {
	const struct json_doc *doc;
	struct policy *policy; /* what is filled in */
	struct brig_error *err;
};

/* What a policy that says nothing is: closed wherever there is a choice. NULL: no memory. */
struct policy *policy_new(void);

/* One key of an object and what reads it. `path` is where the value stands: "limits.memory". */
struct reader_key {
	const char *name;
	int (*read)(struct policy_reader *reader, const char *path, json_t *value);
};

/* Names of an enum's values, in its order. */
struct reader_choice {
	const char *const *names;
	unsigned count;
};

/* All return 0 or a negative errno with the error filled in. `path` of the whole file is "". */
int read_object(struct policy_reader *reader, const char *path, json_t *value,
		const struct reader_key *keys, size_t count);
/* An object whose keys the caller looks at. */
int read_is_object(struct policy_reader *reader, const char *path, json_t *value);
int read_string(struct policy_reader *reader, const char *path, json_t *value, const char **ret);
int read_bool(struct policy_reader *reader, const char *path, json_t *value, bool *ret);
int read_choice(struct policy_reader *reader, const char *path, json_t *value,
		const struct reader_choice *choice, unsigned *ret);
/* A number, or text with a unit, between least and most. */
int read_quantity(struct policy_reader *reader, const char *path, json_t *value, enum unit unit,
		  uint64_t least, uint64_t most, uint64_t *ret);
/* Replaces `ret` by the array's strings, each of which `check` (may be NULL) has accepted. */
int read_strings(struct policy_reader *reader, const char *path, json_t *value,
		 int (*check)(struct policy_reader *reader, const char *path, const char *item),
		 struct strlist *ret);
/* An array of anything. */
int read_array(struct policy_reader *reader, const char *path, json_t *value, size_t most);

/* "unknown key", with what comes nearest; `names` is the list for the remedy. */
int reader_unknown(struct policy_reader *reader, const char *path, const char *what,
		   const char *word, const char *const *names, size_t count);
int reader_path(char path[POLICY_PATH_MAX], const char *parent, const char *key);

/* What the keys of a policy are made of, one file each. */
int read_limits(struct policy_reader *reader, const char *path, json_t *value,
		struct brig_limits *ret);
int read_mounts(struct policy_reader *reader, const char *path, json_t *value);
int read_network(struct policy_reader *reader, const char *path, json_t *value);
/* Why a rule is there, and whether each must say so: network_reason.c. */
int read_reason(struct policy_reader *reader, const char *path, json_t *value, char **ret);
int read_reasons(struct policy_reader *reader, const char *path, json_t *value);
int policy_network_check_reasons(const struct policy_network *network, const char *name,
				 struct brig_error *err);
int read_guard(struct policy_reader *reader, const char *path, json_t *value);
/* The word alone, as the operator's ceiling has it. */
int read_guard_mode(struct policy_reader *reader, const char *path, json_t *value);
/* "yes", "ask", "never", or thresholds of the risk score. */
int read_auto_run(struct policy_reader *reader, const char *path, json_t *value);
int read_monitor(struct policy_reader *reader, const char *path, json_t *value);
int read_denials_max(struct policy_reader *reader, const char *path, json_t *value);
/* Both lists, and of each threshold the lower one. */
int monitor_tighten(struct policy *policy, const struct policy_monitor *more);
int read_env(struct policy_reader *reader, const char *path, json_t *value);
/* The whole file: every key but "extends", which the loader has seen to. */
int read_policy(struct policy_reader *reader);
/* The operator's ceiling.json: tightens the policy. */
int read_operator_ceiling(struct policy_reader *reader);

/* Sentences that cannot both be true. `config_dir` may be NULL. */
/* What guard.mode strict would ignore. */
int policy_check_modules(struct policy_reader *reader);
int policy_check(struct policy_reader *reader, const char *config_dir);
#endif
