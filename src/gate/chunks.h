/*
 * Where a chunked body ends, so that no second request follows it. Stricter than RFC 9112: no
 * extensions, no trailers, which servers and proxies have read differently. Pure.
 */
#ifndef BRIG_GATE_CHUNKS_H
#define BRIG_GATE_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum chunks_state {
	CHUNKS_SIZE, /* its digits */
	CHUNKS_SIZE_END,
	CHUNKS_DATA,
	CHUNKS_DATA_CR,
	CHUNKS_DATA_END,
	CHUNKS_LAST_CR, /* behind the chunk of size 0 */
	CHUNKS_LAST_END,
	CHUNKS_OVER,
};

/* Zero-initialised at the beginning of a body. */
struct chunks {
	enum chunks_state state;
	unsigned digits;
	uint64_t left; /* of the chunk */
};

/* How many of these bytes belong to the body; or -EBADMSG. */
long chunks_take(struct chunks *chunks, const char *data, size_t size);
#endif
