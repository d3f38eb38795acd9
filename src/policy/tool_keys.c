/* SPDX-License-Identifier: Apache-2.0 */
/* Data files of tools: see tool_keys.h. docs/providers.md explains the keys. */
#include "policy/tool_keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/embedded.h"
#include "base/id.h"

#define TEXT_MAX      500
#define ARGUMENT_MAX  1024
#define ARGUMENTS_MAX 128
#define JSON          ".json"

/* --- files ------------------------------------------------------------------------------------ */

int tool_file_find(const struct policy_source *source, const char *folder, const char *name,
		   struct policy_text *ret, struct brig_error *err)
{
	char file[128];
	int r = 0;

	if (!id_name_valid(name)) {
		return 0;
	}
	(void)snprintf(file, sizeof(file), "%s/%s" JSON, folder, name);
	if (source && source->config_dir) {
		r = policy_text_configured(source, file, ret, err);
	}
	return r != 0 ? r : policy_text_built_in(file, ret, err);
}

int tool_file_names(const char *folder, struct strlist *ret)
{
	size_t before = strlen(folder) + 1;
	int r = 0;

	for (size_t i = 0; r == 0 && i < embedded_files_count; i++) {
		const char *path = embedded_files[i].path;
		if (strncmp(path, folder, before - 1) == 0 && path[before - 1] == '/') {
			size_t length = strlen(path) - before - strlen(JSON);
			r = strlist_addf(ret, "%.*s", (int)length, path + before);
		}
	}
	return r;
}

/* --- keys ------------------------------------------------------------------------------------- */

int tool_wrong(struct policy_reader *reader, const char *path, const char *what, const char *remedy)
{
	json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err, "%s", what);
	error_remedy(reader->err, "%s", remedy);
	return -EINVAL;
}

int tool_text(struct policy_reader *reader, const char *path, json_t *value, char **ret)
{
	const char *text;
	int r = read_string(reader, path, value, &text);

	if (r < 0) {
		return r;
	}
	if (!text[0] || strlen(text) > TEXT_MAX) {
		return tool_wrong(reader, path, "empty, or longer than 500 bytes",
				  "write a short text");
	}
	char *copy = strdup(text);
	if (!copy) {
		return error_errno(reader->err, BRIG_E_SYSTEM, ENOMEM, "%s", path);
	}
	free(*ret);
	*ret = copy;
	return 0;
}

int tool_package(struct policy_reader *reader, const char *path, json_t *value, char **ret)
{
	int r = tool_text(reader, path, value, ret);

	if (r == 0 && !id_name_valid(*ret)) {
		return tool_wrong(reader, path, "not the name of a package",
				  "use letters, digits, '.', '_' and '-'");
	}
	return r;
}

int tool_program(struct policy_reader *reader, const char *path, json_t *value, char **ret)
{
	int r = tool_text(reader, path, value, ret);

	if (r < 0 || id_name_valid(*ret) || ((*ret)[0] == '/' && !strstr(*ret, "/../"))) {
		return r;
	}
	return tool_wrong(reader, path, "not the name of a program, and no absolute path",
			  "write its name, as in PATH, or its whole path");
}

static int put_names(const struct words *words, char *ret, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < words->count && used < size; i++) {
		used += (size_t)snprintf(ret + used, size - used, "%s{%s}",
					 i == 0                  ? "the words are "
					 : i == words->count - 1 ? " and "
								 : ", ",
					 words->list[i].name);
	}
	return used < size ? 0 : -E2BIG;
}

int tool_check_words(struct policy_reader *reader, const char *path, const struct words *words,
		     const char *text)
{
	char why[128], names[160] = "";

	if (strlen(text) > ARGUMENT_MAX) {
		return tool_wrong(reader, path, "longer than 1024 bytes", "write a shorter text");
	}
	if (words_check(words, text, why, sizeof(why)) < 0) {
		(void)put_names(words, names, sizeof(names));
		return tool_wrong(reader, path, why, names);
	}
	return 0;
}

int tool_arguments(struct policy_reader *reader, const char *path, json_t *value,
		   const struct words *words, struct strlist *ret)
{
	int r = read_array(reader, path, value, ARGUMENTS_MAX);

	strlist_done(ret);
	for (size_t i = 0; r == 0 && i < json_array_size(value); i++) {
		char below[POLICY_PATH_MAX];
		const char *text = NULL;
		snprintf(below, sizeof(below), "%s[%zu]", path, i);
		r = read_string(reader, below, json_array_get(value, i), &text);
		r = r < 0 ? r : tool_check_words(reader, below, words, text);
		if (r == 0 && strlist_add(ret, text) < 0) {
			r = error_errno(reader->err, BRIG_E_SYSTEM, ENOMEM, "%s", path);
		}
	}
	return r;
}

int tool_required(struct policy_reader *reader, const char *const *keys, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!json_object_get(reader->doc->root, keys[i])) {
			json_doc_error(reader->doc, "", BRIG_E_POLICY, reader->err,
				       "the key %s is missing", keys[i]);
			error_remedy(reader->err, "add it: see docs/providers.md");
			return -EINVAL;
		}
	}
	return 0;
}
