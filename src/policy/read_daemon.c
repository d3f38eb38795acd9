/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of container daemons. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/policy_reader.h"

/* A name of an image or of a runtime is put into paths and texts of requests. */
#define NAME_MAX_BYTES 200
#define SOCKET_MAX     107 /* sun_path */

static int keep(struct policy_reader *reader, const char *path, const char *text, char **ret)
{
	char *copy = strdup(text);

	if (!copy) {
		return error_errno(reader->err, BRIG_E_SYSTEM, ENOMEM, "%s", path);
	}
	free(*ret);
	*ret = copy;
	return 0;
}

static int read_socket(struct policy_reader *reader, const char *path, json_t *value, char **ret)
{
	const char *text;
	int r = read_string(reader, path, value, &text);

	if (r < 0) {
		return r;
	}
	if (text[0] != '/' || strlen(text) > SOCKET_MAX) {
		json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err,
			       "\"%.64s\" is no path of a Unix socket", text);
		error_remedy(reader->err,
			     "write the absolute path of the daemon's socket, at most %d bytes; "
			     "daemons behind a network (tcp://, ssh://) are not used",
			     SOCKET_MAX);
		return -EINVAL;
	}
	return keep(reader, path, text, ret);
}

static int read_name(struct policy_reader *reader, const char *path, json_t *value, char **ret)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-/:@";
	const char *text;
	int r = read_string(reader, path, value, &text);

	if (r < 0) {
		return r;
	}
	size_t length = strlen(text);
	if (length == 0 || length > NAME_MAX_BYTES || strspn(text, allowed) != length ||
	    strchr("./:@-", text[0]) || strstr(text, "..") || strstr(text, "//")) {
		json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err,
			       "\"%.64s\" is no name", text);
		error_remedy(reader->err, "write it as the daemon lists it");
		return -EINVAL;
	}
	return keep(reader, path, text, ret);
}

#define READER(name, daemon, member, read)                                                         \
	static int name(struct policy_reader *reader, const char *path, json_t *value)             \
	{                                                                                          \
		return read(reader, path, value, &reader->policy->daemon.member);                  \
	}

READER(read_docker_socket, docker, socket, read_socket)
READER(read_docker_runtime, docker, runtime, read_name)
READER(read_podman_socket, podman, socket, read_socket)
READER(read_docker_image, docker, image, read_name)
READER(read_podman_image, podman, image, read_name)

int read_docker(struct policy_reader *reader, const char *path, json_t *value)
{
	static const struct reader_key keys[] = {
		{ "socket", read_docker_socket },
		{ "image", read_docker_image },
		{ "runtime", read_docker_runtime },
	};

	return read_object(reader, path, value, keys, ARRAY_SIZE(keys));
}

int read_podman(struct policy_reader *reader, const char *path, json_t *value)
{
	static const struct reader_key keys[] = {
		{ "socket", read_podman_socket },
		{ "image", read_podman_image },
	};

	return read_object(reader, path, value, keys, ARRAY_SIZE(keys));
}
