/* SPDX-License-Identifier: Apache-2.0 */
/* `brig doctor --json`. */
#include <inttypes.h>
#include <stdio.h>

#include "base/json/json_out.h"
#include "cli/doctor/cli_doctor.h"

static const char *or_null(const char *text)
{
	return text[0] ? text : NULL;
}

static void put_finding(struct json_out *json, const char *name, const struct probe_finding *found,
			const char *loss)
{
	json_text(json, "name", name);
	json_text(json, "state", probe_state_name(found->state));
	json_text(json, "detail", or_null(found->detail));
	json_text(json, "loss", loss);
	json_text(json, "repair", or_null(found->repair));
}

static void put_layers(struct json_out *json, const struct diagnosis *diagnosis)
{
	json_open(json, "layers", '[');
	for (int i = 0; i < LAYER_COUNT; i++) {
		json_open(json, NULL, '{');
		put_finding(json, layer_table[i].name, &diagnosis->report.layers[i],
			    layer_table[i].loss);
		json_bool(json, "waived", doctor_waives(diagnosis, (enum layer)i));
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_calls(struct json_out *json, const struct diagnosis *diagnosis)
{
	json_open(json, "calls", '[');
	for (int i = 0; i < PROBE_CALLS; i++) {
		json_open(json, NULL, '{');
		put_finding(json, probe_call_table[i].name, &diagnosis->report.calls[i],
			    probe_call_table[i].loss);
		json_text(json, "since", probe_call_table[i].since);
		json_bool(json, "required", probe_call_table[i].required);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_sysctls(struct json_out *json, const struct probe_host *host)
{
	json_open(json, "sysctls", '{');
	for (int i = 0; i < PROBE_SYSCTLS; i++) {
		if (host->sysctls[i] < 0) {
			json_nil(json, probe_sysctl_names[i]);
		} else {
			json_int(json, probe_sysctl_names[i], host->sysctls[i]);
		}
	}
	json_close(json, '}');
}

static void put_remarks(struct json_out *json, const struct probe_host *host)
{
	json_open(json, "remarks", '[');
	for (size_t i = 0; i < probe_remarks_count; i++) {
		if (!probe_remarks[i].applies(host)) {
			continue;
		}
		json_open(json, NULL, '{');
		json_text(json, "name", probe_remarks[i].name);
		json_text(json, "detail", probe_remarks[i].detail);
		json_text(json, "repair", or_null(probe_remarks[i].repair));
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_warm(struct json_out *json, const struct diagnosis *diagnosis)
{
	json_open(json, "warm", '[');
	for (size_t i = 0; i < diagnosis->warm_count; i++) {
		const struct doctor_warm *warm = &diagnosis->warm[i];

		json_open(json, NULL, '{');
		put_finding(json, warm->language, &warm->found, DOCTOR_WARM_LOSS);
		json_u64(json, "ready_ms", warm->ms);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_host(struct json_out *json, const struct diagnosis *diagnosis)
{
	const struct probe_host *host = &diagnosis->report.host;
	const struct brig_context *context = diagnosis->context;
	char capabilities[24];

	snprintf(capabilities, sizeof(capabilities), "0x%" PRIx64, host->capabilities);
	json_open(json, "host", '{');
	json_u64(json, "uid", host->uid);
	json_text(json, "container", or_null(host->container));
	json_bool(json, "user_namespace", host->user_namespace);
	json_bool(json, "systemd", host->systemd);
	json_u64(json, "seccomp", (uint64_t)host->seccomp);
	json_text(json, "capabilities", capabilities);
	json_text(json, "proc_mask", or_null(host->proc_mask));
	json_text(json, "core_pattern", or_null(host->core_pattern));
	put_sysctls(json, host);
	json_open(json, "cgroup", '{');
	json_text(json, "means", cgroup_manager_means(context->groups));
	json_text(json, "where", or_null(cgroup_manager_where(context->groups)));
	json_text(json, "why", or_null(cgroup_manager_why(context->groups)));
	json_close(json, '}');
	json_text(json, "cache", context->cache_dir);
	put_calls(json, diagnosis);
	put_remarks(json, host);
	json_close(json, '}');
}

void doctor_json(const struct diagnosis *diagnosis, struct buf *out)
{
	struct json_out json = { .buf = out };

	json_open(&json, NULL, '{');
	json_bool(&json, "ok", diagnosis->ok);
	json_text(&json, "policy", diagnosis->policy->name);
	json_text(&json, "kernel", diagnosis->report.host.kernel);
	put_layers(&json, diagnosis);
	survey_put_json(&diagnosis->survey, &json);
	put_warm(&json, diagnosis);
	put_host(&json, diagnosis);
	json_close(&json, '}');
}
