/* The bodies of requests: see body.h. */
#include "http/body.h"

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

static int body_grow(struct body *body, size_t needed, size_t expected)
{
	size_t capacity = next_capacity(body, needed, expected);
	size_t more = capacity - body->capacity;

	if (body->pool && more > body->pool->limit - body->pool->used) {
		return -ENOBUFS;
	}
	struct http_budget *budget = body->budget;
	if (budget && budget->bodies_max && more > budget->bodies_max - budget->bodies) {
		return -EDQUOT;
	}
	char *data = realloc(body->data, capacity);
	if (!data) {
		return -ENOMEM;
	}
	if (body->pool) {
		body->pool->used += more;
	}
	if (budget) {
		budget->bodies += more;
	}
	body->data = data;
	body->capacity = capacity;
	return 0;
}

int body_add(struct body *body, const char *data, size_t size, size_t expected)
{
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
		body->pool->used -= body->capacity;
		body->pool = NULL;
	}
	if (body->budget) {
		body->budget->bodies -= body->capacity;
		body->budget = NULL;
	}
}

void body_done(struct body *body)
{
	body_leave_pool(body);
	free(body->data);
	*body = (struct body){ 0 };
}
