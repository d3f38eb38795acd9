/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Globs on relative paths. Both sides may be hostile, so nothing backtracks: the pattern becomes a
 * row of tokens, and all states that the path so far can be in are kept as one set of bits, updated
 * by each byte of the path. Time is linear in the path, whatever the stars.
 *
 * If "**" is a whole part it also matches no directory at all: "out/(**)/x", written without the
 * parentheses, matches "out/x".
 *
 * A dot that starts a part is matched only by a dot that starts a part of the pattern: the author
 * of a wildcard usually does not mean .git, .ssh or .bashrc.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/utf8.h"
#include "base/files/path.h"

#define WORDS ((PATH_GLOB_BYTES_MAX + 1) / 64)

/* Wildcards distinguish only these. */
enum kind {
	KIND_SLASH,
	KIND_TAIL, /* a continuation byte of UTF-8 */
	KIND_OTHER,
	KIND_HIDES, /* a dot that starts a part: no wildcard matches it */
	KIND_COUNT,
};

struct glob {
	size_t last;                      /* the state behind the last token: it accepts */
	size_t words;                     /* in use, of each set */
	uint64_t skip[WORDS];             /* tokens that may match nothing */
	uint64_t step[KIND_COUNT][WORDS]; /* tokens that such a byte leads out of */
	uint64_t stay[KIND_COUNT][WORDS]; /* tokens that such a byte does not leave */
	uint64_t dots[WORDS];             /* tokens that are a dot and start a part */
	uint64_t none[WORDS];             /* no token */
	uint16_t row[256];                /* by byte: 1 + which row of literals it has; 0: none */
	uint64_t literal[];               /* `words` each: tokens that are this byte */
};

static enum kind byte_kind(unsigned char byte, bool part_start)
{
	if (byte == '/') {
		return KIND_SLASH;
	}
	if (byte == '.' && part_start) {
		return KIND_HIDES;
	}
	return utf8_continues((char)byte) ? KIND_TAIL : KIND_OTHER;
}

static void bit_set(uint64_t *set, size_t bit)
{
	set[bit / 64] |= UINT64_C(1) << (bit % 64);
}

static void star_add(struct glob *glob, bool slashes)
{
	for (size_t kind = slashes ? KIND_SLASH : KIND_TAIL; kind < KIND_HIDES; kind++) {
		bit_set(glob->step[kind], glob->last);
		bit_set(glob->stay[kind], glob->last);
	}
	bit_set(glob->skip, glob->last++);
}

/* "**" and its slash: any number of whole directories. */
static void directories_add(struct glob *glob)
{
	bit_set(glob->step[KIND_SLASH], glob->last);
	for (size_t kind = 0; kind < KIND_HIDES; kind++) {
		bit_set(glob->stay[kind], glob->last);
	}
	bit_set(glob->skip, glob->last++);
}

/* One character, not one byte: the state behind it stays during continuation bytes. */
static void any_add(struct glob *glob)
{
	bit_set(glob->step[KIND_OTHER], glob->last++);
	bit_set(glob->stay[KIND_TAIL], glob->last);
}

/* In words; a wildcard is counted as well, which does no harm. */
static size_t literals_of(const char *pattern, size_t size)
{
	bool seen[256] = { false };
	size_t rows = 0;

	for (size_t i = 0; i < size; i++) {
		unsigned char byte = (unsigned char)pattern[i];
		rows += !seen[byte];
		seen[byte] = true;
	}
	return rows * (size / 64 + 1);
}

static void literal_add(struct glob *glob, unsigned char byte, unsigned *rows)
{
	if (!glob->row[byte]) {
		glob->row[byte] = (uint16_t)++ * rows;
	}
	bit_set(glob->literal + (glob->row[byte] - 1) * glob->words, glob->last++);
}

/* Into memory that is zero. */
static void glob_compile(struct glob *glob, const char *pattern, size_t size)
{
	bool part_start = true;
	bool directories = false; /* the last token: another one would add nothing */
	unsigned rows = 0;

	glob->words = size / 64 + 1;
	for (const char *p = pattern; *p;) {
		size_t stars = strspn(p, "*");

		if (stars >= 2 && part_start && p[stars] == '/') {
			if (!directories) {
				directories_add(glob);
			}
			directories = true;
			p += stars + 1;
			continue;
		}
		if (stars > 0) {
			star_add(glob, stars >= 2);
			p += stars;
		} else if (*p == '?') {
			any_add(glob);
			p++;
		} else {
			if (*p == '.' && part_start) {
				bit_set(glob->dots, glob->last);
			}
			literal_add(glob, (unsigned char)*p, &rows);
			p++;
		}
		part_start = p[-1] == '/';
		directories = false;
	}
}

/* set |= (set & mask) << 1 */
static void skip_once(uint64_t *set, const uint64_t *mask, size_t words)
{
	uint64_t carry = 0;

	for (size_t i = 0; i < words; i++) {
		uint64_t moved = set[i] & mask[i];
		set[i] |= moved << 1 | carry;
		carry = moved >> 63;
	}
}

/* At most two tokens in a row may match nothing: directories, then a star. */
static void skip_all(const struct glob *glob, uint64_t *set)
{
	skip_once(set, glob->skip, glob->words);
	skip_once(set, glob->skip, glob->words);
}

/* Updates the set with one byte; false when it is empty. */
static bool glob_step(const struct glob *glob, uint64_t *set, unsigned char byte, bool part_start)
{
	enum kind kind = byte_kind(byte, part_start);
	const uint64_t *literal = kind == KIND_HIDES ? glob->dots
				  : glob->row[byte]
					  ? glob->literal + (glob->row[byte] - 1) * glob->words
					  : glob->none;
	uint64_t stay[WORDS];
	uint64_t carry = 0;
	uint64_t left = 0;

	for (size_t i = 0; i < glob->words; i++) {
		uint64_t moved = set[i] & (literal[i] | glob->step[kind][i]);
		stay[i] = set[i] & glob->stay[kind][i];
		set[i] = moved << 1 | carry;
		carry = moved >> 63;
	}
	skip_all(glob, set);
	for (size_t i = 0; i < glob->words; i++) {
		set[i] |= stay[i];
		left |= set[i];
	}
	return left != 0;
}

/* Allocates a pattern with its rows of literals, one for each byte in it. */
static struct glob *glob_new(const char *pattern)
{
	size_t size = strnlen(pattern, PATH_GLOB_BYTES_MAX + 1);
	struct glob *glob = NULL;

	if (size <= PATH_GLOB_BYTES_MAX) {
		glob = calloc(1, sizeof(*glob) + literals_of(pattern, size) * sizeof(uint64_t));
	}
	if (glob) {
		glob_compile(glob, pattern, size);
	}
	return glob;
}

static bool glob_matches(const struct glob *glob, const char *path, bool hides, uint64_t *work)
{
	uint64_t set[WORDS] = { 1 };
	bool part_start = true;

	skip_all(glob, set);
	for (const unsigned char *p = (const unsigned char *)path; *p; p++) {
		*work += glob->words;
		if (!glob_step(glob, set, *p, part_start && hides)) {
			return false;
		}
		part_start = *p == '/';
	}
	return set[glob->last / 64] >> (glob->last % 64) & 1;
}

struct path_globs {
	size_t count;
	struct glob *globs[]; /* owned */
};

int path_globs_new(const char *const *patterns, struct path_globs **ret)
{
	size_t count = 0;

	while (patterns && patterns[count]) {
		count++;
	}
	struct path_globs *globs = calloc(1, sizeof(*globs) + count * sizeof(struct glob *));
	if (!globs) {
		return -ENOMEM;
	}
	globs->count = count;
	for (size_t i = 0; i < count; i++) {
		globs->globs[i] = glob_new(patterns[i]);
		if (!globs->globs[i] &&
		    strnlen(patterns[i], PATH_GLOB_BYTES_MAX + 1) <= PATH_GLOB_BYTES_MAX) {
			path_globs_free(globs);
			return -ENOMEM;
		}
	}
	*ret = globs;
	return 0;
}

void path_globs_free(struct path_globs *globs)
{
	for (size_t i = 0; globs && i < globs->count; i++) {
		free(globs->globs[i]);
	}
	free(globs);
}

int path_globs_find(const struct path_globs *globs, const char *path, bool hides, uint64_t *work)
{
	for (size_t i = 0; i < globs->count; i++) {
		if (globs->globs[i] && glob_matches(globs->globs[i], path, hides, work)) {
			return (int)i;
		}
	}
	return -1;
}

bool path_glob(const char *pattern, const char *path)
{
	struct glob *glob = glob_new(pattern);
	uint64_t work = 0;
	bool found = glob && glob_matches(glob, path, true, &work);

	free(glob);
	return found;
}
