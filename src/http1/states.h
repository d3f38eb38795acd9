/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar as a table. Private to http1. */
#ifndef BRIG_HTTP1_STATES_H
#define BRIG_HTTP1_STATES_H

#include "http1/http1.h"

/* The limit for the bytes of a state. */
enum http1_budget {
	HTTP1_UNCOUNTED,
	HTTP1_COUNTS_LINE,
	HTTP1_COUNTS_HEAD,
	HTTP1_COUNTS_EXTRA,
};

#define HTTP1_EDGES_MAX 4

struct http1_edge {
	uint16_t on; /* classes of characters.h; 0: no edge */
	uint8_t next;
	uint8_t error; /* instead of a state */
};

struct http1_row {
	enum http1_budget budget;
	uint16_t stay; /* bytes that stay in the state */
	enum http1_error otherwise;
	struct http1_edge edges[HTTP1_EDGES_MAX];
};

/* The rows of states whose bytes are not examined are not used. */
extern const struct http1_row http1_rows[HTTP1_STATES];

/* Called after a byte has led into this state. HTTP1_MORE: go on. In enter.c. */
enum http1_event http1_enter(struct http1_reader *reader, enum http1_state next, unsigned char c);
/* Returns HTTP1_WRONG. */
enum http1_event http1_fail(struct http1_reader *reader, enum http1_error error);
#endif
