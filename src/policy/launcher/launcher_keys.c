/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a launcher's file; docs/providers.md explains them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "policy/launcher/launcher.h"
#include "policy/policy_reader.h"

#define TEXT_MAX      500
#define ARGUMENT_MAX  1024
#define ARGUMENTS_MAX 128

static int wrong(struct policy_reader *reader, const char *path, const char *what,
		 const char *remedy)
{
	json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err, "%s", what);
	error_remedy(reader->err, "%s", remedy);
	return -EINVAL;
}

static int read_text(struct policy_reader *reader, const char *path, json_t *value, char **ret)
{
	const char *text;
	int r = read_string(reader, path, value, &text);

	if (r < 0) {
		return r;
	}
	if (!text[0] || strlen(text) > TEXT_MAX) {
		return wrong(reader, path, "empty, or longer than 500 bytes", "write a short text");
	}
	char *copy = strdup(text);
	if (!copy) {
		return error_errno(reader->err, BRIG_E_SYSTEM, ENOMEM, "%s", path);
	}
	free(*ret);
	*ret = copy;
	return 0;
}

static int read_description(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_text(reader, path, value, &reader->policy->launcher.description);
}

static int read_tried(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_text(reader, path, value, &reader->policy->launcher.tried);
}

static int read_package(struct policy_reader *reader, const char *path, json_t *value)
{
	int r = read_text(reader, path, value, &reader->policy->launcher.package);

	if (r == 0 && !id_name_valid(reader->policy->launcher.package)) {
		return wrong(reader, path, "not the name of a package",
			     "use letters, digits, '.', '_' and '-'");
	}
	return r;
}

static int read_program(struct policy_reader *reader, const char *path, json_t *value)
{
	int r = read_text(reader, path, value, &reader->policy->launcher.program);
	const char *program = reader->policy->launcher.program;

	if (r < 0) {
		return r;
	}
	if (id_name_valid(program) || (program[0] == '/' && !strstr(program, "/../"))) {
		return 0;
	}
	return wrong(reader, path, "not the name of a program, and no absolute path",
		     "write its name, as in PATH, or its whole path");
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
		return wrong(reader, path, "not a layer of launchers",
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
		return wrong(
			reader, path, "not enough for walls",
			"a launcher has userns, pidns, mntns, netns, rootfs and caps at least");
	}
	return r;
}

static int check_argument(struct policy_reader *reader, const char *path, const char *item)
{
	char why[128];

	if (strlen(item) > ARGUMENT_MAX) {
		return wrong(reader, path, "longer than 1024 bytes", "write a shorter argument");
	}
	if (launcher_check_argument(item, why, sizeof(why)) < 0) {
		return wrong(reader, path, why,
			     "the words are {root}, {agent}, {uid}, {gid} and {hostname}");
	}
	return 0;
}

/* In contrast to read_strings(), with repeated ones. */
static int read_list(struct policy_reader *reader, const char *path, json_t *value,
		     struct strlist *ret)
{
	int r = read_array(reader, path, value, ARGUMENTS_MAX);

	strlist_done(ret);
	for (size_t i = 0; r == 0 && i < json_array_size(value); i++) {
		char below[POLICY_PATH_MAX];
		const char *text = NULL;
		snprintf(below, sizeof(below), "%s[%zu]", path, i);
		r = read_string(reader, below, json_array_get(value, i), &text);
		r = r < 0 ? r : check_argument(reader, below, text);
		if (r == 0 && strlist_add(ret, text) < 0) {
			r = error_errno(reader->err, BRIG_E_SYSTEM, ENOMEM, "%s", path);
		}
	}
	return r;
}

static bool has_word(const struct strlist *arguments, enum launcher_word wanted)
{
	for (size_t i = 0; i < arguments->count; i++) {
		for (const char *at = arguments->items[i]; *at; at++) {
			size_t length;
			if (launcher_word_at(at, &length) == (int)wanted) {
				return true;
			}
		}
	}
	return false;
}

static int read_arguments(struct policy_reader *reader, const char *path, json_t *value)
{
	struct strlist *arguments = &reader->policy->launcher.arguments;
	int r = read_list(reader, path, value, arguments);

	if (r < 0) {
		return r;
	}
	if (!has_word(arguments, LAUNCHER_AGENT)) {
		return wrong(reader, path, "{agent} is missing",
			     "name {agent} as the program that the launcher starts");
	}
	if (!has_word(arguments, LAUNCHER_ROOT)) {
		return wrong(reader, path, "{root} is missing",
			     "name {root} as the directory that becomes the root");
	}
	return 0;
}

static int read_probe_arguments(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_list(reader, path, value, &reader->policy->launcher.probe);
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

static int check_whole(struct policy_reader *reader)
{
	static const char *const required[] = { "program", "layers", "arguments" };

	for (size_t i = 0; i < ARRAY_SIZE(required); i++) {
		if (!json_object_get(reader->doc->root, required[i])) {
			json_doc_error(reader->doc, "", BRIG_E_POLICY, reader->err,
				       "the key %s is missing", required[i]);
			error_remedy(reader->err, "add it: see docs/providers.md");
			return -EINVAL;
		}
	}
	return 0;
}

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
	r = r < 0 ? r : check_whole(&reader);
	if (r < 0) {
		launcher_done(&scratch.launcher);
		return r;
	}
	(void)snprintf(scratch.launcher.name, sizeof(scratch.launcher.name), "%s", name);
	launcher_done(ret);
	*ret = scratch.launcher;
	return 0;
}
