/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a policy file and of the operator's ceiling: one table each. */
#include <errno.h>
#include <stdio.h>
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

/* The provider refuses runtimes that it does not know; here only the form counts. */
static int read_runtime(struct policy_reader *reader, const char *path, json_t *value,
			const char *names, char **ret)
{
	const char *text;
	int r = read_string(reader, path, value, &text);

	if (r < 0) {
		return r;
	}
	if (!id_name_valid(text) && text[0] != '/') {
		json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err,
			       "\"%.64s\" is no name of a runtime, and no absolute path", text);
		error_remedy(reader->err, "use %s", names);
		return -EINVAL;
	}
	char *copy = strdup(text);
	if (!copy) {
		return error_errno(reader->err, BRIG_E_SYSTEM, ENOMEM, "%s", path);
	}
	free(*ret);
	*ret = copy;
	return 0;
}

static int read_oci_runtime(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_runtime(reader, path, value, "\"crun\", \"runc\", or the path of one of them",
			    &reader->policy->oci_runtime);
}

static int read_oci(struct policy_reader *reader, const char *path, json_t *value)
{
	static const struct reader_key keys[] = { { "runtime", read_oci_runtime } };

	return read_object(reader, path, value, keys, ARRAY_SIZE(keys));
}

static int read_gvisor_runtime(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_runtime(reader, path, value, "\"runsc\", or its path",
			    &reader->policy->gvisor_runtime);
}

static int read_gvisor_platform(struct policy_reader *reader, const char *path, json_t *value)
{
	static const char *const names[] = { "auto", "systrap", "ptrace", "kvm" };
	unsigned choice = 0;
	int r = read_choice(reader, path, value, CHOICE(names), &choice);

	if (r == 0) {
		reader->policy->gvisor_platform = choice ? names[choice] : NULL;
	}
	return r;
}

static int read_gvisor(struct policy_reader *reader, const char *path, json_t *value)
{
	static const struct reader_key keys[] = { { "runtime", read_gvisor_runtime },
						  { "platform", read_gvisor_platform } };

	return read_object(reader, path, value, keys, ARRAY_SIZE(keys));
}

/* The loader reads its file, which only the operator can write. */
static int read_launcher_name(struct policy_reader *reader, const char *path, json_t *value)
{
	const char *text;
	int r = read_string(reader, path, value, &text);

	if (r < 0) {
		return r;
	}
	if (!id_name_valid(text)) {
		json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err,
			       "\"%.64s\" is no name of a launcher", text);
		error_remedy(reader->err, "use \"bubblewrap\", or NAME of a launchers/NAME.json");
		return -EINVAL;
	}
	snprintf(reader->policy->launcher_name, sizeof(reader->policy->launcher_name), "%s", text);
	return 0;
}

static int read_launcher(struct policy_reader *reader, const char *path, json_t *value)
{
	static const struct reader_key keys[] = { { "name", read_launcher_name } };

	return read_object(reader, path, value, keys, ARRAY_SIZE(keys));
}

static int read_wasm_engine(struct policy_reader *reader, const char *path, json_t *value)
{
	const char *text;
	int r = read_string(reader, path, value, &text);

	if (r < 0) {
		return r;
	}
	if (text[0] != '/') {
		json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err,
			       "\"%.64s\" is not an absolute path", text);
		error_remedy(reader->err, "name the library of wasmtime by its full path");
		return -EINVAL;
	}
	char *copy = strdup(text);
	if (!copy) {
		return error_errno(reader->err, BRIG_E_SYSTEM, ENOMEM, "%s", path);
	}
	free(reader->policy->wasm_engine);
	reader->policy->wasm_engine = copy;
	return 0;
}

static int read_wasm(struct policy_reader *reader, const char *path, json_t *value)
{
	static const struct reader_key keys[] = { { "engine", read_wasm_engine } };

	return read_object(reader, path, value, keys, ARRAY_SIZE(keys));
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

const struct reader_key policy_keys[] = {
	{ "description", read_description },
	{ "extends", read_extends },
	{ "provider", read_provider },
	{ "oci", read_oci },
	{ "launcher", read_launcher },
	{ "gvisor", read_gvisor },
	{ "vm", read_vm },
	{ "docker", read_docker },
	{ "podman", read_podman },
	{ "wasm", read_wasm },
	{ "auto_run", read_auto_run },
	{ "may_miss", read_may_miss },
	{ "limits", read_own_limits },
	{ "ceiling", read_ceiling },
	{ "compile", read_compile },
	{ "on_output_limit", read_on_output_limit },
	{ "files", read_files },
	{ "mounts", read_mounts },
	{ "caller_mounts", read_caller_mounts },
	{ "venvs", read_venvs },
	{ "venv", read_venv },
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
const size_t policy_keys_count = ARRAY_SIZE(policy_keys);

int read_policy(struct policy_reader *reader)
{
	return read_object(reader, "", reader->doc->root, policy_keys, policy_keys_count);
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

/* Frees everything that the keys of a ceiling can set. */
static void operators_done(struct policy *operators)
{
	strlist_done(&operators->monitor.calls);
	strlist_done(&operators->monitor.files);
	policy_network_done(&operators->network);
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
		{ "provider", read_provider },
	};
	struct policy *policy = reader->policy;
	_cleanup_(operators_done)
	struct policy operators = { .auto_run = AUTO_RUN_YES, .caller_mounts = CALLER_MOUNTS_RW };

	reader->policy = &operators;
	int r = read_object(reader, "", reader->doc->root, keys, ARRAY_SIZE(keys));
	reader->policy = policy;
	r = r < 0 ? r : monitor_tighten(policy, &operators.monitor);
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
	return policy_restrict_providers(reader, &operators);
}
