/* SPDX-License-Identifier: Apache-2.0 */
/* Run ids (ULIDs) and names that operators choose. */
#include "base/id.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define ID_SIZE     26
#define TIME_SIZE   10 /* characters, of 48 bits */
#define RANDOM_SIZE 10 /* bytes, in 16 characters */
#define NAME_SIZE   64

/* Crockford's: no I, L, O, U. */
static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

static int random_fill(unsigned char *bytes, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = getrandom(bytes + done, size - done, 0);
		if (n < 0) {
			if (errno == EINTR) {
				continue;
			}
			return -errno;
		}
		done += (size_t)n;
	}
	return 0;
}

int id_make(char id[27])
{
	unsigned char random[RANDOM_SIZE];
	struct timespec now;

	if (clock_gettime(CLOCK_REALTIME, &now) < 0) {
		return -errno;
	}
	int r = random_fill(random, sizeof(random));
	if (r < 0) {
		return r;
	}
	uint64_t ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	ms &= (UINT64_C(1) << 48) - 1;
	for (size_t i = TIME_SIZE; i-- > 0; ms >>= 5) {
		id[i] = alphabet[ms & 31];
	}
	/* Five bytes are eight characters. */
	for (size_t half = 0; half < 2; half++) {
		uint64_t bits = 0;
		for (size_t i = 0; i < 5; i++) {
			bits = bits << 8 | random[half * 5 + i];
		}
		for (size_t i = 8; i-- > 0; bits >>= 5) {
			id[TIME_SIZE + half * 8 + i] = alphabet[bits & 31];
		}
	}
	id[ID_SIZE] = '\0';
	return 0;
}

bool id_valid(const char *text)
{
	/* 26 characters hold 130 bits, an id has 128: the first is at most 7. */
	return text && strnlen(text, ID_SIZE + 1) == ID_SIZE && text[0] <= '7' &&
	       strspn(text, alphabet) == ID_SIZE;
}

bool id_name_valid(const char *text)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789._-";

	if (!text || text[0] == '.' || text[0] == '-') {
		return false;
	}
	size_t size = strnlen(text, NAME_SIZE + 1);
	return size > 0 && size <= NAME_SIZE && strspn(text, allowed) == size;
}
