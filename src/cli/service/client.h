/* SPDX-License-Identifier: Apache-2.0 */
/* A small blocking HTTP client for a running service. */
#ifndef BRIG_CLI_SERVICE_CLIENT_H
#define BRIG_CLI_SERVICE_CLIENT_H

#include <jansson.h>

#include "base/bytes/buf.h"
#include "base/error.h"

#define CLIENT_BODY_MAX ((size_t)256 << 20)

struct client_request {
	const char *socket; /* or a URL; NULL: $BRIG_URL, $BRIG_SOCKET, or the default location */
	const char *method;
	const char *path;       /* with its query */
	const struct buf *body; /* JSON; NULL: none */
	int silence_ms;         /* end after this long without data; 0: wait */
	/*
	 * The body of a successful response as it arrives; 1: enough, negative: failed. NULL: it is
	 * stored.
	 */
	int (*take)(void *user, const char *data, size_t size);
	void *user;
};

struct client_answer {
	int status;
	struct buf body;
	bool silent; /* it ended by that timeout */
};

/*
 * 0, or an error for people; a response of 400 and above is an error too, in the service's words.
 */
int client_ask(const struct client_request *request, struct client_answer *ret,
	       struct brig_error *err);
void client_answer_done(struct client_answer *answer);
/* The same for a JSON response; json_decref() it. */
int client_get(const char *socket, const char *method, const char *path, json_t **ret,
	       struct brig_error *err);
/* A field's text; "" when it is not a text. */
const char *client_text(json_t *object, const char *key);
#endif
