/* SPDX-License-Identifier: Apache-2.0 */
/* The provider `oci`: see provider.h and oci.h. */
#include "oci/oci.h"

/* A container has them all: the runtime, the holder and the agent make them together. */
#define OCI_LAYERS (LAYER_BIT(LAYER_COUNT) - 1)

static const struct held_kind container = {
	.product = "container",
	.step = "runtime",
	.other = "the other runtime",
	.late = "see brig doctor; or name another runtime in the policy's oci",
	.find_agent = held_find_newest,
};

/* As runc: it is told nothing of control groups, and has a root. */
static const struct oci_runtime other = { .name = "runtime", .needs_root = true };

const struct oci_family oci_family = {
	.provider = &oci_provider,
	.kind = &container,
	.what = "an OCI runtime",
	.choices = "use \"crun\", \"runc\" or \"youki\", or the absolute path of a runtime",
	.count = 3,
	.other = &other,
	.runtimes = {
		{ .name = "crun", .package = "crun", .options = { "--cgroup-manager=disabled" } },
		/* runc 1.1: "User namespaces enabled, but no user mapping found" without an id 0. */
		{ .name = "runc", .package = "runc", .needs_root = true },
		{ .name = "youki", .needs_root = true },
	},
};

static layer_set resolve(const struct cgroup_manager *groups, struct spec *spec)
{
	return held_resolve(groups, OCI_LAYERS, spec);
}

static struct oci_settings settings_of(const struct spec *spec)
{
	return (struct oci_settings){ .runtime = spec->oci_runtime };
}

static int open_cell(struct run *run, struct brig_error *err)
{
	struct oci_settings settings = settings_of(run->options.spec);

	return oci_open(run, &oci_family, &settings, err);
}

static void explain(const struct spec *spec, bool json, struct buf *out)
{
	struct oci_settings settings = settings_of(spec);

	oci_explain(&oci_family, &settings, spec, json, out);
}

static void probe_for(const struct probe_report *host, uint64_t deadline_ns,
		      const struct spec *like, struct probe_finding *ret)
{
	struct spec spec = { .provider = &oci_provider,
			     .layers = OCI_LAYERS,
			     .oci_runtime = like->oci_runtime };

	held_probe(host, &spec, deadline_ns, ret);
}

static void probe(const struct probe_report *host, uint64_t deadline_ns, struct probe_finding *ret)
{
	probe_for(host, deadline_ns, &(struct spec){ 0 }, ret);
}

static const char *means(enum layer layer)
{
	return held_means(layer, "the OCI runtime");
}

static bool setting(const struct spec *spec, char ret[PROVIDER_SETTING_MAX])
{
	return provider_set(spec->oci_runtime, ret);
}

const struct provider oci_provider = {
	HELD_PROVIDER,
	.name = "oci",
	.about = "a container by an OCI runtime (crun, runc) with brig's agent in it",
	.abilities = ABILITY_BIT(ABILITY_WALLS) | ABILITY_BIT(ABILITY_OWN_ROOT) |
		     ABILITY_BIT(ABILITY_MOUNTS) | ABILITY_BIT(ABILITY_CALL_RULES) |
		     ABILITY_BIT(ABILITY_CALL_WATCH) | ABILITY_BIT(ABILITY_NETWORK) |
		     ABILITY_BIT(ABILITY_HOLD) | ABILITY_BIT(ABILITY_VALUE) |
		     ABILITY_BIT(ABILITY_SESSIONS) | ABILITY_BIT(ABILITY_VENV),
	.layers = OCI_LAYERS,
	.own_processes = 2, /* holder and agent */
	.inner_processes = 1,
	.setting = setting,
	.probe = probe,
	.probe_for = probe_for,
	.resolve = resolve,
	.means = means,
	.explain = explain,
	.open = open_cell,
};
