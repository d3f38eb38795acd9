/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides the layers of a cell: all of them, unless the host is known to lack one. A layer that
 * fails while the cell is built is removed afterwards, if it is in the policy's may_miss.
 */
#include <errno.h>
#include <string.h>

#include "lib/prepare/prepare.h"

static int refuse(const struct prepared *p, enum layer layer, struct brig_error *err)
{
	const struct provider *provider = p->spec.provider;
	char setting[PROVIDER_SETTING_MAX];
	bool own = provider->setting_layers & LAYER_BIT(layer) && provider->setting &&
		   provider->setting(&p->spec, setting);
	bool lacking = own || !(provider->layers & LAYER_BIT(layer));
	int r = error_set(err, BRIG_E_HOST, ENOTSUP,
			  "policy %s wants the layer %s (%s), which %s %s lacks", p->policy->name,
			  layer_table[layer].name, layer_table[layer].about,
			  own       ? provider->name
			  : lacking ? "provider"
				    : "this",
			  own       ? setting
			  : lacking ? provider->name
				    : "host");
	if (lacking) {
		error_remedy(err, "use provider \"%s\"; or name %s in the policy's may_miss: %s",
			     providers[0]->name, layer_table[layer].name, layer_table[layer].loss);
		return r;
	}
	error_remedy(err, "see brig doctor for the repair; or name %s in the policy's may_miss: %s",
		     layer_table[layer].name, layer_table[layer].loss);
	return r;
}

static void derive(struct prepared *p)
{
	struct spec *spec = &p->spec;

	bool own = spec->provider->own_groups;

	spec->watch_memory = !own && !(spec->layers & LAYER_BIT(LAYER_CGROUP_MEMORY));
	spec->watch_processes = !own && !(spec->layers & LAYER_BIT(LAYER_CGROUP_PIDS));
	if (!(spec->layers & LAYERS_CGROUP)) {
		spec->join_by_write = false;
	}
}

static int take_away(struct prepared *p, layer_set missing, struct brig_error *err)
{
	const layer_set wanted = ~policy_may_miss(p->policy, p->spec.provider);

	for (int layer = 0; layer < LAYER_COUNT; layer++) {
		if (missing & wanted & LAYER_BIT(layer)) {
			return refuse(p, (enum layer)layer, err);
		}
	}
	p->spec.layers &= ~missing;
	derive(p);
	return 0;
}

int prepare_without(struct prepared *p, enum layer layer, struct brig_error *err)
{
	layer_set missing = LAYER_BIT(layer);

	/* The filter belongs to the pool, and other requests start from it. */
	if (p->borrowed) {
		return refuse(p, layer, err);
	}
	/* All controllers are in one group: without the group there is none of them. */
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
