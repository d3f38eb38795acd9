/*
 * The first gate of a chunked body: sizes of one to eight hexadecimal digits and CR LF, no
 * extensions, no trailers. Says where the body ends, so that llhttp never sees a byte of the next
 * request.
 */
#ifndef BRIG_HTTP_CHUNK_GUARD_H
#define BRIG_HTTP_CHUNK_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum chunk_guard_place {
	CHUNK_GUARD_SIZE, /* zero: the start */
	CHUNK_GUARD_SIZE_END,
	CHUNK_GUARD_DATA,
	CHUNK_GUARD_DATA_CR,
	CHUNK_GUARD_DATA_LF,
	CHUNK_GUARD_LAST_CR,
	CHUNK_GUARD_LAST_LF,
	CHUNK_GUARD_DONE,
};

struct chunk_guard {
	enum chunk_guard_place place;
	unsigned digits;
	uint64_t left;  /* of this chunk */
	uint64_t total; /* of all chunks that were begun */
};

/*
 * How many bytes are in order, up to the end of the body. *ret_status: 0, or what to refuse with
 * (and *why); a body of more than `limit` bytes is refused by the size of the chunk, before its
 * data.
 */
size_t chunk_guard_take(struct chunk_guard *guard, const char *data, size_t size, uint64_t limit,
			int *ret_status, const char **why);
#endif
