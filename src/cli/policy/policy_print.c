/* SPDX-License-Identifier: Apache-2.0 */
/* Printing policies: see policy_print.h. */
#include "cli/policy/policy_print.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"

static const char *const caller_network_names[] = { "none", "public", "local" };

static const char *output_name(const struct policy *policy)
{
	return policy->on_output_limit == OUTPUT_CUT ? "cut" : "end";
}

static void line(struct buf *out, const char *key, const char *value)
{
	buf_addf(out, "%-17s %s\n", key, value);
}

static void list_line(struct buf *out, const char *key, const struct strlist *list,
		      const char *empty)
{
	buf_addf(out, "%-17s", key);
	for (size_t i = 0; i < list->count; i++) {
		buf_addf(out, " %s", list->items[i]);
	}
	buf_addf(out, "%s%s\n", list->count ? "" : " ", list->count ? "" : empty);
}

static void limits_table(const struct policy *policy, struct buf *out)
{
	struct brig_limits limits = policy->limits, ceiling = policy->ceiling;
	struct brig_limits compile = policy->compile_limits;

	buf_addf(out, "\n%-17s %12s %12s %12s  %s\n", "LIMIT", "DEFAULT", "CEILING", "COMPILER",
		 "OF");
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		const struct limit_info *info = &limit_table[i];
		char usual[40], most[40], building[40];

		unit_format(info->unit, *limit_of(&limits, info), usual, sizeof(usual));
		unit_format(info->unit, *limit_of(&ceiling, info), most, sizeof(most));
		unit_format(info->unit, *limit_of(&compile, info), building, sizeof(building));
		buf_addf(out, "%-17s %12s %12s %12s  %s\n", info->key, usual, most, building,
			 info->about);
	}
}

static void print_network(const struct policy *policy, struct buf *out)
{
	const struct policy_network *network = &policy->network;

	line(out, "network caller", caller_network_names[network->caller]);
	for (size_t i = 0; i < network->allow_count; i++) {
		char text[NET_RULE_TEXT];
		const char *reason = network->reasons[i];
		buf_addf(out, "%-17s %s%s%s\n", "network allow",
			 net_rule_format(&network->allow[i], text), reason ? "  # " : "",
			 reason ? reason : "");
	}
	for (size_t i = 0; i < network->credentials_count; i++) {
		const struct policy_credential *credential = &network->credentials[i];
		buf_addf(out, "%-17s %s: %s%s\n", "credential", credential->name,
			 credential->header, credential->opened ? ", in opened TLS" : "");
	}
}

static void risk_lines(const struct policy *policy, struct buf *out)
{
	if (policy->risk.ask) {
		buf_addf(out, "%-17s risk %u\n", "ask from", policy->risk.ask);
	}
	if (policy->risk.refuse) {
		buf_addf(out, "%-17s risk %u\n", "refuse from", policy->risk.refuse);
	}
}

static void guard_lines(const struct policy *policy, struct buf *out)
{
	const struct policy_guard *guard = &policy->guard;

	line(out, "guard", guard_mode_names[guard->mode]);
	if (guard->own_modules) {
		list_line(out, "modules", &guard->modules, "none");
	}
	if (guard->operations) {
		buf_addf(out, "%-17s %llu\n", "operations", (unsigned long long)guard->operations);
	}
	if (guard->recursion) {
		buf_addf(out, "%-17s %llu\n", "recursion", (unsigned long long)guard->recursion);
	}
}

static void monitor_lines(const struct policy *policy, struct buf *out)
{
	const struct policy_monitor *monitor = &policy->monitor;
	const struct event_limits *most = &monitor->end_after;
	const struct {
		uint64_t value;
		const char *of;
	} rows[] = {
		{ most->denied_calls, "denied calls (denials_max)" },
		{ most->refused_connections, "refused connections" },
		{ most->watched, "watched calls and files" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].value) {
			buf_addf(out, "%-17s %llu %s\n", "end after",
				 (unsigned long long)rows[i].value, rows[i].of);
		}
	}
	if (monitor->calls.count) {
		list_line(out, "watched calls", &monitor->calls, "");
	}
	if (monitor->files.count) {
		list_line(out, "watched files", &monitor->files, "");
	}
}

/* In their order, and which of them are never used. */
static void daemon_lines(const struct policy *policy, struct buf *out)
{
	const struct {
		const char *key, *value;
	} list[] = { { "docker.socket", policy->docker.socket },
		     { "docker.image", policy->docker.image },
		     { "docker.runtime", policy->docker.runtime },
		     { "podman.socket", policy->podman.socket },
		     { "podman.image", policy->podman.image } };

	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		if (list[i].value) {
			line(out, list[i].key, list[i].value);
		}
	}
}

static void provider_lines(const struct policy *policy, struct buf *out)
{
	char list[256];

	line(out, "provider", policy_candidates_list(policy, list, sizeof(list)));
	for (size_t i = 0; i < policy->candidates_count; i++) {
		const struct policy_candidate *one = &policy->candidates[i];
		if (one->lack) {
			buf_addf(out, "%-17s not %s: it %s\n", "", one->provider->name, one->lack);
		}
	}
}

void policy_print(const struct policy *policy, struct buf *out)
{
	char layers[512], bytes_in[40], bytes_out[40];

	layer_list(policy->may_miss, layers, sizeof(layers));
	line(out, "name", policy->name);
	line(out, "description", policy->description ? policy->description : "");
	line(out, "sha256", policy->hash);
	provider_lines(policy, out);
	if (policy->oci_runtime) {
		line(out, "oci.runtime", policy->oci_runtime);
	}
	if (policy->gvisor_runtime) {
		line(out, "gvisor.runtime", policy->gvisor_runtime);
	}
	if (policy->gvisor_platform) {
		line(out, "gvisor.platform", policy->gvisor_platform);
	}
	if (policy->provider == &vm_provider) {
		line(out, "vm.accel", vm_accel_names[policy->vm.accel]);
		line(out, "vm.monitor", policy->vm_monitor[0] ? policy->vm_monitor : MACHINE_QEMU);
	}
	daemon_lines(policy, out);
	if (policy->launcher.name[0]) {
		line(out, "launcher.name", policy->launcher.name);
	}
	if (policy->wasm_engine) {
		line(out, "wasm.engine", policy->wasm_engine);
	}
	line(out, "auto_run", auto_run_names[policy->auto_run]);
	risk_lines(policy, out);
	guard_lines(policy, out);
	line(out, "may_miss", layers[0] ? layers : "nothing");
	line(out, "on_output_limit", output_name(policy));
	line(out, "exec_writable", policy->exec_writable ? "true" : "false");
	line(out, "terminal", policy->terminal ? "true" : "false");
	monitor_lines(policy, out);
	buf_addf(out, "%-17s %llu files, %s\n", "files in",
		 (unsigned long long)policy->files_in_count,
		 unit_format(UNIT_BYTES, policy->files_in_bytes, bytes_in, sizeof(bytes_in)));
	buf_addf(out, "%-17s %llu files, %s\n", "files out",
		 (unsigned long long)policy->files_out_count,
		 unit_format(UNIT_BYTES, policy->files_out_bytes, bytes_out, sizeof(bytes_out)));
	line(out, "caller_mounts", caller_mounts_names[policy->caller_mounts]);
	for (size_t i = 0; i < policy->mounts_count; i++) {
		const struct policy_mount *mount = &policy->mounts[i];
		buf_addf(out, "%-17s %s = %s %s\n", "mount", mount->name, mount->path,
			 mount->writable ? "rw" : "ro");
	}
	for (size_t i = 0; i < policy->venvs_count; i++) {
		buf_addf(out, "%-17s %s = %s\n", "venvs", policy->venvs[i].name,
			 policy->venvs[i].path);
	}
	if (policy->venv) {
		line(out, "venv", policy->venv);
	}
	list_line(out, "env set", &policy->env_set, "nothing");
	list_line(out, "env allow", &policy->env_allow, "nothing");
	list_line(out, "runtimes", &policy->runtimes, "all");
	print_network(policy, out);
	list_line(out, "syscalls", &policy->syscalls, "no filter");
	limits_table(policy, out);
}

static void json_network(struct json_out *json, const struct policy *policy)
{
	const struct policy_network *network = &policy->network;

	json_open(json, "network", '{');
	json_open(json, "allow", '[');
	for (size_t i = 0; i < network->allow_count; i++) {
		char text[NET_RULE_TEXT];
		json_text(json, NULL, net_rule_format(&network->allow[i], text));
	}
	json_close(json, ']');
	json_open(json, "allow_reasons", '[');
	for (size_t i = 0; i < network->allow_count; i++) {
		if (network->reasons[i]) {
			json_text(json, NULL, network->reasons[i]);
		} else {
			json_nil(json, NULL);
		}
	}
	json_close(json, ']');
	json_text(json, "reasons", network->reasons_required ? "required" : "optional");
	json_text(json, "caller", caller_network_names[network->caller]);
	json_u64(json, "connections", network->connections);
	json_u64(json, "connections_total", network->connections_total);
	json_u64(json, "rate", network->rate);
	json_open(json, "credentials", '[');
	for (size_t i = 0; i < network->credentials_count; i++) {
		json_text(json, NULL, network->credentials[i].name);
	}
	json_close(json, ']');
	json_close(json, '}');
}

static void json_limits(struct json_out *json, const char *key, const struct brig_limits *limits)
{
	struct brig_limits copy = *limits;

	json_open(json, key, '{');
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		const struct limit_info *info = &limit_table[i];
		if (info->unit == UNIT_TIME) {
			json_ms(json, info->name, *limit_of(&copy, info));
		} else {
			json_u64(json, info->name, *limit_of(&copy, info));
		}
	}
	json_close(json, '}');
}

static void json_layers(struct json_out *json, const char *key, layer_set set)
{
	json_open(json, key, '[');
	for (int i = 0; i < LAYER_COUNT; i++) {
		if (set & LAYER_BIT(i)) {
			json_text(json, NULL, layer_table[i].name);
		}
	}
	json_close(json, ']');
}

static void json_mounts(struct json_out *json, const struct policy *policy)
{
	json_open(json, "mounts", '[');
	for (size_t i = 0; i < policy->mounts_count; i++) {
		const struct policy_mount *mount = &policy->mounts[i];

		json_open(json, NULL, '{');
		json_text(json, "name", mount->name);
		json_text(json, "path", mount->path);
		json_bool(json, "writable", mount->writable);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_venvs(struct json_out *json, const struct policy *policy)
{
	json_open(json, "venvs", '{');
	for (size_t i = 0; i < policy->venvs_count; i++) {
		json_text(json, policy->venvs[i].name, policy->venvs[i].path);
	}
	json_close(json, '}');
	json_text(json, "venv", policy->venv);
}

static void json_guard(struct json_out *json, const struct policy *policy)
{
	const struct policy_guard *guard = &policy->guard;

	json_open(json, "risk", '{');
	json_u64(json, "ask_from", policy->risk.ask);
	json_u64(json, "refuse_from", policy->risk.refuse);
	json_close(json, '}');
	json_open(json, "guard", '{');
	json_text(json, "mode", guard_mode_names[guard->mode]);
	if (guard->own_modules) {
		json_list(json, "allowed_modules", &guard->modules);
	} else {
		json_nil(json, "allowed_modules");
	}
	json_u64(json, "operations", guard->operations);
	json_u64(json, "recursion", guard->recursion);
	json_close(json, '}');
}

static void json_monitor(struct json_out *json, const struct policy *policy)
{
	const struct policy_monitor *monitor = &policy->monitor;

	json_u64(json, "denials_max", monitor->end_after.denied_calls);
	json_open(json, "monitor", '{');
	json_list(json, "calls", &monitor->calls);
	json_list(json, "files", &monitor->files);
	json_open(json, "end_after", '{');
	json_u64(json, "denied_calls", monitor->end_after.denied_calls);
	json_u64(json, "refused_connections", monitor->end_after.refused_connections);
	json_u64(json, "watched", monitor->end_after.watched);
	json_close(json, '}');
	json_close(json, '}');
}

/* A name, as in the policy; or a list, with the providers that are never used in another. */
static void json_daemon(struct json_out *json, const char *key,
			const struct daemon_settings *settings)
{
	json_open(json, key, '{');
	json_text(json, "socket", settings->socket);
	json_text(json, "image", settings->image);
	json_text(json, "runtime", settings->runtime);
	json_close(json, '}');
}

static void json_providers(struct json_out *json, const struct policy *policy)
{
	if (policy->candidates_count == 1) {
		json_text(json, "provider", policy->provider->name);
		return;
	}
	json_open(json, "provider", '[');
	for (size_t i = 0; i < policy->candidates_count; i++) {
		json_text(json, NULL, policy->candidates[i].provider->name);
	}
	json_close(json, ']');
	json_open(json, "providers_unusable", '{');
	for (size_t i = 0; i < policy->candidates_count; i++) {
		const struct policy_candidate *one = &policy->candidates[i];
		if (one->lack) {
			json_text(json, one->provider->name, one->lack);
		}
	}
	json_close(json, '}');
}

void policy_print_json(const struct policy *policy, struct buf *out)
{
	struct json_out json = { .buf = out };

	json_open(&json, NULL, '{');
	json_text(&json, "name", policy->name);
	json_text(&json, "description", policy->description);
	json_text(&json, "sha256", policy->hash);
	json_providers(&json, policy);
	json_text(&json, "oci_runtime", policy->oci_runtime);
	json_text(&json, "gvisor_runtime", policy->gvisor_runtime);
	json_text(&json, "gvisor_platform", policy->gvisor_platform);
	json_text(&json, "vm_accel", vm_accel_names[policy->vm.accel]);
	json_text(&json, "vm_monitor", policy->vm_monitor[0] ? policy->vm_monitor : MACHINE_QEMU);
	json_daemon(&json, "docker", &policy->docker);
	json_daemon(&json, "podman", &policy->podman);
	json_text(&json, "launcher", policy->launcher.name[0] ? policy->launcher.name : NULL);
	json_text(&json, "wasm_engine", policy->wasm_engine);
	json_text(&json, "auto_run", auto_run_names[policy->auto_run]);
	json_guard(&json, policy);
	json_layers(&json, "may_miss", policy->may_miss);
	json_text(&json, "on_output_limit", output_name(policy));
	json_bool(&json, "exec_writable", policy->exec_writable);
	json_bool(&json, "terminal", policy->terminal);
	json_monitor(&json, policy);
	json_u64(&json, "files_in_count", policy->files_in_count);
	json_u64(&json, "files_in_bytes", policy->files_in_bytes);
	json_u64(&json, "files_out_count", policy->files_out_count);
	json_u64(&json, "files_out_bytes", policy->files_out_bytes);
	json_text(&json, "caller_mounts", caller_mounts_names[policy->caller_mounts]);
	json_mounts(&json, policy);
	json_venvs(&json, policy);
	json_list(&json, "env_set", &policy->env_set);
	json_list(&json, "env_allow", &policy->env_allow);
	json_list(&json, "runtimes", &policy->runtimes);
	json_network(&json, policy);
	json_list(&json, "syscalls", &policy->syscalls);
	json_limits(&json, "limits", &policy->limits);
	json_limits(&json, "ceiling", &policy->ceiling);
	json_limits(&json, "compile_limits", &policy->compile_limits);
	json_close(&json, '}');
}
