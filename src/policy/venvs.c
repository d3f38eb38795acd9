/* SPDX-License-Identifier: Apache-2.0 */
/* Virtualenvs that the operator allows by name, and the one that Python has by default. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "policy/policy_reader.h"

#define VENVS_MAX 64

void policy_venvs_done(struct policy *policy)
{
	for (size_t i = 0; i < policy->venvs_count; i++) {
		free(policy->venvs[i].path);
	}
	free(policy->venvs);
	free(policy->venv);
	policy->venvs = NULL;
	policy->venvs_count = 0;
	policy->venv = NULL;
}

const char *policy_venv_path(const struct policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->venvs_count; i++) {
		if (strcmp(policy->venvs[i].name, name) == 0) {
			return policy->venvs[i].path;
		}
	}
	return NULL;
}

static int check_place(struct policy_reader *reader, const char *path, const char *place)
{
	const char *why = policy_path_fault(place);

	if (!why) {
		return 0;
	}
	json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err, "\"%.128s\": %s", place, why);
	error_remedy(reader->err, "write the full path of one virtualenv");
	return -EINVAL;
}

static int check_name(struct policy_reader *reader, const char *path, const char *name)
{
	if (id_name_valid(name)) {
		return 0;
	}
	return json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err,
			      "\"%.64s\" is not a valid name: use letters, digits, '.', '_' and "
			      "'-', at most 64, no '.' or '-' first",
			      name);
}

/* A name that the policy has already is replaced: objects are merged key by key. */
static struct policy_venv *find_or_add(struct policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->venvs_count; i++) {
		if (strcmp(policy->venvs[i].name, name) == 0) {
			return &policy->venvs[i];
		}
	}
	struct policy_venv *list =
		reallocarray(policy->venvs, policy->venvs_count + 1, sizeof(*list));
	if (!list) {
		return NULL;
	}
	policy->venvs = list;
	list += policy->venvs_count++;
	*list = (struct policy_venv){ 0 };
	snprintf(list->name, sizeof(list->name), "%s", name);
	return list;
}

static int read_one(struct policy_reader *reader, const char *path, const char *name, json_t *value)
{
	const char *place;
	int r = check_name(reader, path, name);

	r = r < 0 ? r : read_string(reader, path, value, &place);
	r = r < 0 ? r : check_place(reader, path, place);
	if (r < 0) {
		return r;
	}
	char *copy = strdup(place);
	struct policy_venv *venv = copy ? find_or_add(reader->policy, name) : NULL;
	if (!venv) {
		free(copy);
		return error_errno(reader->err, BRIG_E_SYSTEM, ENOMEM, "%s", path);
	}
	free(venv->path);
	venv->path = copy;
	return 0;
}

int read_venvs(struct policy_reader *reader, const char *path, json_t *value)
{
	int r = read_is_object(reader, path, value);
	const char *name;
	json_t *item;

	if (r < 0) {
		return r;
	}
	json_object_foreach(value, name, item)
	{
		char below[POLICY_PATH_MAX];

		reader_path(below, path, name);
		r = read_one(reader, below, name, item);
		if (r < 0) {
			return r;
		}
		if (reader->policy->venvs_count > VENVS_MAX) {
			return json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err,
					      "more than %d virtualenvs", VENVS_MAX);
		}
	}
	return 0;
}

/* "": none, for a policy that extends one with a virtualenv. */
int read_venv(struct policy_reader *reader, const char *path, json_t *value)
{
	const char *text;
	int r = read_string(reader, path, value, &text);

	if (r < 0) {
		return r;
	}
	if (text[0]) {
		r = text[0] == '/' ? check_place(reader, path, text)
				   : check_name(reader, path, text);
	}
	if (r < 0) {
		return r;
	}
	char *copy = text[0] ? strdup(text) : NULL;
	if (text[0] && !copy) {
		return error_errno(reader->err, BRIG_E_SYSTEM, ENOMEM, "%s", path);
	}
	free(reader->policy->venv);
	reader->policy->venv = copy;
	return 0;
}

/* A name has to be one of "venvs". */
int policy_check_venv(struct policy_reader *reader)
{
	const char *venv = reader->policy->venv;

	if (!venv || venv[0] == '/' || policy_venv_path(reader->policy, venv)) {
		return 0;
	}
	json_doc_error(reader->doc, "venv", BRIG_E_POLICY, reader->err,
		       "\"%.64s\" is not in \"venvs\"", venv);
	error_remedy(reader->err, "list it there with its path, or write the path itself");
	return -EINVAL;
}
