/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which layers a cell has. All of them, unless the host is known to lack one; a layer that turns
 * out to fail while the cell is built is given up afterwards, if the policy may miss it.
 */
#include <errno.h>
#include <string.h>

#include "lib/prepare/prepare.h"

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
	if (!(spec->layers & LAYERS_CGROUP)) {
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
	if (missing & LAYERS_CGROUP) {
		missing = p->spec.layers & LAYERS_CGROUP;
	}
	int r = take_away(p, missing, err);
	return r < 0 ? r : prepare_filter(p, err);
}

int prepare_layers(struct brig_context *context, struct prepared *p, struct brig_error *err)
{
	struct spec *spec = &p->spec;

	spec->join_by_write = strcmp(cgroup_manager_means(context->groups), "cgroup1") == 0;
	return take_away(p, spec->provider->resolve(context->groups, spec), err);
}
