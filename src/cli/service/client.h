/* SPDX-License-Identifier: Apache-2.0 */
/* Asking a running service: a small HTTP client that waits for its answers. */
#ifndef BRIG_CLI_SERVICE_CLIENT_H
#define BRIG_CLI_SERVICE_CLIENT_H

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"

#define CLIENT_BODY_MAX ((size_t)256 << 20)

struct client_request {
	const char
		*socket; /* or a URL; NULL: $BRIG_URL, $BRIG_SOCKET, where a service usually is */
	const char *method;
	const char *path;       /* with its query */
	const struct buf *body; /* JSON; NULL: none */
	int silence_ms;         /* end when nothing has come for so long; 0: wait */
	/* The body of a good answer as it comes; 1: enough, negative: failed. NULL: it is kept. */
	int (*take)(void *user, const char *data, size_t size);
	void *user;
};

struct client_answer {
	int status;
	struct buf body;
	bool silent; /* it ended by silence */
};

/* 0, or an error for people; an answer of 400 and above is one too, in the service's words. */
int client_ask(const struct client_request *request, struct client_answer *ret,
	       struct brig_error *err);
void client_answer_done(struct client_answer *answer);
/* The same for an answer that is JSON; json_decref() it. */
int client_get(const char *socket, const char *method, const char *path, json_t **ret,
	       struct brig_error *err);
/* A field's text; "" when it is none. */
const char *client_text(json_t *object, const char *key);
#endif
