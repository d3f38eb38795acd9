/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a container's start, and its bundle, for `brig explain`. */
#include <jansson.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "oci/oci.h"

/* The layers that a kernel of the runtime's own makes: no step of the holder does. */
#define LAYERS_EMULATED (LAYER_BIT(LAYER_OVERLAY) | LAYER_BIT(LAYER_TIMENS))

static const struct held_step steps[] = {
	{ "warden", "cgroup", "", "limits of all processes together", LAYERS_CGROUP },
	{ "warden", "clone", "user pid mount", "the holder: everything dies with it", 0 },
	{ "holder", "keyring", "", "an empty session keyring", LAYER_BIT(LAYER_KEYRING) },
	{ "holder", "overlay", "", "a private view of shared files", LAYER_BIT(LAYER_OVERLAY) },
	{ "holder", "root", "", "the host's directories, read-only, and brig's own", 0 },
	{ "holder", "work", "/sandbox /tmp /dev/shm", "one tmpfs with the limit of the disk", 0 },
	{ "holder", "time", "", "clocks since boot start near zero", LAYER_BIT(LAYER_TIMENS) },
	{ "holder", "runtime", "COMMAND", "builds the container from the bundle", 0 },
	{ "agent", "assign", "", "arguments, variables, input files over one stream", 0 },
	{ "program", "rlimit", "", "the limits of each process", 0 },
	{ "program", "landlock", "", "a second wall around files", LAYER_BIT(LAYER_LANDLOCK) },
	{ "program", "seccomp", "", "the policy's system calls", LAYER_BIT(LAYER_SECCOMP) },
	{ "agent", "listener", "", "brig records refused and watched calls",
	  LAYER_BIT(LAYER_NOTIFY) },
	{ "program", "exec", "", "the program begins", 0 },
};

/* For people: indented. */
static void print_bundle(const char *text, struct buf *out)
{
	json_t *value = json_loads(text, 0, NULL);
	_cleanup_free_ char *indented = value ? json_dumps(value, JSON_INDENT(2)) : NULL;

	buf_addf(out, "\nThe bundle:\n%s\n", indented ? indented : text);
	json_decref(value);
}

/* The command of the runtime. */
static void put_command(const char *path, const struct oci_runtime *runtime, const char *option,
			struct buf *out)
{
	_cleanup_(strlist_done)
	struct strlist words = { 0 };

	out->failed |= oci_list_arguments(path, runtime, option, "ID", &words) < 0;
	for (size_t i = 0; i < words.count; i++) {
		buf_addf(out, "%s%s", i ? " " : "", words.items[i]);
	}
}

void oci_explain(const struct oci_family *family, const struct oci_settings *settings,
		 const struct spec *spec, bool json, struct buf *out)
{
	_cleanup_(buf_done)
	struct buf bundle = { 0 };
	_cleanup_(buf_done)
	struct buf command = { 0 };
	_cleanup_(plan_done)
	struct plan plan = { 0 };
	const struct oci_runtime *runtime = &family->runtimes[0];
	char path[HELD_PATH_MAX] = "";
	struct brig_error err = { 0 };
	struct json_out writer = { .buf = out };
	struct spec shown = *spec;

	shown.layers &= family->kind->emulated ? ~LAYERS_EMULATED : ~0u;
	(void)oci_runtime_find(family, settings->runtime, &runtime, path, &err);
	put_command(path[0] ? path : runtime->name, runtime, settings->option, &command);
	if (plan_make(spec, &plan, &err) < 0) {
		out->failed = true;
		return;
	}
	bundle_write(spec, &plan, family, runtime, &bundle);
	out->failed |= bundle.failed || command.failed;
	if (bundle.failed || command.failed) {
		return;
	}
	if (!json) {
		held_print_steps(steps, ARRAY_SIZE(steps), &shown, NULL, out);
		buf_addf(out, "\nThe runtime: %s\n", path[0] ? path : err.message);
		buf_addf(out, "The command: %s\n", command.data);
		print_bundle(bundle.data, out);
		return;
	}
	json_open(&writer, NULL, '{');
	held_print_steps(steps, ARRAY_SIZE(steps), &shown, &writer, out);
	json_text(&writer, "runtime", path[0] ? path : NULL);
	json_text(&writer, "command", command.data);
	json_raw(&writer, "bundle", bundle.data);
	json_close(&writer, '}');
}
