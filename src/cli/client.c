/* SPDX-License-Identifier: Apache-2.0 */
/* One question, one connection, one answer. */
#include "cli/client.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/client_body.h"

#define HEAD_MAX (64u << 10)

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0) {
		return -errno;
	}
	if (strlen(path) >= sizeof(address.sun_path)) {
		return -ENAMETOOLONG;
	}
	memcpy(address.sun_path, path, strlen(path) + 1);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		return -errno;
	}
	return TAKE_FD(fd);
}

/* Where `brig serve` puts its socket: the user's own service first, then the machine's. */
static int connect_usual(struct buf *tried)
{
	static const struct {
		const char *variable, *format;
	} places[] = {
		{ "XDG_RUNTIME_DIR", "%s/brig/brig.sock" },
		{ "XDG_STATE_HOME", "%s/brig/brig.sock" },
		{ "HOME", "%s/.local/state/brig/brig.sock" },
	};
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	int fd = -ENOENT;

	for (size_t i = 0; fd < 0 && geteuid() != 0 && i < ARRAY_SIZE(places); i++) {
		const char *base = getenv(places[i].variable);
		struct buf text = { 0 };

		if (base && base[0] == '/') {
			buf_adds(&text, base);
			buf_adds(&text, places[i].format + 2);
		}
		if (text.data && !text.failed && text.size < sizeof(path)) {
			memcpy(path, text.data, text.size + 1);
			buf_addf(tried, "%s%s", tried->size ? ", " : "", path);
			fd = connect_to(path);
		}
		buf_done(&text);
	}
	if (fd < 0) {
		buf_addf(tried, "%s/run/brig/brig.sock", tried->size ? ", " : "");
		fd = connect_to("/run/brig/brig.sock");
	}
	return fd;
}

static int open_connection(const char *path, struct brig_error *err)
{
	_cleanup_(buf_done)
	struct buf tried = { 0 };

	path = path ? path : getenv("BRIG_SOCKET");
	if (path && strncmp(path, "unix:", 5) == 0) {
		path += 5;
	}
	if (path && *path) {
		buf_adds(&tried, path);
	}
	int fd = path && *path ? connect_to(path) : connect_usual(&tried);
	if (fd < 0) {
		error_errno(err, BRIG_E_SYSTEM, -fd, "no service answers at %s",
			    tried.data ? tried.data : "?");
		error_remedy(err, "start one with brig serve, or say where it is: --socket PATH");
	}
	return fd;
}

static int send_all(int fd, const char *data, size_t size, struct brig_error *err)
{
	while (size > 0) {
		ssize_t n = send(fd, data, size, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR) {
			return error_errno(err, BRIG_E_SYSTEM, errno, "cannot ask the service");
		}
		if (n > 0) {
			data += n;
			size -= (size_t)n;
		}
	}
	return 0;
}

struct reading {
	const struct client_request *request;
	struct client_answer *answer;
	struct buf head;
	bool head_done;
	struct client_body body;
};

/* "HTTP/1.1 200 OK" and what tells how the body is framed. */
static int read_head(struct reading *reading, struct brig_error *err)
{
	const char *text = reading->head.data;

	if (strncmp(text, "HTTP/1.1 ", 9) == 0) {
		reading->answer->status = (int)strtol(text + 9, NULL, 10);
	}
	if (reading->answer->status < 100 || reading->answer->status > 599) {
		return error_set(err, BRIG_E_SYSTEM, EPROTO,
				 "the service does not speak HTTP as expected");
	}
	reading->body.chunked = strcasestr(text, "\r\ntransfer-encoding: chunked\r\n") != NULL;
	const char *length = strcasestr(text, "\r\ncontent-length:");
	if (length) {
		reading->body.left = strtoull(length + 17, NULL, 10);
		reading->body.counted = true;
	}
	return 0;
}

static int keep(void *user, const char *data, size_t size)
{
	struct client_answer *answer = user;

	buf_add(&answer->body, data, size);
	return answer->body.size > CLIENT_BODY_MAX ? -EFBIG : answer->body.failed ? -ENOMEM : 0;
}

static int take_bytes(struct reading *reading, const char *data, size_t size,
		      struct brig_error *err)
{
	const struct client_request *request = reading->request;

	if (!reading->head_done) {
		buf_add(&reading->head, data, size);
		char *end = reading->head.data ? strstr(reading->head.data, "\r\n\r\n") : NULL;
		if (!end) {
			return reading->head.size > HEAD_MAX
				       ? error_set(err, BRIG_E_SYSTEM, EPROTO,
						   "the service's answer has no end of its head")
				       : 0;
		}
		size_t used = (size_t)(end + 4 - reading->head.data);
		reading->head_done = true;
		char *rest = reading->head.data + used;
		size_t rest_size = reading->head.size - used;
		bool streamed = request->take != NULL;
		char *copy = malloc(rest_size + 1);
		if (!copy) {
			return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory");
		}
		memcpy(copy, rest, rest_size);
		*rest = '\0';
		int r = read_head(reading, err);
		streamed = streamed && reading->answer->status < 300;
		reading->body.take = streamed ? request->take : keep;
		reading->body.user = streamed ? request->user : reading->answer;
		r = r < 0 ? r : client_body_take(&reading->body, copy, rest_size);
		free(copy);
		return r;
	}
	return client_body_take(&reading->body, data, size);
}

/* 1: complete, or enough. */
static int read_some(struct reading *reading, int fd, struct brig_error *err)
{
	char chunk[32768];
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	int silence = reading->request->silence_ms;

	if (silence > 0 && poll(&ready, 1, silence) == 0) {
		reading->answer->silent = true;
		return 1;
	}
	ssize_t n = recv(fd, chunk, sizeof(chunk), 0);
	if (n < 0) {
		return errno == EINTR ? 0
				      : error_errno(err, BRIG_E_SYSTEM, errno,
						    "the service's answer breaks off");
	}
	if (n == 0) {
		return reading->head_done && client_body_complete(&reading->body)
			       ? 1
			       : error_set(err, BRIG_E_SYSTEM, EPIPE,
					   "the service's answer breaks off");
	}
	int r = take_bytes(reading, chunk, (size_t)n, err);
	if (r < 0 && err && !err->message[0]) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "the service's answer cannot be read");
	}
	return r != 0 ? r : reading->head_done && client_body_ended(&reading->body);
}

static int refused(const struct client_answer *answer, struct brig_error *err)
{
	json_t *problem =
		json_loadb(answer->body.data ? answer->body.data : "", answer->body.size, 0, NULL);
	const char *detail = client_text(problem, "detail");
	const char *remedy = client_text(problem, "remedy");

	error_set(err, answer->status < 500 ? BRIG_E_INPUT : BRIG_E_SYSTEM,
		  answer->status == 404 ? ENOENT : EACCES, "%s",
		  *detail ? detail : "the service refused");
	if (*remedy) {
		error_remedy(err, "%s", remedy);
	}
	json_decref(problem);
	return err && err->errnum ? -err->errnum : -EACCES;
}

int client_ask(const struct client_request *request, struct client_answer *ret,
	       struct brig_error *err)
{
	struct reading reading = { .request = request, .answer = ret };
	_cleanup_(buf_done)
	struct buf text = { 0 };

	*ret = (struct client_answer){ 0 };
	_cleanup_close_ int fd = open_connection(request->socket, err);
	if (fd < 0) {
		return fd;
	}
	buf_addf(&text, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		 request->method, request->path);
	int r = send_all(fd, text.data, text.size, err);
	while (r == 0) {
		r = read_some(&reading, fd, err);
	}
	buf_done(&reading.head);
	buf_done(&reading.body.line);
	if (r > 0) {
		r = ret->status >= 400 ? refused(ret, err) : 0;
	}
	if (r < 0) {
		client_answer_done(ret);
	}
	return r;
}

void client_answer_done(struct client_answer *answer)
{
	buf_done(&answer->body);
	*answer = (struct client_answer){ 0 };
}

int client_get(const char *socket, const char *method, const char *path, json_t **ret,
	       struct brig_error *err)
{
	struct client_request request = { .socket = socket, .method = method, .path = path };
	struct client_answer answer;
	int r = client_ask(&request, &answer, err);

	if (r < 0) {
		return r;
	}
	*ret = json_loadb(answer.body.data ? answer.body.data : "", answer.body.size,
			  JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	client_answer_done(&answer);
	return *ret ? 0 : error_set(err, BRIG_E_SYSTEM, EPROTO, "the service's answer is not JSON");
}

const char *client_text(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}
