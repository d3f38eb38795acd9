/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the response to a request as its bytes arrive. Private to client. */
#ifndef BRIG_CLI_SERVICE_CLIENT_RESPONSE_H
#define BRIG_CLI_SERVICE_CLIENT_RESPONSE_H

#include "cli/service/client.h"
#include "http1/http1.h"

struct client_response {
	struct http1_reader reader;
	struct buf head;
	/* takes the body of a successful response, if it has a `take` */
	const struct client_request *request;
	struct client_answer *answer; /* else stores it */
};

void client_response_init(struct client_response *response, const struct client_request *request,
			  struct client_answer *answer);
void client_response_done(struct client_response *response);
/* 1: complete, or enough for the request's `take`; 0: more must come; or an error for people. */
int client_response_take(struct client_response *response, const char *data, size_t size,
			 struct brig_error *err);
/* End of input: 1, or an error. */
int client_response_close(struct client_response *response, struct brig_error *err);
#endif
