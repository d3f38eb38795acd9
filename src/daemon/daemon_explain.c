/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of a start, and the container's body, for `brig explain`. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "daemon/daemon.h"

/* Only the daemon knows the id. */
#define ID "ID"

/* The parts of a cell that its calls depend on. */
static int fill(const struct daemon_kind *kind, const struct spec *spec, struct daemon_cell *cell,
		struct brig_error *err)
{
	cell->kind = kind;
	cell->settings = kind->settings(spec);
	cell->api = DAEMON_API_MINOR;
	snprintf(cell->id, sizeof(cell->id), ID);
	int r = daemon_find(kind, cell->settings, cell->socket, err);
	r = r < 0 ? r : plan_make(spec, &cell->plan, err);
	if (r < 0 || (cell->settings && cell->settings->image)) {
		snprintf(cell->image_name, sizeof(cell->image_name), "%s",
			 r < 0 ? "" : cell->settings->image);
		return r;
	}
	return daemon_own_image(cell, err);
}

static bool is_shown(enum daemon_stage stage, const struct daemon_cell *cell)
{
	return daemon_stages[stage].method && stage != DAEMON_SWEEP &&
	       (stage != DAEMON_IMPORT || cell->image.size);
}

static void print_stage(const struct daemon_cell *cell, enum daemon_stage stage, unsigned number,
			struct json_out *json, struct buf *out)
{
	const struct daemon_stage_info *info = &daemon_stages[stage];
	_cleanup_(buf_done)
	struct buf path = { 0 };
	struct daemon_request request;

	daemon_request(cell, stage, &path, &request);
	if (!json) {
		buf_addf(out, "%3u  %-8s  %-6s %s  %s\n", number, info->name, info->method,
			 path.data, info->about);
		return;
	}
	json_open(json, NULL, '{');
	json_u64(json, "number", number);
	json_text(json, "actor", "daemon");
	json_text(json, "step", info->name);
	json_text(json, "method", info->method);
	json_text(json, "path", path.data);
	json_text(json, "why", info->about);
	json_close(json, '}');
}

static void print(const struct daemon_cell *cell, const struct buf *body, struct json_out *json,
		  struct buf *out)
{
	unsigned number = 0;

	if (json) {
		json_open(json, NULL, '{');
		json_open(json, "steps", '[');
	}
	for (int i = 0; i < DAEMON_STAGES; i++) {
		if (is_shown((enum daemon_stage)i, cell)) {
			print_stage(cell, (enum daemon_stage)i, ++number, json, out);
		}
	}
	if (json) {
		json_close(json, ']');
		json_text(json, "socket", cell->socket);
		json_raw(json, "body", body->data);
		json_close(json, '}');
		return;
	}
	buf_addf(out, "\nThe socket: %s\nThe container: %s\n", cell->socket, body->data);
}

void daemon_explain(const struct daemon_kind *kind, const struct spec *spec, bool json,
		    struct buf *out)
{
	struct daemon_cell cell = { 0 };
	struct brig_error err = { 0 };
	_cleanup_(buf_done)
	struct buf body = { 0 };
	struct json_out writer = { .buf = out };

	if (fill(kind, spec, &cell, &err) < 0) {
		buf_addf(out, json ? "{}" : "%s\n", err.message);
	} else {
		const struct daemon_container container = {
			.kind = kind,
			.spec = spec,
			.plan = &cell.plan,
			.image = cell.image_name,
			.runtime = cell.settings ? cell.settings->runtime : NULL,
			.agent = cell.image.size ? NULL : "AGENT",
			.owner = "OWNER",
		};
		daemon_body_write(&container, &body);
		print(&cell, &body, json ? &writer : NULL, out);
	}
	plan_done(&cell.plan);
	buf_done(&cell.image);
}
