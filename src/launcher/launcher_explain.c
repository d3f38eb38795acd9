/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a start, and the launcher's command line, for `brig explain`. */
#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "launcher/launcher_provider.h"

static const struct held_step steps[] = {
	{ "warden", "cgroup", "", "limits of all processes together", LAYERS_CGROUP },
	{ "warden", "clone", "user pid mount", "the holder: everything dies with it", 0 },
	{ "holder", "keyring", "", "an empty session keyring", LAYER_BIT(LAYER_KEYRING) },
	{ "holder", "overlay", "", "a private view of shared files", LAYER_BIT(LAYER_OVERLAY) },
	{ "holder", "root", "", "the host's directories, read-only, and brig's own", 0 },
	{ "holder", "work", "/sandbox /tmp /dev/shm", "one tmpfs with the limit of the disk", 0 },
	{ "holder", "whole", "/" HOLDER_ROOT, "the root of the cell, with all mounts", 0 },
	{ "holder", "time", "", "clocks since boot start near zero", LAYER_BIT(LAYER_TIMENS) },
	{ "holder", "launcher", "COMMAND", "makes the namespaces, and enters the root", 0 },
	{ "holder", "proc", "/proc", "processes only, above the launcher's own", 0 },
	{ "warden", "check", "", "each layer of the launcher, from outside", 0 },
	{ "agent", "assign", "", "arguments, variables, input files over one stream", 0 },
	{ "program", "rlimit", "", "the limits of each process", 0 },
	{ "program", "landlock", "", "a second wall around files", LAYER_BIT(LAYER_LANDLOCK) },
	{ "program", "seccomp", "", "the policy's system calls", LAYER_BIT(LAYER_SECCOMP) },
	{ "agent", "listener", "", "brig records refused and watched calls",
	  LAYER_BIT(LAYER_NOTIFY) },
	{ "program", "exec", "", "the program begins", 0 },
};

void launcher_explain(const struct spec *spec, bool json, struct buf *out)
{
	const struct launcher *launcher = spec->launcher;
	_cleanup_(strlist_done)
	struct strlist command = { 0 };
	char path[HELD_PATH_MAX] = "";
	struct brig_error err = { 0 };
	struct json_out writer = { .buf = out };

	(void)launcher_command(launcher, path, &command, &err);
	if (!json) {
		held_print_steps(steps, ARRAY_SIZE(steps), spec, NULL, out);
		buf_addf(out, "\nThe launcher: %s (%s%s)\n", launcher->name,
			 launcher->tried ? "tried with " : "not run by brig's tests",
			 launcher->tried ? launcher->tried : "");
		buf_addf(out, "The command: %s", command.count ? "" : err.message);
		for (size_t i = 0; i < command.count; i++) {
			buf_addf(out, "%s%s", i ? " " : "", command.items[i]);
		}
		buf_addc(out, '\n');
		return;
	}
	json_open(&writer, NULL, '{');
	held_print_steps(steps, ARRAY_SIZE(steps), spec, &writer, out);
	json_text(&writer, "launcher", launcher->name);
	json_text(&writer, "tried", launcher->tried);
	json_open(&writer, "command", '[');
	for (size_t i = 0; i < command.count; i++) {
		json_text(&writer, NULL, command.items[i]);
	}
	json_close(&writer, ']');
	json_close(&writer, '}');
}
