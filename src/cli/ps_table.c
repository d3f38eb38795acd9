/* SPDX-License-Identifier: Apache-2.0 */
/* A line for each execution. */
#include "cli/ps_table.h"

#include <string.h>

#include "cli/client.h"

void ps_filter(json_t *page, bool all)
{
	json_t *list = json_object_get(page, "executions");

	for (size_t i = json_array_size(list); i-- > 0 && !all;) {
		const char *status = client_text(json_array_get(list, i), "status");

		if (strcmp(status, "running") != 0 && strcmp(status, "queued") != 0) {
			json_array_remove(list, i);
		}
	}
}

static const char *or_dash(const char *text)
{
	return *text ? text : "-";
}

void ps_table(json_t *page, size_t most, struct buf *out)
{
	json_t *list = json_object_get(page, "executions");
	json_t *item;
	size_t index;

	buf_addf(out, "%-26s  %-14s  %-10s  %-12s  %-24s  %s\n", "ID", "STATUS", "LANGUAGE",
		 "POLICY", "SINCE", "SESSION");
	json_array_foreach(list, index, item)
	{
		const char *started = client_text(item, "started_at");

		if (most && index >= most) {
			break;
		}
		buf_addf(out, "%-26s  %-14s  %-10s  %-12s  %-24s  %s\n", client_text(item, "id"),
			 client_text(item, "status"), or_dash(client_text(item, "language")),
			 or_dash(client_text(item, "policy")),
			 *started ? started : client_text(item, "created_at"),
			 or_dash(client_text(item, "session")));
	}
}
