/* SPDX-License-Identifier: Apache-2.0 */
/* The provider `docker`: see provider.h and daemon.h. */
#include "daemon/daemon.h"

static const struct daemon_settings *settings(const struct spec *spec)
{
	return spec->docker;
}

const struct daemon_kind docker_kind = {
	.provider = &docker_provider,
	.title = "Docker",
	.variable = "DOCKER_HOST",
	.sockets = { "/run/docker.sock", "/var/run/docker.sock" },
	.image_prefix = "",
	.start = "start docker",
	.tmpfs_details = true,
	.settings = settings,
};

static bool setting(const struct spec *spec, char ret[PROVIDER_SETTING_MAX])
{
	return daemon_setting(&docker_kind, spec, ret);
}

static void probe_for(const struct probe_report *host, uint64_t deadline_ns,
		      const struct spec *spec, struct probe_finding *ret)
{
	(void)host;
	daemon_probe(&docker_kind, spec, deadline_ns, ret);
}

static void probe(const struct probe_report *host, uint64_t deadline_ns, struct probe_finding *ret)
{
	probe_for(host, deadline_ns, &(struct spec){ 0 }, ret);
}

static void explain(const struct spec *spec, bool json, struct buf *out)
{
	daemon_explain(&docker_kind, spec, json, out);
}

static int base_image(const struct spec *spec, struct buf *tar, char name[PROVIDER_SETTING_MAX],
		      struct brig_error *err)
{
	return daemon_base_image(&docker_kind, spec, tar, name, err);
}

static int open_cell(struct run *run, struct brig_error *err)
{
	return daemon_open(run, &docker_kind, err);
}

const struct provider docker_provider = {
	DAEMON_PROVIDER,
	.name = "docker",
	.about = "a container by the Docker daemon with brig's agent in it",
	.setting = setting,
	.probe = probe,
	.probe_for = probe_for,
	.explain = explain,
	.base_image = base_image,
	.open = open_cell,
};
