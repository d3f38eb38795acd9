/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the sections of a policy about the guard, and about consent. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/policy_reader.h"

#define OPERATIONS_MAX UINT64_C(1000000000000)
#define RECURSION_MIN  UINT64_C(50) /* with less, no program that prints can run */
#define RECURSION_MAX  UINT64_C(1000000)
#define MODULE_MAX     128
#define SCORE_MAX      UINT64_C(100)

const char *const guard_mode_names[GUARD_MODES] = {
	[GUARD_OFF] = "off",
	[GUARD_IMPORTS] = "imports",
	[GUARD_STRICT] = "strict",
};
const char *const auto_run_names[AUTO_RUNS] = {
	[AUTO_RUN_YES] = "yes",
	[AUTO_RUN_ASK] = "ask",
	[AUTO_RUN_NEVER] = "never",
};

#define CHOICE(names) (&(const struct reader_choice){ names, ARRAY_SIZE(names) })

int read_guard_mode(struct policy_reader *reader, const char *path, json_t *value)
{
	unsigned choice = 0;
	int r = read_choice(reader, path, value, CHOICE(guard_mode_names), &choice);

	if (r == 0) {
		reader->policy->guard.mode = (enum guard_mode)choice;
	}
	return r;
}

/* "json", "os.path": parts of letters, digits and underscores. */
static int check_module(struct policy_reader *reader, const char *path, const char *item)
{
	bool sound = strlen(item) <= MODULE_MAX && item[0];
	char before = '.';

	for (const char *at = item; sound && *at; before = *at++) {
		bool digit = *at >= '0' && *at <= '9';
		bool letter =
			(*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || *at == '_';
		sound = before == '.' ? letter : letter || digit || *at == '.';
	}
	if (sound && before != '.') {
		return 0;
	}
	json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err,
		       "\"%.64s\" is not a valid module name", item);
	error_remedy(reader->err, "name each module in full, such as \"json\" or \"os.path\"");
	return -EINVAL;
}

static int read_modules(struct policy_reader *reader, const char *path, json_t *value)
{
	int r = read_strings(reader, path, value, check_module, &reader->policy->guard.modules);

	reader->policy->guard.own_modules |= r == 0;
	return r;
}

static int read_operations(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_quantity(reader, path, value, UNIT_COUNT, 0, OPERATIONS_MAX,
			     &reader->policy->guard.operations);
}

static int read_recursion(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_quantity(reader, path, value, UNIT_COUNT, RECURSION_MIN, RECURSION_MAX,
			     &reader->policy->guard.recursion);
}

int read_guard(struct policy_reader *reader, const char *path, json_t *value)
{
	static const struct reader_key keys[] = {
		{ "mode", read_guard_mode },
		{ "allowed_modules", read_modules },
		{ "operations", read_operations },
		{ "recursion", read_recursion },
	};

	return json_is_object(value) ? read_object(reader, path, value, keys, ARRAY_SIZE(keys))
				     : read_guard_mode(reader, path, value);
}

static int read_score(struct policy_reader *reader, const char *path, json_t *value, unsigned *ret)
{
	uint64_t score = 0;
	int r = read_quantity(reader, path, value, UNIT_COUNT, 1, SCORE_MAX, &score);

	if (r == 0) {
		*ret = (unsigned)score;
	}
	return r;
}

static int read_ask_from(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_score(reader, path, value, &reader->policy->risk.ask);
}

static int read_refuse_from(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_score(reader, path, value, &reader->policy->risk.refuse);
}

int read_auto_run(struct policy_reader *reader, const char *path, json_t *value)
{
	static const struct reader_key keys[] = {
		{ "ask_from", read_ask_from },
		{ "refuse_from", read_refuse_from },
	};
	unsigned choice = AUTO_RUN_YES;
	int r;

	reader->policy->risk = (struct policy_risk){ 0 };
	r = json_is_object(value)
		    ? read_object(reader, path, value, keys, ARRAY_SIZE(keys))
		    : read_choice(reader, path, value, CHOICE(auto_run_names), &choice);
	if (r == 0) {
		reader->policy->auto_run = (enum auto_run)choice;
	}
	return r;
}

int policy_guard_mode(const struct policy *policy, const char *wanted, enum guard_mode *ret,
		      struct brig_error *err)
{
	enum guard_mode own = policy->guard.mode;

	for (unsigned i = 0; i < GUARD_MODES && wanted; i++) {
		if (strcmp(wanted, guard_mode_names[i]) != 0) {
			continue;
		}
		if (i < own) {
			int r = error_set(err, BRIG_E_POLICY, EACCES,
					  "guard %s is looser than that of policy %s: %s", wanted,
					  policy->name, guard_mode_names[own]);
			error_remedy(err,
				     "leave out the guard, or let the operator change guard in the "
				     "policy");
			return r;
		}
		*ret = (enum guard_mode)i;
		return 0;
	}
	if (wanted) {
		int r = error_set(err, BRIG_E_INPUT, EINVAL, "'%.32s' is not a guard mode", wanted);
		error_remedy(err, "write off, imports or strict");
		return r;
	}
	*ret = own;
	return 0;
}
