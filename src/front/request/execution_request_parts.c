/* SPDX-License-Identifier: Apache-2.0 */
/* Lists in requests: args, out, network, env, files, and the program's input. */
#include "front/request/execution_request_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/files/path.h"
#include "http/http_limits.h"

#define ENV_NAME_MAX 128

static int no_memory(struct problem *problem)
{
	return problem_set(problem, PROBLEM_MEMORY_LOW, "no memory for the request");
}

static void name_of(char full[160], const char *where, const char *key)
{
	snprintf(full, 160, "%s%s%s", where, *where ? "." : "", key);
}

static int put_words(json_t *array, const char *where, const char *key, const char ***ret,
		     struct problem *problem)
{
	size_t count = json_array_size(array);
	char full[160];

	if (!array) {
		return 0;
	}
	name_of(full, where, key);
	free(*ret);
	*ret = calloc(count + 1, sizeof(**ret));
	if (!*ret) {
		return no_memory(problem);
	}
	for (size_t i = 0; i < count; i++) {
		json_t *item = json_array_get(array, i);
		if (!json_is_string(item)) {
			return field_wrong(problem, full, "strings in the array", item);
		}
		(*ret)[i] = json_string_value(item);
	}
	return 0;
}

static bool env_name(const char *name)
{
	size_t length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
				     "0123456789");

	return length > 0 && length <= ENV_NAME_MAX && name[length] == '\0' &&
	       !(name[0] >= '0' && name[0] <= '9');
}

static int put_env(struct execution_request *request, json_t *env, const char *where,
		   struct problem *problem)
{
	const char *name;
	json_t *value;
	char full[160];

	if (!env) {
		return 0;
	}
	strlist_done(&request->env);
	request->env = (struct strlist){ 0 };
	name_of(full, where, "env");
	json_object_foreach(env, name, value)
	{
		if (!env_name(name)) {
			return problem_set(problem, PROBLEM_INVALID_REQUEST,
					   "%s: %.64s is not a variable's name", full, name);
		}
		if (!json_is_string(value)) {
			return field_wrong(problem, full, "strings as values", value);
		}
		if (strlist_addf(&request->env, "%s=%s", name, json_string_value(value)) < 0) {
			return no_memory(problem);
		}
	}
	request->call.run.env = (const char *const *)request->env.items;
	return 0;
}

static int take_base64(struct execution_request *request, json_t *value, const char *where,
		       const void **ret, size_t *ret_size, struct problem *problem)
{
	const char *bytes;

	if (json_longs_find(request->longs, value, &bytes, ret_size)) {
		*ret = bytes;
		return 0;
	}
	struct execution_request_blob *blob = calloc(1, sizeof(*blob));
	if (!blob) {
		return no_memory(problem);
	}
	blob->next = request->blobs;
	request->blobs = blob;
	int r = field_base64(value, where, &blob->data, ret_size, problem);
	if (r < 0) {
		return r;
	}
	*ret = blob->data;
	return 0;
}

/* Names of devices on other systems, where results may be unpacked. */
static bool is_device(const char *part, size_t length)
{
	static const char *const names[] = { "con", "prn", "aux", "nul" };
	size_t stem = 0;

	while (stem < length && part[stem] != '.') {
		stem++;
	}
	if (stem == 4 && (strncasecmp(part, "com", 3) == 0 || strncasecmp(part, "lpt", 3) == 0)) {
		return part[3] >= '0' && part[3] <= '9';
	}
	for (size_t i = 0; stem == 3 && i < ARRAY_SIZE(names); i++) {
		if (strncasecmp(part, names[i], 3) == 0) {
			return true;
		}
	}
	return false;
}

/* Combining marks: with them one name can be written in two ways that look the same. */
static bool has_marks(const char *name)
{
	for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
		if ((c[0] == 0xcc && c[1] >= 0x80) ||
		    (c[0] == 0xcd && c[1] >= 0x80 && c[1] < 0xb0)) {
			return true;
		}
	}
	return false;
}

bool file_name_is_valid(const char *name, const char **why)
{
	if (!path_is_beneath(name, why)) {
		return false;
	}
	if (has_marks(name)) {
		*why = "it has combining marks: write it in normal form C";
		return false;
	}
	for (const char *part = name; part; part = strchr(part, '/')) {
		part += *part == '/';
		size_t length = strcspn(part, "/");

		*why = part[0] == '-'                 ? "a part starts with '-'"
		       : memchr(part, '\\', length)   ? "it has a backslash"
		       : length > 1 && part[1] == ':' ? "it names a drive"
		       : is_device(part, length)      ? "it names a device"
		       : part[length - 1] == ' '      ? "a part ends with a blank"
						      : NULL;
		if (*why) {
			return false;
		}
	}
	return true;
}

struct file_fields {
	const char *path;
	json_t *content, *base64;
	bool executable;
};

static int take_value(void *into, const struct field *field, json_t *value, const char *where,
		      struct problem *problem)
{
	(void)where;
	(void)problem;
	*(json_t **)(void *)((char *)into + field->offset) = value;
	return 0;
}

static int put_file(struct execution_request *request, json_t *item, const char *where,
		    struct brig_file_in *ret, struct problem *problem)
{
	static const struct field fields[] = {
		{ "path", field_text, offsetof(struct file_fields, path), 0, 1023 },
		{ "content", take_value, offsetof(struct file_fields, content), 0, 0 },
		{ "content_base64", take_value, offsetof(struct file_fields, base64), 0, 0 },
		{ "executable", field_flag, offsetof(struct file_fields, executable), 0, 0 },
	};
	struct file_fields file = { 0 };
	const char *why = NULL;
	char full[176];
	int r = fields_read(item, where, fields, ARRAY_SIZE(fields), &file, problem);

	if (r < 0) {
		return r;
	}
	if (!file.path || !file_name_is_valid(file.path, &why)) {
		problem_set(problem, PROBLEM_INVALID_REQUEST, "%s.path: %s", where,
			    file.path ? why : "is missing");
		problem_remedy(problem, "use a plain relative name such as data/in.csv");
		return -EINVAL;
	}
	if (!file.content == !file.base64) {
		return problem_set(problem, PROBLEM_INVALID_REQUEST,
				   "%s: wanted exactly one of content and content_base64", where);
	}
	ret->name = file.path;
	ret->executable = file.executable;
	if (file.base64) {
		snprintf(full, sizeof(full), "%s.content_base64", where);
		return take_base64(request, file.base64, full, &ret->data, &ret->size, problem);
	}
	const char *text = NULL;
	snprintf(full, sizeof(full), "%s.content", where);
	r = field_long(request->longs, file.content, full, 0, &text, &ret->size, problem);
	ret->data = text;
	return r;
}

static int put_files(struct execution_request *request, json_t *array, const char *where,
		     struct problem *problem)
{
	size_t count = json_array_size(array);
	char full[160];

	if (!array) {
		return 0;
	}
	free(request->files);
	request->files = calloc(count ? count : 1, sizeof(*request->files));
	if (!request->files) {
		return no_memory(problem);
	}
	for (size_t i = 0; i < count; i++) {
		snprintf(full, sizeof(full), "%.120s%sfiles[%zu]", where, *where ? "." : "", i);
		int r = put_file(request, json_array_get(array, i), full, &request->files[i],
				 problem);
		if (r < 0) {
			return r;
		}
		for (size_t j = 0; j < i; j++) {
			const char *other = request->files[j].name;
			if (other && strcmp(other, request->files[i].name) == 0) {
				return problem_set(problem, PROBLEM_INVALID_REQUEST,
						   "%s.path: the name is there twice", full);
			}
		}
	}
	request->call.run.files = request->files;
	request->call.run.files_count = count;
	return 0;
}

struct mount_fields {
	const char *name, *as;
	bool writable;
};

/* Directories of the host, by their names in the policy. */
static int put_mounts(struct execution_request *request, json_t *array, const char *where,
		      struct problem *problem)
{
	static const struct field fields[] = {
		{ "name", field_name, offsetof(struct mount_fields, name), 0, 64 },
		{ "as", field_name, offsetof(struct mount_fields, as), 0, 64 },
		{ "writable", field_flag, offsetof(struct mount_fields, writable), 0, 0 },
	};
	size_t count = json_array_size(array);
	char full[160];

	if (!array) {
		return 0;
	}
	free(request->mounts);
	request->mounts = calloc(count ? count : 1, sizeof(*request->mounts));
	if (!request->mounts) {
		return no_memory(problem);
	}
	for (size_t i = 0; i < count; i++) {
		struct mount_fields mount = { 0 };

		snprintf(full, sizeof(full), "%.120s%smounts[%zu]", where, *where ? "." : "", i);
		int r = fields_read(json_array_get(array, i), full, fields, ARRAY_SIZE(fields),
				    &mount, problem);
		if (r == 0 && !mount.name) {
			r = problem_set(problem, PROBLEM_INVALID_REQUEST, "%s.name: is missing",
					full);
		}
		if (r < 0) {
			return r;
		}
		request->mounts[i] = (struct brig_mount){ .path = mount.name,
							  .name = mount.as,
							  .writable = mount.writable };
	}
	request->call.run.mounts = request->mounts;
	request->call.run.mounts_count = count;
	return 0;
}

static int put_input(struct execution_request *request, const char *where, struct problem *problem)
{
	const struct execution_request_parts *parts = &request->parts;
	struct brig_request *run = &request->call.run;
	char full[160];

	if (parts->input) {
		const char *text = NULL;
		name_of(full, where, "stdin");
		int r = field_long(request->longs, parts->input, full, LIMIT_STDIN, &text,
				   &run->stdin_size, problem);
		run->stdin_data = text;
		return r;
	}
	if (!parts->input_base64) {
		return 0;
	}
	name_of(full, where, "stdin_base64");
	return take_base64(request, parts->input_base64, full, &run->stdin_data, &run->stdin_size,
			   problem);
}

static int put_lists(struct execution_request *request, const char *where, struct problem *problem)
{
	const struct execution_request_parts *parts = &request->parts;
	const struct {
		json_t *array;
		const char *key;
		const char ***list;
	} lists[] = {
		{ parts->args, "args", &request->args },
		{ parts->out, "out", &request->out },
		{ parts->network, "network", &request->network },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		int r = put_words(lists[i].array, where, lists[i].key, lists[i].list, problem);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

int execution_request_put_parts(struct execution_request *request, const char *where,
				struct problem *problem)
{
	const struct execution_request_parts *parts = &request->parts;
	int r = put_lists(request, where, problem);

	/* After a failure too: a list that was replaced is gone. */
	request->call.run.args = request->args;
	request->call.run.network = request->network;
	request->call.run.out = request->out;
	if (r < 0) {
		return r;
	}
	r = put_env(request, parts->env, where, problem);
	if (r < 0) {
		return r;
	}
	r = put_files(request, parts->files, where, problem);
	if (r < 0) {
		return r;
	}
	r = put_mounts(request, parts->mounts, where, problem);
	return r < 0 ? r : put_input(request, where, problem);
}

void execution_request_free_parts(struct execution_request *request)
{
	while (request->blobs) {
		struct execution_request_blob *blob = request->blobs;

		request->blobs = blob->next;
		free(blob->data);
		free(blob);
	}
	strlist_done(&request->env);
	strlist_done(&request->policies);
	free(request->args);
	free(request->out);
	free(request->network);
	free(request->files);
	free(request->mounts);
}
