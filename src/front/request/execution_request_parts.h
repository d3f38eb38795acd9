/* SPDX-License-Identifier: Apache-2.0 */
/* The lists in a request: words, variables, files, input. Private to execution_request*.c. */
#ifndef BRIG_FRONT_REQUEST_EXECUTION_REQUEST_PARTS_H
#define BRIG_FRONT_REQUEST_EXECUTION_REQUEST_PARTS_H

#include "front/request/execution_request.h"

struct execution_request_blob {
	struct execution_request_blob *next;
	void *data;
};

/* Read functions for tables of fields: an object of limits, a time in milliseconds. */
int execution_request_take_limits(void *into, const struct field *field, json_t *value,
				  const char *where, struct problem *problem);
int execution_request_take_ms(void *into, const struct field *field, json_t *value,
			      const char *where, struct problem *problem);

bool session_id_is_valid(const char *id);
/* Reads request->parts. Only fields that are given are set; the others stay. */
int execution_request_put_parts(struct execution_request *request, const char *where,
				struct problem *problem);
void execution_request_free_parts(struct execution_request *request);
#endif
