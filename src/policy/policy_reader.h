/* SPDX-License-Identifier: Apache-2.0 */
/* Reads typed values from a policy's JSON, with errors that give the position. */
#ifndef BRIG_POLICY_POLICY_READER_H
#define BRIG_POLICY_POLICY_READER_H

#include <jansson.h>

#include "base/json/json_in.h"
#include "policy/policy.h"

#define POLICY_PATH_MAX 160

struct policy_reader {
	const struct json_doc *doc;
	struct policy *policy; /* filled in by the functions below */
	struct brig_error *err;
};

/* An empty policy: the strictest value of every setting. NULL: no memory. */
struct policy *policy_new(void);

/* One key of an object and its reader. `path` is the position of the value: "limits.memory". */
struct reader_key {
	const char *name;
	int (*read)(struct policy_reader *reader, const char *path, json_t *value);
};

/* The keys of a policy. */
extern const struct reader_key policy_keys[];
extern const size_t policy_keys_count;

/* Names of an enum's values, in its order. */
struct reader_choice {
	const char *const *names;
	unsigned count;
};

/* All return 0 or a negative errno with the error filled in. `path` of the whole file is "". */
int read_object(struct policy_reader *reader, const char *path, json_t *value,
		const struct reader_key *keys, size_t count);
/* Checks for an object; the caller reads its keys. */
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

/* "unknown key", with the nearest known one; `names` is the list for the remedy. */
int reader_unknown(struct policy_reader *reader, const char *path, const char *what,
		   const char *word, const char *const *names, size_t count);
int reader_path(char path[POLICY_PATH_MAX], const char *parent, const char *key);

/* The sections of a policy, one file each. */
int read_limits(struct policy_reader *reader, const char *path, json_t *value,
		struct brig_limits *ret);
int read_mounts(struct policy_reader *reader, const char *path, json_t *value);
/* NULL: it can be the path of one directory; else the reason why not. mounts.c */
const char *policy_path_fault(const char *path);
/* Virtualenvs by name, and the default: venvs.c. */
int read_venvs(struct policy_reader *reader, const char *path, json_t *value);
int read_venv(struct policy_reader *reader, const char *path, json_t *value);
int policy_check_venv(struct policy_reader *reader);
void policy_venvs_done(struct policy *policy);
int read_network(struct policy_reader *reader, const char *path, json_t *value);
/* The reason of a rule, and whether each rule needs one: network_reason.c. */
int read_reason(struct policy_reader *reader, const char *path, json_t *value, char **ret);
int read_reasons(struct policy_reader *reader, const char *path, json_t *value);
int policy_network_check_reasons(const struct policy_network *network, const char *name,
				 struct brig_error *err);
/* A name, or a list of them: candidates.c. */
int read_provider(struct policy_reader *reader, const char *path, json_t *value);
int read_guard(struct policy_reader *reader, const char *path, json_t *value);
/* The mode alone, as in the operator's ceiling. */
int read_guard_mode(struct policy_reader *reader, const char *path, json_t *value);
/* "yes", "ask", "never", or thresholds of the risk score. */
int read_auto_run(struct policy_reader *reader, const char *path, json_t *value);
int read_monitor(struct policy_reader *reader, const char *path, json_t *value);
int read_denials_max(struct policy_reader *reader, const char *path, json_t *value);
/* The settings of virtual machines: read_vm.c. */
int read_vm(struct policy_reader *reader, const char *path, json_t *value);
/* The settings of container daemons: read_daemon.c. */
int read_docker(struct policy_reader *reader, const char *path, json_t *value);
int read_podman(struct policy_reader *reader, const char *path, json_t *value);
/* Joins both lists, and takes the lower of each threshold. */
int monitor_tighten(struct policy *policy, const struct policy_monitor *more);
int read_env(struct policy_reader *reader, const char *path, json_t *value);
/* The whole file: every key except "extends", which the loader has handled. */
int read_policy(struct policy_reader *reader);
/* The operator's ceiling.json: tightens the policy. */
int read_operator_ceiling(struct policy_reader *reader);

/* Checks for modules that guard.mode strict would ignore. */
int policy_check_modules(struct policy_reader *reader);
/* Checks for settings that contradict each other. `config_dir` may be NULL. */
int policy_check(struct policy_reader *reader, const char *config_dir);
#endif
