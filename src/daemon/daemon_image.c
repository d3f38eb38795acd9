/* SPDX-License-Identifier: Apache-2.0 */
/* The image of brig's own: what a cell needs of it, and `brig image build-base`, which waits. */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "daemon/daemon.h"

int daemon_own_image(struct daemon_cell *cell, struct brig_error *err)
{
	char name[DAEMON_NAME_MAX];
	int r = base_image_make(&cell->plan, &cell->image, err);

	if (r < 0) {
		return r;
	}
	base_image_name(&cell->image, name);
	snprintf(cell->image_name, sizeof(cell->image_name), "%s%.200s", cell->kind->image_prefix,
		 name);
	return 0;
}

static int refused(const struct daemon_cell *cell, const struct daemon_call *call, const char *what,
		   struct brig_error *err)
{
	char reason[300];

	daemon_answer_reason(&call->body, reason, sizeof(reason));
	int r = error_set(err, BRIG_E_HOST, EIO, "%s refused the call %s (status %u): %s",
			  cell->kind->title, what, daemon_call_status(call), reason);
	error_remedy(err, "see the daemon's log");
	return r;
}

/* The status of the answer; a status that the stage does not expect is an error. */
static int ask(const struct daemon_cell *cell, enum daemon_stage stage, struct brig_error *err)
{
	const struct daemon_stage_info *info = &daemon_stages[stage];
	_cleanup_(daemon_call_done)
	struct daemon_call call = DAEMON_CALL_NONE;
	_cleanup_(buf_done)
	struct buf path = { 0 };
	struct daemon_request request;

	daemon_request(cell, stage, &path, &request);
	if (path.failed) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for a request");
	}
	int r = daemon_ask(&call, cell->socket, &request, clock_now_ns() + info->most_ns, err);
	if (r < 0) {
		return r;
	}
	unsigned status = daemon_call_status(&call);
	return status == info->good[0] || (info->good[1] && status == info->good[1])
		       ? (int)status
		       : refused(cell, &call, info->name, err);
}

static int import(struct daemon_cell *cell, struct brig_error *err)
{
	int r = daemon_find(cell->kind, cell->settings, cell->socket, err);

	r = r < 0 ? r : ask(cell, DAEMON_IMAGE, err);
	if (r < 0 || r == 200) {
		return r < 0 ? r : 1;
	}
	r = ask(cell, DAEMON_IMPORT, err);
	return r < 0 ? r : 0;
}

static int build(struct daemon_cell *cell, const struct spec *spec, struct buf *tar,
		 struct brig_error *err)
{
	if (cell->settings && cell->settings->image) {
		int r = error_set(err, BRIG_E_INPUT, EINVAL,
				  "the policy has an image of its own: %s", cell->settings->image);
		error_remedy(err, "remove %s.image from the policy, or use that image",
			     cell->kind->provider->name);
		return r;
	}
	int r = plan_make(spec, &cell->plan, err);
	r = r < 0 ? r : daemon_own_image(cell, err);
	if (r < 0 || !tar) {
		return r < 0 ? r : import(cell, err);
	}
	*tar = cell->image;
	cell->image = (struct buf){ 0 };
	return 0;
}

int daemon_base_image(const struct daemon_kind *kind, const struct spec *spec, struct buf *tar,
		      char name[PROVIDER_SETTING_MAX], struct brig_error *err)
{
	struct daemon_cell cell = { .kind = kind,
				    .settings = kind->settings(spec),
				    .api = DAEMON_API_MINOR };
	int r = build(&cell, spec, tar, err);

	snprintf(name, PROVIDER_SETTING_MAX, "%s", cell.image_name);
	plan_done(&cell.plan);
	buf_done(&cell.image);
	return r;
}
