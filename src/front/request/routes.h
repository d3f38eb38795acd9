/* SPDX-License-Identifier: Apache-2.0 */
/* The routes of the API. */
#ifndef BRIG_FRONT_REQUEST_ROUTES_H
#define BRIG_FRONT_REQUEST_ROUTES_H

#include <stdbool.h>
#include <stddef.h>

#include "front/request/upload.h"

#define ROUTE_ARGS 2

struct request;

enum route_body {
	ROUTE_NO_BODY,
	ROUTE_EMPTY, /* nothing, or {}: many clients cannot send a POST without a body */
	ROUTE_JSON,  /* application/json only, so that a web page's form cannot send it */
	ROUTE_BYTES,
};

struct route {
	const char *method;  /* NULL: any */
	const char *pattern; /* {} is one part of the path, {*} all the rest */
	bool open;           /* no token is needed */
	enum route_body body;
	enum upload_form form; /* of a long body */
	void (*handle)(struct request *request);
};

struct front;
/* The largest body of the route, and the name of that limit; NULL: it cannot be configured. */
size_t route_body_max(const struct front *front, const struct route *route, const char **ret_name);

/*
 * NULL: not found; then `allowed` has the other methods with which the path exists, or "". Otherwise
 * the parts for {} are copied into args (free() them).
 */
const struct route *route_find(const char *method, const char *path, char *args[ROUTE_ARGS],
			       char allowed[64]);

/* The handlers, by the files that they are in. */
void handle_execute(struct request *request); /* handle_execute.c */
void handle_session_execute(struct request *request);
void handle_executions_post(struct request *request); /* handle_executions.c */
void handle_executions_list(struct request *request);
void handle_execution_get(struct request *request);
void handle_execution_cancel(struct request *request);
void handle_execution_events(struct request *request); /* handle_events.c */
void handle_batch(struct request *request);            /* handle_batch.c */
void handle_session_open(struct request *request);     /* handle_sessions.c */
void handle_session_list(struct request *request);
void handle_session_get(struct request *request);
void handle_session_close(struct request *request);
void handle_session_interrupt(struct request *request);
void handle_session_fork(struct request *request);
void handle_file_list(struct request *request); /* handle_files.c */
void handle_file_get(struct request *request);
void handle_file_put(struct request *request);
void handle_file_delete(struct request *request);
void handle_runtimes(struct request *request); /* handle_info.c */
void handle_policies(struct request *request);
void handle_policy_check(struct request *request);
void handle_health(struct request *request);
void handle_openapi(struct request *request);
void handle_metrics(struct request *request); /* handle_metrics.c */
void handle_queue(struct request *request);   /* handle_queue.c */
void handle_queue_release(struct request *request);
void handle_queue_drop(struct request *request);
void handle_legacy(struct request *request); /* handle_legacy.c */
void handle_mcp(struct request *request);    /* front_mcp.c */
#endif
