/* SPDX-License-Identifier: Apache-2.0 */
/* Images of daemons: see base_image.h. */
#include "lib/prepare/base_image.h"

#include <errno.h>

#include "base/cleanup.h"
#include "lib/prepare/prepare.h"

static int no_images(const struct provider *provider, struct brig_error *err)
{
	int r = error_set(err, BRIG_E_INPUT, EINVAL, "the provider %s has no images",
			  provider->name);

	error_remedy(err, "name a policy with the provider docker or podman: --policy NAME");
	return r;
}

static int build(const struct base_images *wanted, const struct spec *spec, struct brig_error *err)
{
	_cleanup_(buf_done)
	struct buf tar = { 0 };
	char name[PROVIDER_SETTING_MAX] = "";

	if (!spec->provider->base_image) {
		return no_images(spec->provider, err);
	}
	int r = spec->provider->base_image(spec, wanted->take_tar ? &tar : NULL, name, err);
	bool made = r == 0;
	if (r >= 0 && wanted->take_tar) {
		r = wanted->take_tar(wanted->user, name, &tar, err);
	}
	if (r >= 0) {
		wanted->take_name(wanted->user, name, made);
	}
	return r < 0 ? r : 0;
}

static int build_for(struct brig_context *context, const struct base_images *wanted,
		     enum purpose purpose, bool *ret_compiles, struct brig_error *err)
{
	const struct brig_request request = {
		.size = sizeof(request),
		.policy = wanted->policy,
		.provider = wanted->provider,
		.language = wanted->language,
		.code = "0",
	};
	struct prepared p = { .ids = -1, .workdir_fd = -1 };

	p.spec.devices = p.spec.gate = -1;
	int r = prepare(context, &request, purpose, &p, err);
	*ret_compiles = r == 0 && p.runtime->compile.count > 0;
	r = r < 0 ? r : build(wanted, &p.spec, err);
	prepared_done(&p);
	return r;
}

int build_base_images(struct brig_context *context, const struct base_images *wanted,
		      struct brig_error *err)
{
	bool compiles = false;
	int r = build_for(context, wanted, PURPOSE_RUN, &compiles, err);

	return r < 0 || !compiles ? r : build_for(context, wanted, PURPOSE_COMPILE, &compiles, err);
}
