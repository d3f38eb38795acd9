/* SPDX-License-Identifier: Apache-2.0 */
/* Tries every provider on this host: see provider_survey.h. */
#include "cli/doctor/provider_survey.h"

#include "base/clock.h"
#include "run/spec/spec.h"

/* A degraded provider has its layers from the host: it lacks those that the host lacks. */
static layer_set layers_of(const struct brig_context *context, const struct probe_report *report,
			   const struct provider *provider, const struct probe_finding *found)
{
	struct spec spec = { .provider = provider };
	layer_set missing = provider->resolve(context->groups, &spec);

	for (int i = 0; found->state == PROBE_DEGRADED && i < LAYER_COUNT; i++) {
		missing |= report->layers[i].state == PROBE_MISSING ? LAYER_BIT(i) : (layer_set)0;
	}
	return found->state == PROBE_MISSING ? 0 : spec.layers & ~missing;
}

void survey_providers(const struct brig_context *context, const struct probe_report *report,
		      struct provider_survey *ret)
{
	*ret = (struct provider_survey){ .groups = cgroup_manager_means(context->groups) };
	for (size_t i = 0; providers[i]; i++) {
		providers[i]->probe(report, clock_now_ns() + SURVEY_PROVIDER_NS, &ret->found[i]);
		ret->layers[i] = layers_of(context, report, providers[i], &ret->found[i]);
	}
}

const char *survey_means(const struct provider_survey *survey, const struct provider *provider,
			 enum layer layer)
{
	if (LAYER_BIT(layer) & LAYERS_CGROUP) {
		return survey->groups;
	}
	return provider->means ? provider->means(layer) : "brig";
}

static void put_layers(const struct provider_survey *survey, size_t at, struct json_out *json)
{
	json_open(json, "layers", '[');
	for (int i = 0; i < LAYER_COUNT; i++) {
		if (!(survey->layers[at] & LAYER_BIT(i))) {
			continue;
		}
		json_open(json, NULL, '{');
		json_text(json, "name", layer_table[i].name);
		json_text(json, "means", survey_means(survey, providers[at], (enum layer)i));
		json_close(json, '}');
	}
	json_close(json, ']');
}

void survey_put_json(const struct provider_survey *survey, struct json_out *json)
{
	json_open(json, "providers", '[');
	for (size_t i = 0; providers[i]; i++) {
		const struct probe_finding *found = &survey->found[i];
		json_open(json, NULL, '{');
		json_text(json, "name", providers[i]->name);
		json_text(json, "state", probe_state_name(found->state));
		json_text(json, "detail", found->detail[0] ? found->detail : NULL);
		json_text(json, "loss", SURVEY_PROVIDER_LOSS);
		json_text(json, "repair", found->repair[0] ? found->repair : NULL);
		json_text(json, "about", providers[i]->about);
		json_open(json, "abilities", '[');
		for (int j = 0; j < ABILITY_COUNT; j++) {
			if (provider_can(providers[i], (enum ability)j)) {
				json_text(json, NULL, ability_table[j].name);
			}
		}
		json_close(json, ']');
		put_layers(survey, i, json);
		json_close(json, '}');
	}
	json_close(json, ']');
}
