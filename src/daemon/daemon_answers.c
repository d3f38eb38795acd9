/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's answers: JSON with bounds, of which a few members are used. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json/json_bounded.h"
#include "daemon/daemon.h"

#define PID_MOST 4194304 /* of the kernel */

static json_t *load_values(const struct buf *body, size_t values)
{
	const struct json_bounds bounds = { .depth = 32, .values = values };

	return body->size ? json_bounded_load(body->data, body->size, &bounds, NULL) : NULL;
}

static json_t *load(const struct buf *body)
{
	return load_values(body, 20000);
}

static void drop(json_t **json)
{
	json_decref(*json);
}

/* "1.41": the number after the point. */
static bool take_minor(const json_t *json, const char *key, unsigned *ret)
{
	const char *text = json_string_value(json_object_get(json, key));
	char *end = NULL;

	if (!text || strncmp(text, "1.", 2) != 0 || text[2] < '0' || text[2] > '9') {
		return false;
	}
	unsigned long value = strtoul(text + 2, &end, 10);
	*ret = (unsigned)value;
	return *end == '\0' && value < 10000;
}

static void copy_harmless(const char *text, char *ret, size_t size)
{
	size_t at = 0;

	for (; text && text[at] && at < size - 1; at++) {
		unsigned char c = (unsigned char)text[at];
		ret[at] = (char)(c < 0x20 || c > 0x7e ? '?' : c);
	}
	ret[at] = '\0';
}

int daemon_answer_version(const struct buf *body, struct daemon_version *ret)
{
	_cleanup_(drop)
	json_t *json = load(body);

	if (!take_minor(json, "ApiVersion", &ret->most)) {
		return -EPROTO;
	}
	if (!take_minor(json, "MinAPIVersion", &ret->least)) {
		ret->least = 0;
	}
	copy_harmless(json_string_value(json_object_get(json, "Version")), ret->text,
		      sizeof(ret->text));
	return 0;
}

int daemon_answer_info(const struct buf *body, struct daemon_info *ret)
{
	_cleanup_(drop)
	json_t *json = load(body);
	const json_t *options = json_object_get(json, "SecurityOptions");
	const char *version = json_string_value(json_object_get(json, "CgroupVersion"));

	if (!json_is_object(json)) {
		return -EPROTO;
	}
	*ret = (struct daemon_info){
		.memory = json_is_true(json_object_get(json, "MemoryLimit")),
		.pids = json_is_true(json_object_get(json, "PidsLimit")),
		.cpu = json_is_true(json_object_get(json, "CpuCfsQuota")),
		.old_groups = version && strcmp(version, "1") == 0,
	};
	for (size_t i = 0; i < json_array_size(options); i++) {
		const char *text = json_string_value(json_array_get(options, i));
		ret->rootless |= text && strstr(text, "rootless");
	}
	return 0;
}

bool daemon_answer_volumes(const struct buf *body)
{
	_cleanup_(drop)
	json_t *json = load(body);
	const json_t *config = json_object_get(json, "Config");

	return !json || json_object_size(json_object_get(config, "Volumes")) > 0;
}

static bool take_id(const json_t *json, char ret[DAEMON_ID_CHARS + 1])
{
	const char *id = json_string_value(json_object_get(json, "Id"));

	if (!id || strlen(id) != DAEMON_ID_CHARS ||
	    strspn(id, "0123456789abcdef") != DAEMON_ID_CHARS) {
		return false;
	}
	memcpy(ret, id, DAEMON_ID_CHARS + 1);
	return true;
}

int daemon_answer_created(const struct buf *body, char ret[DAEMON_ID_CHARS + 1])
{
	_cleanup_(drop)
	json_t *json = load(body);

	return take_id(json, ret) ? 0 : -EPROTO;
}

int daemon_answer_pid(const struct buf *body, pid_t *ret)
{
	_cleanup_(drop)
	json_t *json = load(body);
	const json_t *pid = json_object_get(json_object_get(json, "State"), "Pid");

	if (!json_is_integer(pid) || json_integer_value(pid) < 0 ||
	    json_integer_value(pid) > PID_MOST) {
		return -EPROTO;
	}
	*ret = (pid_t)json_integer_value(pid);
	return 0;
}

static bool is_stale(const json_t *one, const char *own)
{
	const char *owner =
		json_string_value(json_object_get(json_object_get(one, "Labels"), DAEMON_LABEL));

	return owner && (daemon_owner_is_dead(owner, own) || daemon_owner_is_closed(owner, own));
}

static bool is_known(const char *id, char ids[DAEMON_STALE_MAX][DAEMON_ID_CHARS + 1], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(ids[i], id) == 0) {
			return true;
		}
	}
	return false;
}

/* A container has some hundred mounts: twenty thousand values would be fifteen of them. */
size_t daemon_answer_stale(const struct buf *body, const char *own,
			   char ret[DAEMON_STALE_MAX][DAEMON_ID_CHARS + 1], size_t *count)
{
	_cleanup_(drop)
	json_t *json = load_values(body, 400000);

	for (size_t i = 0; i < json_array_size(json) && *count < DAEMON_STALE_MAX; i++) {
		const json_t *one = json_array_get(json, i);
		if (is_stale(one, own) && take_id(one, ret[*count]) &&
		    !is_known(ret[*count], ret, *count)) {
			(*count)++;
		}
	}
	return json_array_size(json);
}

/* Docker: {"message": ...}; Podman has a "cause" beside it, which the message contains. */
void daemon_answer_reason(const struct buf *body, char *ret, size_t size)
{
	_cleanup_(drop)
	json_t *json = load(body);
	const char *text = json_string_value(json_object_get(json, "message"));

	copy_harmless(text ? text : "it gave no reason", ret, size);
}
