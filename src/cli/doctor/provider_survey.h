/* SPDX-License-Identifier: Apache-2.0 */
/* The providers on this host, for `brig doctor` and `brig providers`. */
#ifndef BRIG_CLI_DOCTOR_PROVIDER_SURVEY_H
#define BRIG_CLI_DOCTOR_PROVIDER_SURVEY_H

#include "base/json/json_out.h"
#include "kernel/probe/probe.h"
#include "lib/context.h"
#include "provider/provider.h"

/* How long one provider may take to find out what it can do. */
#define SURVEY_PROVIDER_NS   10000000000ull
#define SURVEY_PROVIDER_LOSS "no run can use this provider"

/* One element for each row of the table of providers. */
struct provider_survey {
	struct probe_finding found[PROVIDERS_MAX];
	layer_set layers[PROVIDERS_MAX]; /* that its cells have on this host */
	const char *groups;              /* means of control groups */
};

void survey_providers(const struct brig_context *context, const struct probe_report *report,
		      struct provider_survey *ret);
/* "the OCI runtime", "cgroup2": by which means a provider has a layer. */
const char *survey_means(const struct provider_survey *survey, const struct provider *provider,
			 enum layer layer);
/* The array "providers". */
void survey_put_json(const struct provider_survey *survey, struct json_out *json);
#endif
