/* The first gate of a chunked body: see chunk_guard.h. */
#include "http/chunk_guard.h"

#include "http/characters.h"

#define DIGITS_MAX 8

static int wrong(const char **why, const char *text)
{
	*why = text;
	return 400;
}

static int take_size(struct chunk_guard *guard, unsigned char c, const char **why)
{
	int digit = character_hex(c);

	if (digit >= 0) {
		if (++guard->digits > DIGITS_MAX) {
			return wrong(why, "the size of a chunk has more than 8 digits");
		}
		guard->left = guard->left * 16 + (unsigned)digit;
		return 0;
	}
	if (guard->digits == 0) {
		return wrong(why, "a chunk does not begin with its size");
	}
	if (c != '\r') {
		return wrong(why, "the size of a chunk is not followed by CR LF");
	}
	guard->place = CHUNK_GUARD_SIZE_END;
	return 0;
}

static int end_size(struct chunk_guard *guard, uint64_t limit, const char **why)
{
	guard->digits = 0;
	guard->total += guard->left;
	if (guard->total > limit) {
		*why = "the body is too large";
		return 413;
	}
	guard->place = guard->left ? CHUNK_GUARD_DATA : CHUNK_GUARD_LAST_CR;
	return 0;
}

/* CR or LF, where nothing else may stand. */
static const struct {
	unsigned char expected;
	enum chunk_guard_place next;
	const char *why;
} ends[] = {
	[CHUNK_GUARD_DATA_CR] = { '\r', CHUNK_GUARD_DATA_LF, "a chunk is longer than its size" },
	[CHUNK_GUARD_DATA_LF] = { '\n', CHUNK_GUARD_SIZE, "a chunk does not end with CR LF" },
	[CHUNK_GUARD_LAST_CR] = { '\r', CHUNK_GUARD_LAST_LF, "trailers are not taken" },
	[CHUNK_GUARD_LAST_LF] = { '\n', CHUNK_GUARD_DONE,
				  "the last chunk does not end with CR LF" },
};

static int take_one(struct chunk_guard *guard, unsigned char c, uint64_t limit, const char **why)
{
	switch (guard->place) {
	case CHUNK_GUARD_SIZE:
		return take_size(guard, c, why);
	case CHUNK_GUARD_SIZE_END:
		return c == '\n' ? end_size(guard, limit, why)
				 : wrong(why, "the size of a chunk is not followed by CR LF");
	default:
		if (c != ends[guard->place].expected) {
			return wrong(why, ends[guard->place].why);
		}
		guard->place = ends[guard->place].next;
		return 0;
	}
}

size_t chunk_guard_take(struct chunk_guard *guard, const char *data, size_t size, uint64_t limit,
			int *ret_status, const char **why)
{
	size_t at = 0;

	*ret_status = 0;
	while (at < size && guard->place != CHUNK_GUARD_DONE) {
		if (guard->place == CHUNK_GUARD_DATA) {
			size_t part = size - at < guard->left ? size - at : (size_t)guard->left;
			guard->left -= part;
			at += part;
			if (guard->left == 0) {
				guard->place = CHUNK_GUARD_DATA_CR;
			}
			continue;
		}
		*ret_status = take_one(guard, (unsigned char)data[at], limit, why);
		if (*ret_status) {
			break;
		}
		at++;
	}
	return at;
}
