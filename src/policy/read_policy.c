/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a policy file and of the operator's ceiling: one table each. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "policy/policy_reader.h"
#include "policy/syscalls.h"

#define DESCRIPTION_MAX 500
#define FILES_MAX       UINT64_C(65536)
#define FILES_BYTES_MAX (UINT64_C(1) << 40)

static const char *const output_names[] = { "end", "cut" };
const char *const caller_mounts_names[CALLER_MOUNTS] = {
	[CALLER_MOUNTS_NONE] = "none",
	[CALLER_MOUNTS_RO] = "ro",
	[CALLER_MOUNTS_RW] = "rw",
};

#define CHOICE(names) (&(const struct reader_choice){ names, ARRAY_SIZE(names) })

static int read_description(struct policy_reader *reader, const char *path, json_t *value)
{
	const char *text;
	int r = read_string(reader, path, value, &text);

	if (r < 0) {
		return r;
	}
	if (strlen(text) > DESCRIPTION_MAX) {
		return json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err,
				      "longer than %d bytes", DESCRIPTION_MAX);
	}

	char *copy = strdup(text);

	if (!copy) {
		return error_errno(reader->err, BRIG_E_SYSTEM, ENOMEM, "%s", path);
	}
	free(reader->policy->description);
	reader->policy->description = copy;
	return 0;
}

/* The loader has handled it; here it is only a known key. */
static int read_extends(struct policy_reader *reader, const char *path, json_t *value)
{
	const char *text;

	return read_string(reader, path, value, &text);
}

static int read_provider(struct policy_reader *reader, const char *path, json_t *value)
{
	const char *names[PROVIDERS_MAX];
	size_t count = 0;
	unsigned choice = 0;

	for (; providers[count]; count++) {
		names[count] = providers[count]->name;
	}
	int r = read_choice(reader, path, value, &(const struct reader_choice){ names, count },
			    &choice);
	if (r == 0) {
		reader->policy->provider = providers[choice];
	}
	return r;
}

static int read_on_output_limit(struct policy_reader *reader, const char *path, json_t *value)
{
	unsigned choice = 0;
	int r = read_choice(reader, path, value, CHOICE(output_names), &choice);

	if (r == 0) {
		reader->policy->on_output_limit = (enum output_action)choice;
	}
	return r;
}

static int read_caller_mounts(struct policy_reader *reader, const char *path, json_t *value)
{
	unsigned choice = 0;
	int r = read_choice(reader, path, value, CHOICE(caller_mounts_names), &choice);

	if (r == 0) {
		reader->policy->caller_mounts = (enum caller_mounts)choice;
	}
	return r;
}

static int check_layer(struct policy_reader *reader, const char *path, const char *item)
{
	const char *names[LAYER_COUNT];

	if (layer_by_name(item) >= 0) {
		return 0;
	}
	for (int i = 0; i < LAYER_COUNT; i++) {
		names[i] = layer_table[i].name;
	}
	return reader_unknown(reader, path, "layer", item, names, LAYER_COUNT);
}

static int read_may_miss(struct policy_reader *reader, const char *path, json_t *value)
{
	_cleanup_(strlist_done)
	struct strlist names = { 0 };
	int r = read_strings(reader, path, value, check_layer, &names);

	if (r < 0) {
		return r;
	}
	reader->policy->may_miss = 0;
	for (size_t i = 0; i < names.count; i++) {
		reader->policy->may_miss |= LAYER_BIT(layer_by_name(names.items[i]));
	}
	return 0;
}

static int read_own_limits(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_limits(reader, path, value, &reader->policy->limits);
}

static int read_ceiling(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_limits(reader, path, value, &reader->policy->ceiling);
}

static int read_compile_limits(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_limits(reader, path, value, &reader->policy->compile_limits);
}

static int read_compile(struct policy_reader *reader, const char *path, json_t *value)
{
	static const struct reader_key keys[] = { { "limits", read_compile_limits } };

	return read_object(reader, path, value, keys, ARRAY_SIZE(keys));
}

static int read_in_bytes(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_quantity(reader, path, value, UNIT_BYTES, 0, FILES_BYTES_MAX,
			     &reader->policy->files_in_bytes);
}

static int read_in_count(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_quantity(reader, path, value, UNIT_COUNT, 0, FILES_MAX,
			     &reader->policy->files_in_count);
}

static int read_out_bytes(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_quantity(reader, path, value, UNIT_BYTES, 0, FILES_BYTES_MAX,
			     &reader->policy->files_out_bytes);
}

static int read_out_count(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_quantity(reader, path, value, UNIT_COUNT, 0, FILES_MAX,
			     &reader->policy->files_out_count);
}

static int read_files(struct policy_reader *reader, const char *path, json_t *value)
{
	static const struct reader_key keys[] = {
		{ "in_bytes", read_in_bytes },
		{ "in_count", read_in_count },
		{ "out_bytes", read_out_bytes },
		{ "out_count", read_out_count },
	};

	return read_object(reader, path, value, keys, ARRAY_SIZE(keys));
}

static int check_name(struct policy_reader *reader, const char *path, const char *item)
{
	if (id_name_valid(item)) {
		return 0;
	}
	json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err,
		       "\"%.64s\" is not a valid runtime name", item);
	error_remedy(reader->err, "list each runtime, such as \"python\"; an empty list means all");
	return -EINVAL;
}

static int read_runtimes(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_strings(reader, path, value, check_name, &reader->policy->runtimes);
}

static int read_exec_writable(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_bool(reader, path, value, &reader->policy->exec_writable);
}

static int read_terminal(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_bool(reader, path, value, &reader->policy->terminal);
}

static int check_syscall(struct policy_reader *reader, const char *path, const char *item)
{
	struct brig_error why = { 0 };

	if (syscall_entry_check(item, &why) == 0) {
		return 0;
	}
	json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err, "%s", why.message);
	error_remedy(reader->err, "%s", why.remedy);
	return -EINVAL;
}

static int read_syscalls(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_strings(reader, path, value, check_syscall, &reader->policy->syscalls);
}

int read_policy(struct policy_reader *reader)
{
	static const struct reader_key keys[] = {
		{ "description", read_description },
		{ "extends", read_extends },
		{ "provider", read_provider },
		{ "auto_run", read_auto_run },
		{ "may_miss", read_may_miss },
		{ "limits", read_own_limits },
		{ "ceiling", read_ceiling },
		{ "compile", read_compile },
		{ "on_output_limit", read_on_output_limit },
		{ "files", read_files },
		{ "mounts", read_mounts },
		{ "caller_mounts", read_caller_mounts },
		{ "env", read_env },
		{ "runtimes", read_runtimes },
		{ "network", read_network },
		{ "guard", read_guard },
		{ "denials_max", read_denials_max },
		{ "monitor", read_monitor },
		{ "exec_writable", read_exec_writable },
		{ "terminal", read_terminal },
		{ "syscalls", read_syscalls },
	};

	return read_object(reader, "", reader->doc->root, keys, ARRAY_SIZE(keys));
}

static void clip_limits(struct brig_limits *limits, const struct brig_limits *ceiling)
{
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		struct brig_limits most = *ceiling;
		uint64_t value = *limit_of(&most, &limit_table[i]);
		uint64_t *limit = limit_of(limits, &limit_table[i]);

		if (value != 0 && *limit > value) {
			*limit = value;
		}
	}
}

/* Of two thresholds, either of which may be missing. */
static unsigned lower(unsigned a, unsigned b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

int read_operator_ceiling(struct policy_reader *reader)
{
	static const struct reader_key keys[] = {
		{ "ceiling", read_ceiling },
		{ "auto_run", read_auto_run },
		{ "caller_mounts", read_caller_mounts },
		{ "network", read_network },
		{ "guard", read_guard_mode },
		{ "monitor", read_monitor },
	};
	struct policy *policy = reader->policy;
	struct policy operators = { .auto_run = AUTO_RUN_YES, .caller_mounts = CALLER_MOUNTS_RW };
	int r;

	reader->policy = &operators;
	r = read_object(reader, "", reader->doc->root, keys, ARRAY_SIZE(keys));
	reader->policy = policy;
	if (r == 0) {
		r = monitor_tighten(policy, &operators.monitor);
	}
	strlist_done(&operators.monitor.calls);
	strlist_done(&operators.monitor.files);
	if (r == -ENOMEM) {
		return error_set(reader->err, BRIG_E_SYSTEM, ENOMEM, "no memory for the ceiling");
	}
	if (r < 0) {
		return r;
	}
	/*
	 * In the ceiling any value of it refuses the network, except "reasons": rules belong in
	 * policies.
	 */
	const json_t *network = json_object_get(reader->doc->root, "network");
	policy->network.reasons_required |= operators.network.reasons_required;
	if (network && !(json_object_size(network) == 1 && json_object_get(network, "reasons"))) {
		policy_network_done(&policy->network);
	}
	policy_network_done(&operators.network);
	clip_limits(&policy->limits, &operators.ceiling);
	clip_limits(&policy->ceiling, &operators.ceiling);
	clip_limits(&policy->compile_limits, &operators.ceiling);
	/*
	 * The two enums have opposite orders: later values are stricter in one, looser in the
	 * other.
	 */
	if (operators.auto_run > policy->auto_run) {
		policy->auto_run = operators.auto_run;
	}
	policy->risk.ask = lower(operators.risk.ask, policy->risk.ask);
	policy->risk.refuse = lower(operators.risk.refuse, policy->risk.refuse);
	if (operators.guard.mode > policy->guard.mode) {
		policy->guard.mode = operators.guard.mode;
	}
	if (operators.caller_mounts < policy->caller_mounts) {
		policy->caller_mounts = operators.caller_mounts;
	}
	return 0;
}
