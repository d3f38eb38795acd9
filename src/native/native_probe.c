/* SPDX-License-Identifier: Apache-2.0 */
/* Whether native cells can be made on this host: see provider.h. */
#include <stdio.h>

#include "kernel/probe/probe.h"
#include "native/native_internal.h"

/* The report has tried every step of a cell already, so nothing is left to try. */
void native_probe(const struct probe_report *host, uint64_t deadline_ns, struct probe_finding *ret)
{
	layer_set missing = 0;
	char list[256];

	(void)deadline_ns;
	if (!probe_required_calls(host, ret)) {
		return;
	}
	for (int i = 0; i < LAYER_COUNT; i++) {
		missing |= host->layers[i].state == PROBE_MISSING ? LAYER_BIT(i) : 0;
	}
	if (missing) {
		layer_list(missing, list, sizeof(list));
		ret->state = PROBE_DEGRADED;
		snprintf(ret->detail, sizeof(ret->detail), "without %s", list);
		snprintf(ret->repair, sizeof(ret->repair), "repair these layers: see above");
	}
}
