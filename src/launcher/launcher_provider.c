/* SPDX-License-Identifier: Apache-2.0 */
/* The provider: see provider.h and launcher_provider.h. */
#include "launcher/launcher_provider.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* The agent and the holder add these, whatever the launcher does. */
#define OWN_LAYERS                                                                                 \
	(LAYER_BIT(LAYER_UIDRANGE) | LAYER_BIT(LAYER_NNP) | LAYER_BIT(LAYER_SECCOMP) |             \
	 LAYER_BIT(LAYER_NOTIFY) | LAYER_BIT(LAYER_LANDLOCK) | LAYER_BIT(LAYER_TIMENS) |           \
	 LAYER_BIT(LAYER_OVERLAY) | LAYER_BIT(LAYER_KEYRING) | LAYER_BIT(LAYER_PROC) |             \
	 LAYERS_CGROUP)
#define PROGRAM_ID "1000"

static const struct held_kind launched = {
	.product = "cell",
	.step = "launcher",
	.other = "another launcher",
	.late = "see brig doctor; or name another launcher in the policy's launcher.name",
	.stays = true,
	.whole = true,
	.find_agent = launcher_find_agent,
	.check = launcher_check,
};

/* Without a launcher's name: as `brig providers` and the probe have it, the first built-in one. */
static layer_set usual_layers(void)
{
	_cleanup_(strlist_done)
	struct strlist names = { 0 };
	_cleanup_(launcher_done)
	struct launcher launcher = { 0 };
	struct brig_error unused = { 0 };

	if (launcher_names(&names) < 0 || names.count == 0 ||
	    launcher_built_in(names.items[0], &launcher, &unused) < 0) {
		return 0;
	}
	return launcher.layers;
}

static layer_set resolve(const struct cgroup_manager *groups, struct spec *spec)
{
	layer_set made = spec->launcher ? spec->launcher->layers : usual_layers();

	return held_resolve(groups, OWN_LAYERS | made, spec);
}

static int not_found(const struct launcher *launcher, struct brig_error *err)
{
	int r = error_set(err, BRIG_E_HOST, ENOENT,
			  "%.200s, the program of the launcher %s, is not on this host",
			  launcher->program, launcher->name);

	if (launcher->package) {
		error_remedy(err, "install it: apt-get install %s", launcher->package);
	} else {
		error_remedy(err, "install it, or name another launcher in the policy");
	}
	return r;
}

int launcher_command(const struct launcher *launcher, char path[HELD_PATH_MAX], struct strlist *ret,
		     struct brig_error *err)
{
	static const char *const values[LAUNCHER_WORDS] = {
		[LAUNCHER_ROOT] = ("/" HOLDER_ROOT), [LAUNCHER_AGENT] = ("/" HOLDER_AGENT),
		[LAUNCHER_UID] = PROGRAM_ID,         [LAUNCHER_GID] = PROGRAM_ID,
		[LAUNCHER_HOSTNAME] = "brig",
	};
	const char *program = launcher->program;
	bool found = program[0] == '/' ? strlen(program) < HELD_PATH_MAX && held_is_program(program)
				       : held_find_program(program, path);

	if (!found) {
		return not_found(launcher, err);
	}
	if (program[0] == '/') {
		snprintf(path, HELD_PATH_MAX, "%s", program);
	}
	int r = strlist_add(ret, path);
	r = r < 0 ? r : launcher_expand(launcher, values, ret);
	return r < 0 ? error_set(err, BRIG_E_SYSTEM, -r, "no memory for a cell") : 0;
}

static int open_cell(struct run *run, struct brig_error *err)
{
	const struct spec *spec = run->options.spec;
	const struct launcher *launcher = spec->launcher;
	int r = held_open(run, &launched, err);

	if (r < 0) {
		return r;
	}
	struct held_cell *held = held_of(run);
	held->tool = launcher->name;
	held->package = launcher->package ? launcher->package : launcher->program;
	/* One id: that of the program, which a launcher can map without any help. */
	if (spec->ranged) {
		held->outer++;
		held->outer_group++;
		held->ids = 1;
	}
	return launcher_command(launcher, held->path, &held->arguments, err);
}

static const char *means(enum layer layer)
{
	return held_means(layer, "the launcher");
}

static bool setting(const struct spec *spec, char ret[PROVIDER_SETTING_MAX])
{
	return provider_set(spec->launcher ? spec->launcher->name : NULL, ret);
}

const struct provider launcher_provider = {
	HELD_PROVIDER,
	.name = "launcher",
	.about = "a cell by a launcher that a data file describes (bubblewrap), with brig's agent",
	.abilities = ABILITY_BIT(ABILITY_WALLS) | ABILITY_BIT(ABILITY_OWN_ROOT) |
		     ABILITY_BIT(ABILITY_MOUNTS) | ABILITY_BIT(ABILITY_CALL_RULES) |
		     ABILITY_BIT(ABILITY_CALL_WATCH) | ABILITY_BIT(ABILITY_NETWORK) |
		     ABILITY_BIT(ABILITY_HOLD) | ABILITY_BIT(ABILITY_VALUE) |
		     ABILITY_BIT(ABILITY_SESSIONS) | ABILITY_BIT(ABILITY_VENV),
	.layers = LAYER_BIT(LAYER_COUNT) - 1,
	.own_processes = 3, /* holder, launcher and agent */
	.inner_processes = 1,
	.setting = setting,
	.setting_layers = LAUNCHER_LAYERS,
	.probe = launcher_probe,
	.probe_for = launcher_probe_for,
	.resolve = resolve,
	.means = means,
	.explain = launcher_explain,
	.open = open_cell,
};
