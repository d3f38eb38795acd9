/*
 * llhttp's reading of a request. It decodes the bodies, and it must agree with our own reading of
 * the head: a request with two readings is refused.
 */
#ifndef BRIG_HTTP_OPINION_H
#define BRIG_HTTP_OPINION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/body.h"
#include "http/framing.h"
#include "http/request_line.h"

struct opinion {
	struct llhttp__internal_s *parser; /* owned */
	unsigned headers;
	bool head_done, chunked, has_length, done;
	uint64_t length;
	struct body *body;
	size_t expected;
	int body_error; /* of body_add */
};

/* -ENOMEM. The parser knows its address: it must not move. */
int opinion_init(struct opinion *opinion, struct body *body);
void opinion_done(struct opinion *opinion);
/* The head, whole, nothing behind it. */
bool opinion_head(struct opinion *opinion, const char *head, size_t size);
bool opinion_agrees(const struct opinion *opinion, const struct request_line *line,
		    const struct framing *framing, unsigned headers);
/* Bytes of the body as they came; what they decode to goes to the body. */
bool opinion_body(struct opinion *opinion, const char *data, size_t size);
#endif
