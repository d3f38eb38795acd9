/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of `brig doctor`, and their two output forms. */
#ifndef BRIG_CLI_DOCTOR_CLI_DOCTOR_H
#define BRIG_CLI_DOCTOR_CLI_DOCTOR_H

#include <stdbool.h>

#include "base/bytes/buf.h"
#include "cli/doctor/provider_survey.h"
#include "kernel/probe/probe.h"
#include "lib/context.h"
#include "policy/policy.h"

#define DOCTOR_WARM_MAX  16
#define DOCTOR_WARM_LOSS "each run is started cold, which takes longer"

/* Whether cells of a language can be made in advance. Otherwise each run is started cold. */
struct doctor_warm {
	char language[32];
	struct probe_finding found;
	uint64_t ms; /* until the first was ready */
};

struct diagnosis {
	const struct brig_context *context; /* borrowed */
	const struct policy *policy;        /* borrowed */
	struct probe_report report;
	struct provider_survey survey;
	layer_set lacking;     /* layers that the policy requires and the host lacks */
	bool provider_lacking; /* the policy's provider cannot make cells on this host */
	bool ok;
	struct doctor_warm warm[DOCTOR_WARM_MAX];
	size_t warm_count;
};

/* Fills in `warm`; nothing is tried on a host where the policy's cells cannot be made at all. */
void doctor_try_warm(struct diagnosis *diagnosis);

void doctor_text(const struct diagnosis *diagnosis, bool colour, struct buf *out);
void doctor_json(const struct diagnosis *diagnosis, struct buf *out);

/* Does the policy work without this layer? */
static inline bool doctor_waives(const struct diagnosis *diagnosis, enum layer layer)
{
	return !provider_can(diagnosis->policy->provider, ABILITY_WALLS) ||
	       (diagnosis->policy->may_miss & LAYER_BIT(layer)) != 0;
}
#endif
