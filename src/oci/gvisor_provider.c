/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The provider `gvisor`: see provider.h and oci.h.
 *
 * runsc starts three kinds of processes in the holder: the sentry, a kernel written in Go, in
 * namespaces and behind a filter of its own; the gofer, which opens files for it; and processes
 * without any call to the host, in which the program's instructions run. The program's calls are
 * the sentry's: its namespaces, ids, capabilities, clocks, locks and filters are not the host's.
 */
#include <stdio.h>

#include "oci/oci.h"

/*
 * Without `landlock` and `notify`, which the sentry does not know, and without `cgroup-pids`: a
 * group counts tasks of the host, and these are not the program's.
 */
#define GVISOR_LAYERS                                                                              \
	(LAYER_BIT(LAYER_USERNS) | LAYER_BIT(LAYER_PIDNS) | LAYER_BIT(LAYER_MNTNS) |               \
	 LAYER_BIT(LAYER_NETNS) | LAYER_BIT(LAYER_IPCNS) | LAYER_BIT(LAYER_UTSNS) |                \
	 LAYER_BIT(LAYER_CGROUPNS) | LAYER_BIT(LAYER_TIMENS) | LAYER_BIT(LAYER_ROOTFS) |           \
	 LAYER_BIT(LAYER_OVERLAY) | LAYER_BIT(LAYER_PROC) | LAYER_BIT(LAYER_UIDRANGE) |            \
	 LAYER_BIT(LAYER_CAPS) | LAYER_BIT(LAYER_NNP) | LAYER_BIT(LAYER_SECCOMP) |                 \
	 LAYER_BIT(LAYER_KEYRING) | LAYER_BIT(LAYER_CGROUP_MEMORY) | LAYER_BIT(LAYER_CGROUP_CPU))

/*
 * Host threads of the sentry and the gofer when no program runs: 40 on an idle host, but 220 on a
 * busy one, and more with many mounts. The limit protects the host; that of the policy is enforced
 * by the sentry.
 */
#define OWN_TASKS 1024
/* A thread of the sentry that waits in a call, one in which the program runs, and its parent. */
#define TASKS_EACH 4
/* The memory of a container that waits, without its interpreter. */
#define HELD_BYTES (64ull << 20)

/* There are no namespaces of the host's to enter, and the walls are not checked from outside. */
static int ready(struct run *run)
{
	(void)run;
	return 1;
}

/* Its kernel has no routes of type local; but all addresses of the loopback's networks are. */
static const struct agent_options agent = { .assigns = true, .separates = true };

static const struct held_kind sandbox = {
	.agent = &agent,
	.product = "container",
	.step = "runtime",
	.other = "the one of bookworm-backports",
	.late = "see brig doctor; or name another platform in the policy's gvisor",
	.emulated = true,
	.ready = ready,
};

const struct oci_family gvisor_family = {
	.provider = &gvisor_provider,
	.kind = &sandbox,
	.what = "a runtime of gVisor",
	.choices = "use \"runsc\", or its absolute path",
	.count = 1,
	.runtimes = { {
		.name = "runsc",
		.package = "runsc",
		/* Not root on the host, brig's own group, no network, files as they are. */
		.options = { "--rootless", "--ignore-cgroups", "--network=none",
			     "--overlay2=none" },
		.needs_root = true,
	} },
};

static layer_set resolve(const struct cgroup_manager *groups, struct spec *spec)
{
	return held_resolve(groups, GVISOR_LAYERS, spec);
}

/* Without a platform the runtime has a default: systrap, or ptrace before 2023; never kvm. */
static struct oci_settings settings_of(const struct spec *spec, char option[32])
{
	if (spec->gvisor_platform) {
		snprintf(option, 32, "--platform=%.16s", spec->gvisor_platform);
	}
	return (struct oci_settings){ .runtime = spec->gvisor_runtime,
				      .option = spec->gvisor_platform ? option : NULL };
}

static bool setting(const struct spec *spec, char ret[PROVIDER_SETTING_MAX])
{
	snprintf(ret, PROVIDER_SETTING_MAX, "%s %s",
		 spec->gvisor_runtime ? spec->gvisor_runtime : "",
		 spec->gvisor_platform ? spec->gvisor_platform : "");
	return true;
}

static int open_cell(struct run *run, struct brig_error *err)
{
	char option[32];
	struct oci_settings settings = settings_of(run->options.spec, option);

	return oci_open(run, &gvisor_family, &settings, err);
}

static void explain(const struct spec *spec, bool json, struct buf *out)
{
	char option[32];
	struct oci_settings settings = settings_of(spec, option);

	oci_explain(&gvisor_family, &settings, spec, json, out);
}

static void probe_for(const struct probe_report *host, uint64_t deadline_ns,
		      const struct spec *like, struct probe_finding *ret)
{
	struct spec spec = { .provider = &gvisor_provider,
			     .layers = GVISOR_LAYERS,
			     .gvisor_runtime = like->gvisor_runtime,
			     .gvisor_platform = like->gvisor_platform };

	held_probe(host, &spec, deadline_ns, ret);
}

static void probe(const struct probe_report *host, uint64_t deadline_ns, struct probe_finding *ret)
{
	probe_for(host, deadline_ns, &(struct spec){ 0 }, ret);
}

static const char *means(enum layer layer)
{
	switch (layer) {
	case LAYER_SECCOMP: /* the agent asks for the filter, and gVisor's kernel enforces it */
		return "brig's agent, in gVisor's kernel";
	case LAYER_TIMENS:
	case LAYER_OVERLAY:
		return "gVisor's kernel";
	default:
		return held_means(layer, "gVisor's kernel");
	}
}

/* The sentry and its gofer. */
static uint64_t held_bytes(const struct spec *spec)
{
	(void)spec;
	return HELD_BYTES;
}

const struct provider gvisor_provider = {
	HELD_PROVIDER,
	.name = "gvisor",
	.about = "a container with gVisor's kernel (runsc), with brig's agent in it",
	.abilities = ABILITY_BIT(ABILITY_WALLS) | ABILITY_BIT(ABILITY_OWN_ROOT) |
		     ABILITY_BIT(ABILITY_MOUNTS) | ABILITY_BIT(ABILITY_CALL_RULES) |
		     ABILITY_BIT(ABILITY_NETWORK) | ABILITY_BIT(ABILITY_HOLD) |
		     ABILITY_BIT(ABILITY_VALUE) | ABILITY_BIT(ABILITY_SESSIONS) |
		     ABILITY_BIT(ABILITY_VENV),
	.layers = GVISOR_LAYERS,
	.network_by_stream = true,
	.own_processes = OWN_TASKS,
	.inner_processes = 1, /* the agent */
	.tasks_each = TASKS_EACH,
	.own_clock = true,
	/* Its kernel shows it to programs as the memory of the machine. */
	.fixed_limits = LAYER_BIT(LAYER_CGROUP_MEMORY),
	.held_bytes = held_bytes,
	.setting = setting,
	.probe = probe,
	.probe_for = probe_for,
	.resolve = resolve,
	.means = means,
	.explain = explain,
	.open = open_cell,
};
