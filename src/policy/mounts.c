/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that the operator allows by name. Their paths are parsed strictly. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/files/path.h"
#include "base/id.h"
#include "policy/policy_reader.h"

#define MOUNTS_MAX 64

/* The keys of one mount, all of them required. */
enum { TEXT_NAME, TEXT_PATH, TEXT_MODE, TEXT_COUNT };
static const char *const text_names[TEXT_COUNT] = { "name", "path", "mode" };

static void mounts_free(struct policy *policy)
{
	for (size_t i = 0; i < policy->mounts_count; i++) {
		free(policy->mounts[i].path);
	}
	free(policy->mounts);
	policy->mounts = NULL;
	policy->mounts_count = 0;
}

/* Reads the keys of an item; unknown ones are errors, as everywhere. */
static int read_texts(struct policy_reader *reader, const char *path, json_t *item,
		      const char *texts[TEXT_COUNT])
{
	const char *key;
	json_t *value;
	int r = read_is_object(reader, path, item);

	if (r < 0) {
		return r;
	}
	json_object_foreach(item, key, value)
	{
		char below[POLICY_PATH_MAX];
		size_t i = 0;

		reader_path(below, path, key);
		while (i < TEXT_COUNT && strcmp(text_names[i], key) != 0) {
			i++;
		}
		if (i == TEXT_COUNT) {
			reader_unknown(reader, below, "key", key, text_names, TEXT_COUNT);
			return -EINVAL;
		}
		r = read_string(reader, below, value, &texts[i]);
		if (r < 0) {
			return r;
		}
	}
	for (size_t i = 0; i < TEXT_COUNT; i++) {
		if (!texts[i]) {
			json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err,
				       "\"%s\" is missing", text_names[i]);
			return -EINVAL;
		}
	}
	return 0;
}

const char *policy_path_fault(const char *path)
{
	const char *why = NULL;

	if (*path != '/') {
		return "must be absolute";
	}
	if (path[1] == '\0') {
		return "must not be the whole host";
	}
	if (strpbrk(path, "*?[")) {
		return "must be one directory, not a pattern";
	}
	return path_is_beneath(path + 1, &why) ? NULL : why;
}

static int check_texts(struct policy_reader *reader, const char *path,
		       const char *const texts[TEXT_COUNT])
{
	char below[POLICY_PATH_MAX];
	const char *why = policy_path_fault(texts[TEXT_PATH]);

	if (!id_name_valid(texts[TEXT_NAME])) {
		reader_path(below, path, "name");
		return json_doc_error(
			reader->doc, below, BRIG_E_POLICY, reader->err,
			"\"%.64s\" is not a valid name: use letters, digits, '.', '_' and '-', "
			"at most 64, no '.' or '-' first",
			texts[TEXT_NAME]);
	}
	if (why) {
		reader_path(below, path, "path");
		json_doc_error(reader->doc, below, BRIG_E_POLICY, reader->err, "\"%.128s\": %s",
			       texts[TEXT_PATH], why);
		error_remedy(reader->err, "write the full path of one directory, without links");
		return -EINVAL;
	}
	if (strcmp(texts[TEXT_MODE], "ro") != 0 && strcmp(texts[TEXT_MODE], "rw") != 0) {
		static const char *const modes[] = { "ro", "rw" };

		reader_path(below, path, "mode");
		return reader_unknown(reader, below, "value", texts[TEXT_MODE], modes,
				      ARRAY_SIZE(modes));
	}
	for (size_t i = 0; i < reader->policy->mounts_count; i++) {
		if (strcmp(reader->policy->mounts[i].name, texts[TEXT_NAME]) == 0) {
			reader_path(below, path, "name");
			return json_doc_error(reader->doc, below, BRIG_E_POLICY, reader->err,
					      "\"%s\" is listed twice", texts[TEXT_NAME]);
		}
	}
	return 0;
}

static int read_mount(struct policy_reader *reader, const char *path, json_t *value,
		      struct policy_mount *ret)
{
	const char *texts[TEXT_COUNT] = { NULL };
	int r = read_texts(reader, path, value, texts);

	if (r < 0) {
		return r;
	}
	r = check_texts(reader, path, texts);
	if (r < 0) {
		return r;
	}
	snprintf(ret->name, sizeof(ret->name), "%s", texts[TEXT_NAME]);
	ret->writable = strcmp(texts[TEXT_MODE], "rw") == 0;
	ret->path = strdup(texts[TEXT_PATH]);
	return ret->path ? 0 : error_errno(reader->err, BRIG_E_SYSTEM, ENOMEM, "%s", path);
}

int read_mounts(struct policy_reader *reader, const char *path, json_t *value)
{
	struct policy *policy = reader->policy;
	int r = read_array(reader, path, value, MOUNTS_MAX);

	if (r < 0) {
		return r;
	}
	mounts_free(policy);
	policy->mounts = calloc(json_array_size(value) + 1, sizeof(*policy->mounts));
	if (!policy->mounts) {
		return error_errno(reader->err, BRIG_E_SYSTEM, ENOMEM, "%s", path);
	}
	for (size_t i = 0; i < json_array_size(value); i++) {
		char below[POLICY_PATH_MAX];

		snprintf(below, sizeof(below), "%s[%zu]", path, i);
		r = read_mount(reader, below, json_array_get(value, i), &policy->mounts[i]);
		if (r < 0) {
			return r;
		}
		policy->mounts_count++;
	}
	return 0;
}
