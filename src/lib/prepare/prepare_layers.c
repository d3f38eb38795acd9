/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which layers a cell has. All of them, unless the host is known to lack one; a layer that turns
 * out to fail while the cell is built is given up afterwards, if the policy may miss it.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "kernel/landlock.h"
#include "lib/prepare/prepare.h"
#include "native/plan.h"

#define CGROUP_LAYERS                                                                              \
	(LAYER_BIT(LAYER_CGROUP_MEMORY) | LAYER_BIT(LAYER_CGROUP_PIDS) |                           \
	 LAYER_BIT(LAYER_CGROUP_CPU))
#define ALL_LAYERS (LAYER_BIT(LAYER_COUNT) - 1)

static const struct {
	enum step_kind step;
	enum layer layer;
} step_layers[] = {
	{ STEP_OVERLAY, LAYER_OVERLAY },      { STEP_TIME, LAYER_TIMENS },
	{ STEP_LANDLOCK, LAYER_LANDLOCK },    { STEP_SECCOMP, LAYER_NOTIFY },
	{ STEP_KEYRING, LAYER_KEYRING },      { STEP_CGROUPNS, LAYER_CGROUPNS },
	{ STEP_CGROUP, LAYER_CGROUP_MEMORY }, { STEP_JOIN, LAYER_CGROUP_MEMORY },
	{ STEP_GROUP, LAYER_CGROUP_MEMORY },  { STEP_ATTACH, LAYER_CGROUP_MEMORY },
};

int prepare_layer_of(const char *step_name)
{
	for (size_t i = 0; i < sizeof(step_layers) / sizeof(step_layers[0]); i++) {
		if (strcmp(step_table[step_layers[i].step].name, step_name) == 0) {
			return (int)step_layers[i].layer;
		}
	}
	return -1;
}

static int refuse(const struct policy *policy, enum layer layer, struct brig_error *err)
{
	int r = error_set(err, BRIG_E_HOST, ENOTSUP,
			  "policy %s wants the layer %s (%s), and this host does not give it",
			  policy->name, layer_table[layer].name, layer_table[layer].about);
	error_remedy(err, "brig doctor tells the repair; or name %s in the policy's may_miss: %s",
		     layer_table[layer].name, layer_table[layer].loss);
	return r;
}

static void derive(struct prepared *p)
{
	struct spec *spec = &p->spec;

	spec->watch_memory = !(spec->layers & LAYER_BIT(LAYER_CGROUP_MEMORY));
	spec->watch_processes = !(spec->layers & LAYER_BIT(LAYER_CGROUP_PIDS));
	if (!(spec->layers & CGROUP_LAYERS)) {
		spec->join_by_write = false;
	}
}

static int take_away(struct prepared *p, layer_set missing, struct brig_error *err)
{
	for (int layer = 0; layer < LAYER_COUNT; layer++) {
		if ((missing & LAYER_BIT(layer)) && !(p->policy->may_miss & LAYER_BIT(layer))) {
			return refuse(p->policy, (enum layer)layer, err);
		}
	}
	p->spec.layers &= ~missing;
	derive(p);
	return 0;
}

int prepare_without(struct prepared *p, enum layer layer, struct brig_error *err)
{
	layer_set missing = LAYER_BIT(layer);

	/* What would have to change is the pool's, and others start from it. */
	if (p->borrowed) {
		return refuse(p->policy, layer, err);
	}
	/* The group is one thing: if it cannot be had, none of its controllers can. */
	if (missing & CGROUP_LAYERS) {
		missing = p->spec.layers & CGROUP_LAYERS;
	}
	int r = take_away(p, missing, err);
	return r < 0 ? r : prepare_filter(p, err);
}

int prepare_layers(struct brig_context *context, struct prepared *p, struct brig_error *err)
{
	struct spec *spec = &p->spec;
	layer_set groups = cgroup_manager_layers(context->groups);
	layer_set missing = CGROUP_LAYERS & ~groups;

	spec->join_by_write = strcmp(cgroup_manager_means(context->groups), "cgroup1") == 0;
	if (spec->provider == PROVIDER_LOCAL) {
		spec->layers = groups & CGROUP_LAYERS;
		derive(p);
		return 0;
	}
	spec->layers = ALL_LAYERS;
	spec->landlock_abi = landlock_abi();
	if (spec->landlock_abi == 0) {
		missing |= LAYER_BIT(LAYER_LANDLOCK);
	}
	if (geteuid() != 0) {
		missing |= LAYER_BIT(LAYER_UIDRANGE);
	}
	return take_away(p, missing, err);
}
