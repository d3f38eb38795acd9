/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of requests: see body.h. */
#include "http/message/body.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "http/http.h"

#define FIRST_BYTES 4096

static size_t next_capacity(const struct body *body, size_t needed, size_t expected)
{
	size_t capacity = body->capacity ? body->capacity * 2 : FIRST_BYTES;

	while (capacity < needed) {
		capacity *= 2;
	}
	if (expected && expected + 1 >= needed && expected + 1 < capacity) {
		capacity = expected + 1;
	}
	return capacity;
}

/* Bodies that are kept after their exchange may exceed the limit for a moment. */
static bool has_room(size_t used, size_t limit, size_t more)
{
	return used <= limit && more <= limit - used;
}

/* Counts `total` bytes as held for the body. */
static int body_charge(struct body *body, size_t total)
{
	struct http_budget *budget = body->budget;
	size_t more = total > body->charged ? total - body->charged : 0;

	if (more && body->pool && !has_room(body->pool->used, body->pool->limit, more)) {
		return -ENOBUFS;
	}
	if (more && budget && budget->bodies_max &&
	    !has_room(budget->bodies, budget->bodies_max, more)) {
		return -EDQUOT;
	}
	if (body->pool) {
		body->pool->used += more;
	}
	if (budget) {
		budget->bodies += more;
	}
	body->charged += more;
	return 0;
}

static int body_grow(struct body *body, size_t needed, size_t expected)
{
	size_t capacity = next_capacity(body, needed, expected);
	int r = body_charge(body, capacity);

	if (r < 0) {
		return r;
	}
	char *data = realloc(body->data, capacity);
	if (!data) {
		return -ENOMEM;
	}
	body->data = data;
	body->capacity = capacity;
	return 0;
}

/* The bytes that were held until now go first. */
static int body_begin_to_sink(struct body *body)
{
	int r = body->size ? body->sink->take(body->sink, body->data, body->size) : 0;

	free(body->data);
	body->data = NULL;
	body->capacity = 0;
	body->sunk = true;
	return r;
}

/* All bytes that came are counted, however few of them the sink keeps; or those that it keeps. */
static int body_sink(struct body *body, const char *data, size_t size)
{
	size_t held = body->sink->held(body->sink);
	size_t total = held > body->size ? held : body->size;
	int r = body_charge(body, total + size);

	if (r == 0 && !body->sunk) {
		r = body_begin_to_sink(body);
	}
	r = r < 0 ? r : body->sink->take(body->sink, data, size);
	body->size += r < 0 ? 0 : size;
	return r;
}

int body_add(struct body *body, const char *data, size_t size, size_t expected)
{
	if (body->sink && (body->sunk || body->size + size > HTTP_BODY_HELD_MAX)) {
		return body_sink(body, data, size);
	}
	if (body->size + size + 1 > body->capacity) {
		int r = body_grow(body, body->size + size + 1, expected);
		if (r < 0) {
			return r;
		}
	}
	memcpy(body->data + body->size, data, size);
	body->size += size;
	body->data[body->size] = '\0';
	return 0;
}

void body_leave_pool(struct body *body)
{
	if (body->pool) {
		body->pool->used -= body->charged;
		body->pool = NULL;
	}
	if (body->budget) {
		body->budget->bodies -= body->charged;
		body->budget = NULL;
	}
}

void body_done(struct body *body)
{
	body_leave_pool(body);
	free(body->data);
	*body = (struct body){ 0 };
}
