/* SPDX-License-Identifier: Apache-2.0 */
/* The provider `podman`: see provider.h and daemon.h. */
#include "daemon/daemon.h"

static const struct daemon_settings *settings(const struct spec *spec)
{
	return spec->podman;
}

const struct daemon_kind podman_kind = {
	.provider = &podman_provider,
	.title = "Podman",
	.variable = "CONTAINER_HOST",
	.sockets = { "/run/podman/podman.sock" },
	.own_socket = "podman/podman.sock",
	.image_prefix = "localhost/",
	.start = "start podman.socket",
	.names_ulimits = true,
	.covers = { "/run", "/var/tmp" },
	.settings = settings,
};

static bool setting(const struct spec *spec, char ret[PROVIDER_SETTING_MAX])
{
	return daemon_setting(&podman_kind, spec, ret);
}

static void probe_for(const struct probe_report *host, uint64_t deadline_ns,
		      const struct spec *spec, struct probe_finding *ret)
{
	(void)host;
	daemon_probe(&podman_kind, spec, deadline_ns, ret);
}

static void probe(const struct probe_report *host, uint64_t deadline_ns, struct probe_finding *ret)
{
	probe_for(host, deadline_ns, &(struct spec){ 0 }, ret);
}

static void explain(const struct spec *spec, bool json, struct buf *out)
{
	daemon_explain(&podman_kind, spec, json, out);
}

static int base_image(const struct spec *spec, struct buf *tar, char name[PROVIDER_SETTING_MAX],
		      struct brig_error *err)
{
	return daemon_base_image(&podman_kind, spec, tar, name, err);
}

static int open_cell(struct run *run, struct brig_error *err)
{
	return daemon_open(run, &podman_kind, err);
}

const struct provider podman_provider = {
	DAEMON_PROVIDER,
	.counts_inodes = true, /* its tmpfs has no such option */
	.name = "podman",
	.about = "a container by the Podman service with brig's agent in it",
	.setting = setting,
	.probe = probe,
	.probe_for = probe_for,
	.explain = explain,
	.base_image = base_image,
	.open = open_cell,
};
