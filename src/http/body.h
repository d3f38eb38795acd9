/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bodies of requests: each grows as it comes, and all of them together have one limit. What is
 * long goes to the handler's sink, if there is one; it is counted all the same.
 */
#ifndef BRIG_HTTP_BODY_H
#define BRIG_HTTP_BODY_H

#include <stdbool.h>
#include <stddef.h>

struct body_pool {
	size_t used, limit;
};

struct http_budget;
struct http_sink;

struct body {
	char *data; /* owned; NUL-terminated when not NULL */
	size_t size, capacity;
	struct http_sink *sink;     /* borrowed; NULL: all is held */
	bool sunk;                  /* it has all that came */
	size_t charged;             /* to both of these */
	struct body_pool *pool;     /* NULL: not counted */
	struct http_budget *budget; /* the same */
};

/*
 * `expected`: how large it will be in the end, at most; or 0. Memory is taken for what came, not
 * for what was promised. -ENOBUFS: the pool is full; -EDQUOT: the budget is; -ENOMEM; or what the
 * sink says.
 */
int body_add(struct body *body, const char *data, size_t size, size_t expected);
void body_done(struct body *body);
/* It may outlive the pool from here on. */
void body_leave_pool(struct body *body);
#endif
