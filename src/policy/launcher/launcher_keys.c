/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a launcher's file; docs/providers.md explains them. */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "policy/launcher/launcher.h"
#include "policy/tool_keys.h"

static int read_description(struct policy_reader *reader, const char *path, json_t *value)
{
	return tool_text(reader, path, value, &reader->policy->launcher.description);
}

static int read_tried(struct policy_reader *reader, const char *path, json_t *value)
{
	return tool_text(reader, path, value, &reader->policy->launcher.tried);
}

static int read_package(struct policy_reader *reader, const char *path, json_t *value)
{
	return tool_package(reader, path, value, &reader->policy->launcher.package);
}

static int read_program(struct policy_reader *reader, const char *path, json_t *value)
{
	return tool_program(reader, path, value, &reader->policy->launcher.program);
}

static int check_layer(struct policy_reader *reader, const char *path, const char *item)
{
	const char *names[LAYER_COUNT];
	size_t count = 0;
	int layer = layer_by_name(item);

	if (layer >= 0 && (LAUNCHER_LAYERS & LAYER_BIT(layer))) {
		return 0;
	}
	if (layer >= 0) {
		return tool_wrong(reader, path, "not a layer of launchers",
				  "leave it out: brig adds it itself, or could not check it");
	}
	for (int i = 0; i < LAYER_COUNT; i++) {
		if (LAUNCHER_LAYERS & LAYER_BIT(i)) {
			names[count++] = layer_table[i].name;
		}
	}
	return reader_unknown(reader, path, "layer", item, names, count);
}

static int read_layers(struct policy_reader *reader, const char *path, json_t *value)
{
	_cleanup_(strlist_done)
	struct strlist names = { 0 };
	layer_set *layers = &reader->policy->launcher.layers;
	int r = read_strings(reader, path, value, check_layer, &names);

	*layers = 0;
	for (size_t i = 0; r == 0 && i < names.count; i++) {
		*layers |= LAYER_BIT(layer_by_name(names.items[i]));
	}
	if (r == 0 && (*layers & LAUNCHER_LEAST) != LAUNCHER_LEAST) {
		return tool_wrong(
			reader, path, "not enough for walls",
			"a launcher has userns, pidns, mntns, netns, rootfs and caps at least");
	}
	return r;
}

static int read_arguments(struct policy_reader *reader, const char *path, json_t *value)
{
	struct strlist *arguments = &reader->policy->launcher.arguments;
	int r = tool_arguments(reader, path, value, &launcher_words, arguments);

	if (r < 0) {
		return r;
	}
	if (!words_have(&launcher_words, arguments, LAUNCHER_AGENT)) {
		return tool_wrong(reader, path, "{agent} is missing",
				  "name {agent} as the program that the launcher starts");
	}
	if (!words_have(&launcher_words, arguments, LAUNCHER_ROOT)) {
		return tool_wrong(reader, path, "{root} is missing",
				  "name {root} as the directory that becomes the root");
	}
	return 0;
}

static int read_probe_arguments(struct policy_reader *reader, const char *path, json_t *value)
{
	return tool_arguments(reader, path, value, &launcher_words,
			      &reader->policy->launcher.probe);
}

static int read_probe_status(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_quantity(reader, path, value, UNIT_COUNT, 0, 255,
			     &reader->policy->launcher.probe_status);
}

static int read_probe(struct policy_reader *reader, const char *path, json_t *value)
{
	static const struct reader_key keys[] = {
		{ "arguments", read_probe_arguments },
		{ "status", read_probe_status },
	};

	return read_object(reader, path, value, keys, ARRAY_SIZE(keys));
}

static const struct reader_key keys[] = {
	{ "description", read_description },
	{ "program", read_program },
	{ "package", read_package },
	{ "tried", read_tried },
	{ "probe", read_probe },
	{ "layers", read_layers },
	{ "arguments", read_arguments },
};

static const char *const required[] = { "program", "layers", "arguments" };

void launcher_done(struct launcher *launcher)
{
	free(launcher->description);
	free(launcher->program);
	free(launcher->package);
	free(launcher->tried);
	strlist_done(&launcher->arguments);
	strlist_done(&launcher->probe);
	*launcher = (struct launcher){ 0 };
}

int launcher_parse(const char *name, const char *place, const char *text, size_t size,
		   struct launcher *ret, struct brig_error *err)
{
	_cleanup_(json_doc_done)
	struct json_doc doc = { 0 };
	struct policy scratch = { 0 };
	struct policy_reader reader = { &doc, &scratch, err };
	int r = json_doc_load(&doc, place, text, size, err);

	r = r < 0 ? r : read_object(&reader, "", doc.root, keys, ARRAY_SIZE(keys));
	r = r < 0 ? r : tool_required(&reader, required, ARRAY_SIZE(required));
	if (r < 0) {
		launcher_done(&scratch.launcher);
		return r;
	}
	(void)snprintf(scratch.launcher.name, sizeof(scratch.launcher.name), "%s", name);
	launcher_done(ret);
	*ret = scratch.launcher;
	return 0;
}
