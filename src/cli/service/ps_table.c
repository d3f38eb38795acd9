/* SPDX-License-Identifier: Apache-2.0 */
/* One line for each execution. */
#include "cli/service/ps_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/service/client.h"

#define LONG_COLUMNS 140

int ps_page(const char *socket, const char *tenant, bool all, unsigned limit, json_t **ret,
	    struct brig_error *error)
{
	const char *whose = tenant ? tenant : all ? "*" : NULL;
	struct brig_error refused = { 0 };
	char path[128];

	if (whose && (strlen(whose) > 64 || whose[strcspn(whose, "&#/?% ")] != '\0')) {
		return error_set(error, BRIG_E_INPUT, EINVAL, "--tenant: %s is not a valid name",
				 whose);
	}
	snprintf(path, sizeof(path), "/v1/executions?limit=%u%s%s", limit, whose ? "&tenant=" : "",
		 whose ? whose : "");
	int r = client_get(socket, "GET", path, ret, &refused);
	if (r < 0 && all && !tenant) { /* not an operator: then all are the caller's own */
		snprintf(path, sizeof(path), "/v1/executions?limit=%u", limit);
		return client_get(socket, "GET", path, ret, error);
	}
	if (r < 0) {
		*error = refused;
	}
	return r;
}

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

/* "2027-01-01T10:11:12.345Z" */
static void clock_of(const char *time, char ret[9])
{
	snprintf(ret, 9, "%.8s", strlen(time) > 19 ? time + 11 : "-");
}

void ps_short(json_t *page, size_t most, struct buf *out)
{
	json_t *list = json_object_get(page, "executions");
	json_t *item;
	size_t index;

	buf_addf(out, "%-26s %-12s %-10s %-8s %s\n", "ID", "STATUS", "LANGUAGE", "SINCE", "TENANT");
	json_array_foreach(list, index, item)
	{
		const char *started = client_text(item, "started_at");
		char since[9];

		if (most && index >= most) {
			break;
		}
		clock_of(*started ? started : client_text(item, "created_at"), since);
		buf_addf(out, "%-26.26s %-12.12s %-10.10s %-8s %.18s\n", client_text(item, "id"),
			 client_text(item, "status"), or_dash(client_text(item, "language")), since,
			 or_dash(client_text(item, "tenant")));
	}
}

void ps_table(json_t *page, size_t most, struct buf *out)
{
	json_t *list = json_object_get(page, "executions");
	json_t *item;
	size_t index;

	buf_addf(out, "%-26s  %-14s  %-10s  %-12s  %-24s  %-26s  %s\n", "ID", "STATUS", "LANGUAGE",
		 "POLICY", "SINCE", "SESSION", "TENANT");
	json_array_foreach(list, index, item)
	{
		const char *started = client_text(item, "started_at");

		if (most && index >= most) {
			break;
		}
		buf_addf(out, "%-26s  %-14s  %-10s  %-12s  %-24s  %-26s  %s\n",
			 client_text(item, "id"), client_text(item, "status"),
			 or_dash(client_text(item, "language")),
			 or_dash(client_text(item, "policy")),
			 *started ? started : client_text(item, "created_at"),
			 or_dash(client_text(item, "session")), client_text(item, "tenant"));
	}
}

bool ps_narrow(void)
{
	struct winsize size = { 0 };

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 &&
	       size.ws_col < LONG_COLUMNS;
}
