/* SPDX-License-Identifier: Apache-2.0 */
/* One request, one connection, one response. */
#include "cli/service/client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "cli/service/client_response.h"
#include "cli/service/problem_read.h"
#include "cli/service/service_link.h"

/* 1: complete, or enough. */
static int read_some(struct client_response *response, struct service_link *link,
		     struct brig_error *err)
{
	char chunk[32768];
	struct pollfd ready = { .fd = link->fd, .events = POLLIN };
	int silence = response->request->silence_ms;

	if (silence > 0 && poll(&ready, 1, silence) == 0) {
		response->answer->silent = true;
		return 1;
	}
	ssize_t n = service_link_receive(link, chunk, sizeof(chunk));
	if (n < 0) {
		return error_errno(err, BRIG_E_SYSTEM, (int)-n,
				   "the response of the service is incomplete");
	}
	return n == 0 ? client_response_close(response, err)
		      : client_response_take(response, chunk, (size_t)n, err);
}

static int refused(const struct client_answer *answer, struct brig_error *err)
{
	json_t *problem =
		json_loadb(answer->body.data ? answer->body.data : "", answer->body.size, 0, NULL);
	int r = problem_read(problem, answer->status, err);

	json_decref(problem);
	return r;
}

/* A token is only sent by TCP: on a unix socket the kernel identifies the caller. */
static int write_head(const struct client_request *request, const struct service_link *link,
		      struct buf *out, struct brig_error *err)
{
	const char *token = link->remote ? getenv("BRIG_TOKEN") : NULL;

	if (token && token[strspn(token, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789_-")]) {
		int r = error_set(err, BRIG_E_INPUT, EINVAL, "BRIG_TOKEN is not a brig token");
		error_remedy(err,
			     "set it to the output of brig token new, without quotes or spaces");
		return r;
	}
	if (token && *token && link->exposed) {
		int r = error_set(err, BRIG_E_INPUT, EPERM,
				  "BRIG_TOKEN would be sent to %s in clear", link->host);
		error_remedy(err, "use https://, or a tunnel to the loopback (ssh -L)");
		return r;
	}
	buf_addf(out, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", request->method,
		 request->path, link->host);
	if (token && *token) {
		buf_addf(out, "Authorization: Bearer %s\r\n", token);
	}
	if (request->body) {
		buf_addf(out, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
			 request->body->size);
	}
	buf_adds(out, "\r\n");
	return out->failed ? error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory") : 0;
}

static int send_request(const struct client_request *request, struct service_link *link,
			struct brig_error *err)
{
	_cleanup_(buf_done)
	struct buf text = { 0 };
	int r = write_head(request, link, &text, err);

	if (r < 0) {
		return r;
	}
	r = service_link_send(link, text.data, text.size, err);
	if (r < 0 || !request->body) {
		return r;
	}
	return service_link_send(link, request->body->data, request->body->size, err);
}

static int read_response(struct client_response *response, struct service_link *link,
			 struct brig_error *err)
{
	int r = 0;

	while (r == 0) {
		r = read_some(response, link, err);
	}
	return r;
}

int client_ask(const struct client_request *request, struct client_answer *ret,
	       struct brig_error *err)
{
	struct client_response response;

	*ret = (struct client_answer){ 0 };
	struct service_link link;
	int r = service_link_open(request->socket, &link, err);
	if (r < 0) {
		return r;
	}
	r = send_request(request, &link, err);
	client_response_init(&response, request, ret);
	/*
	 * A service that refuses need not read everything: it has sent the reason before it closed.
	 */
	struct brig_error late = { 0 };
	int read = r == 0             ? read_response(&response, &link, err)
		   : r == -ECONNRESET ? read_response(&response, &link, &late)
				      : r;
	service_link_close(&link);
	client_response_done(&response);
	if (read > 0 && ret->status >= 400) {
		r = refused(ret, err);
	} else if (r == 0 && read < 0) {
		r = read;
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
	return *ret ? 0
		    : error_set(err, BRIG_E_SYSTEM, EPROTO,
				"the response of the service is not JSON");
}

const char *client_text(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}
