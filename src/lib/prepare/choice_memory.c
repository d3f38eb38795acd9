/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings about providers, kept for a while: trying one takes as long as a run or longer. A
 * failure is kept as long as a success, except for one that had not enough time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "lib/prepare/choice.h"

struct choice_memory {
	struct entry {
		const struct provider *provider;    /* NULL: free */
		char setting[PROVIDER_SETTING_MAX]; /* of the provider's own, such as a runtime */
		uint64_t until_ns;
		struct choice_finding finding;
	} entries[PROVIDERS_MAX];
	struct probe_report host;
	uint64_t host_until_ns;
};

void choice_memory_free(struct choice_memory *memory)
{
	free(memory);
}

/* The setting of a spec that a finding depends on. */
static void setting_of(const struct spec *spec, char ret[PROVIDER_SETTING_MAX])
{
	const struct provider *provider = spec->provider;

	if (!provider->setting || !provider->setting(spec, ret)) {
		*ret = '\0';
	}
}

/* Its entry, or the one to replace: `*ret_known` tells which. */
static struct entry *find(struct choice_memory *memory, const struct spec *spec, bool *ret_known)
{
	struct entry *oldest = &memory->entries[0];
	char setting[PROVIDER_SETTING_MAX];

	setting_of(spec, setting);
	for (size_t i = 0; i < PROVIDERS_MAX; i++) {
		struct entry *entry = &memory->entries[i];
		if (entry->provider == spec->provider && strcmp(entry->setting, setting) == 0) {
			*ret_known = true;
			return entry;
		}
		oldest = entry->until_ns < oldest->until_ns ? entry : oldest;
	}
	*ret_known = false;
	return oldest;
}

uint64_t choice_age_ns(const struct probe_finding *found, uint64_t taken_ns)
{
	/* A busy host is slow, and may be less busy soon: others work meanwhile. */
	bool late = found->state == PROBE_MISSING && found->errnum == ETIMEDOUT;

	return taken_ns > CHOICE_SLOW_NS && !late ? CHOICE_SLOW_AGE_NS : CHOICE_AGE_NS;
}

static void try_host(struct brig_context *context, uint64_t now_ns)
{
	struct choice_memory *memory = context->choices;

	if (now_ns >= memory->host_until_ns) {
		probe_run(context->groups, &memory->host);
		memory->host_until_ns = clock_now_ns() + CHOICE_AGE_NS;
	}
}

static void try_provider(struct choice_memory *memory, const struct spec *spec, struct entry *entry)
{
	const struct provider *provider = spec->provider;
	uint64_t began = clock_now_ns(), deadline = began + CHOICE_PROBE_NS;
	struct choice_finding *finding = &entry->finding;

	*entry = (struct entry){ .provider = provider };
	setting_of(spec, entry->setting);
	if (provider->probe_for) {
		provider->probe_for(&memory->host, deadline, spec, &finding->found);
	} else {
		provider->probe(&memory->host, deadline, &finding->found);
	}
	/* A degraded provider has its layers from the host: it lacks those that the host lacks. */
	for (int i = 0; finding->found.state == PROBE_DEGRADED && i < LAYER_COUNT; i++) {
		finding->lost |=
			memory->host.layers[i].state == PROBE_MISSING ? LAYER_BIT(i) : (layer_set)0;
	}
	uint64_t now = clock_now_ns();
	entry->until_ns = now + choice_age_ns(&finding->found, now - began);
}

int choice_find(struct brig_context *context, const struct spec *spec,
		const struct choice_finding **ret)
{
	uint64_t now = clock_now_ns();
	bool known = false;

	if (!context->choices) {
		context->choices = calloc(1, sizeof(*context->choices));
	}
	if (!context->choices) {
		return -ENOMEM;
	}
	struct entry *entry = find(context->choices, spec, &known);
	if (!known || now >= entry->until_ns) {
		try_host(context, now);
		try_provider(context->choices, spec, entry);
	}
	*ret = &entry->finding;
	return 0;
}

void choice_worked(struct brig_context *context, const struct spec *spec)
{
	bool known = false;
	struct entry *entry = context->choices ? find(context->choices, spec, &known) : NULL;

	if (known && entry->finding.found.state != PROBE_MISSING) {
		entry->until_ns = clock_now_ns() + CHOICE_AGE_NS;
	}
}
