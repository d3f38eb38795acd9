/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of a cell's life, as data. */
#include "base/cleanup.h"
#include "daemon/daemon.h"

#define SECOND 1000000000ull

const struct daemon_stage_info daemon_stages[DAEMON_STAGES] = {
	[DAEMON_VERSION] = { "version", "GET", 5 * SECOND, { 200 }, "which API it has" },
	[DAEMON_LIST] = { "list", "GET", 10 * SECOND, { 200 }, "containers of dead processes" },
	[DAEMON_SWEEP] = { "sweep", "DELETE", 20 * SECOND, { 204, 404, 409 }, "removes one" },
	[DAEMON_IMAGE] = { "image", "GET", 10 * SECOND, { 200, 404 }, "is the image there?" },
	[DAEMON_IMPORT] = { "import", "POST", 60 * SECOND, { 200 }, "brig's image, if it is not" },
	[DAEMON_CREATE] = { "create", "POST", 30 * SECOND, { 201 }, "the container" },
	[DAEMON_ATTACH] = { "attach", "POST", 10 * SECOND, { 101, 200 }, "the agent's stream" },
	[DAEMON_START] = { "start", "POST", 30 * SECOND, { 204 }, "the agent begins" },
	[DAEMON_INSPECT] = { "inspect", "GET", 10 * SECOND, { 200 }, "its process and its group" },
	[DAEMON_RUNS] = { "run", NULL, 0, { 0 }, "" },
	[DAEMON_REMOVE] = { "remove", "DELETE", 20 * SECOND, { 204, 404, 409 }, "on failure" },
	[DAEMON_ENDING] = { "end", NULL, 0, { 0 }, "" },
	[DAEMON_OVER] = { "over", NULL, 0, { 0 }, "" },
};

/* {"label":["brig.owner"]}, and perhaps "status":["created"] */
#define LABEL   "%22label%22%3A%5B%22" DAEMON_LABEL "%22%5D"
#define CREATED "%2C%22status%22%3A%5B%22created%22%5D"

static const struct {
	unsigned most;
	const char *filters;
} lists[DAEMON_LISTS] = {
	[DAEMON_LIST_CREATED] = { DAEMON_LIST_ENTRIES, "%7B" LABEL CREATED "%7D" },
	[DAEMON_LIST_SHORT] = { DAEMON_LIST_ENTRIES, "%7B" LABEL "%7D" },
	[DAEMON_LIST_ALL] = { DAEMON_LIST_LONG, "%7B" LABEL "%7D" },
};

static void put_path(const struct daemon_cell *cell, enum daemon_stage stage, struct buf *out)
{
	if (stage != DAEMON_VERSION) {
		buf_addf(out, "/v1.%u", cell->api);
	}
	switch (stage) {
	case DAEMON_VERSION:
		buf_adds(out, "/version");
		break;
	case DAEMON_LIST:
		buf_addf(out, "/containers/json?all=1&limit=%u&filters=%s", lists[cell->list].most,
			 lists[cell->list].filters);
		break;
	case DAEMON_SWEEP:
		buf_addf(out, "/containers/%s?force=1&v=1", cell->stale[cell->stale_count - 1]);
		break;
	case DAEMON_IMAGE:
		buf_addf(out, "/images/%s/json", cell->image_name);
		break;
	case DAEMON_IMPORT:
		/* Podman ignores a tag that is apart. */
		buf_addf(out, "/images/create?fromSrc=-&repo=%s", cell->image_name);
		break;
	case DAEMON_CREATE:
		buf_adds(out, "/containers/create");
		break;
	case DAEMON_ATTACH:
		buf_addf(out, "/containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=1", cell->id);
		break;
	case DAEMON_START:
		buf_addf(out, "/containers/%s/start", cell->id);
		break;
	case DAEMON_INSPECT:
		buf_addf(out, "/containers/%s/json", cell->id);
		break;
	default:
		buf_addf(out, "/containers/%s?force=1&v=1", cell->id);
		break;
	}
}

void daemon_request(const struct daemon_cell *cell, enum daemon_stage stage, struct buf *path,
		    struct daemon_request *ret)
{
	put_path(cell, stage, path);
	*ret = (struct daemon_request){ .method = daemon_stages[stage].method,
					.path = path->data,
					.upgrade = stage == DAEMON_ATTACH,
					.answer_bytes =
						stage == DAEMON_LIST ? DAEMON_LIST_BYTES : 0 };
	if (stage == DAEMON_IMPORT) {
		ret->type = "application/x-tar";
		ret->body = cell->image.data;
		ret->size = cell->image.size;
	}
}
