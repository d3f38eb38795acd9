/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bodies of requests: each grows as it arrives, and all of them share one limit. Long bodies go
 * to the handler's sink, if there is one; they are counted all the same.
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
	struct http_sink *sink;     /* borrowed; NULL: all bytes are held */
	bool sunk;                  /* the sink has all bytes that came */
	size_t charged;             /* to the pool and the budget */
	struct body_pool *pool;     /* NULL: not counted */
	struct http_budget *budget; /* the same */
};

/*
 * `expected`: the largest size that it will have; or 0. Memory is allocated for the bytes that
 * came, not for those that were announced. -ENOBUFS: the pool is full; -EDQUOT: the budget is;
 * -ENOMEM; or an error of the sink.
 */
int body_add(struct body *body, const char *data, size_t size, size_t expected);
void body_done(struct body *body);
/* From here on it may outlive the pool. */
void body_leave_pool(struct body *body);
#endif
