/* SPDX-License-Identifier: Apache-2.0 */
/* Long strings of a document: see json_longs.h. */
#include "base/json/json_longs.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define SLICE 8192u

struct json_longs *json_longs_ref(struct json_longs *longs)
{
	if (longs) {
		longs->refs++;
	}
	return longs;
}

void json_longs_unref(struct json_longs *longs)
{
	if (longs && --longs->refs == 0) {
		for (size_t i = 0; i < longs->count; i++) {
			free(longs->items[i].sha256);
		}
		block_unref(longs->block);
		free(longs->items);
		free(longs);
	}
}

struct block *json_longs_block(const struct json_longs *longs)
{
	return longs ? longs->block : NULL;
}

static const struct json_long *find(const struct json_longs *longs, const json_t *value)
{
	const char *text = longs ? json_string_value(value) : NULL;

	if (!text || text[0] != JSON_MARK) {
		return NULL;
	}
	size_t number = strtoul(text + 1, NULL, 10);
	/* A string that was put back may look like a mark. */
	return number < longs->count && longs->items[number].node == value ? &longs->items[number]
									   : NULL;
}

bool json_longs_find(const struct json_longs *longs, const json_t *value, const char **ret,
		     size_t *ret_size)
{
	const struct json_long *item = find(longs, value);

	if (item) {
		*ret = longs->block->data + item->at;
		*ret_size = item->size;
	}
	return item != NULL;
}

const char *json_longs_sha256(const struct json_longs *longs, const json_t *value)
{
	const struct json_long *item = find(longs, value);

	return item ? item->sha256 : NULL;
}

static struct json_long *current(const struct json_long_writer *writer)
{
	return &writer->longs->items[writer->longs->count - 1];
}

bool json_long_begin(struct json_long_writer *writer, bool base64, bool hashed)
{
	struct json_longs *longs = writer->longs;

	if (longs->count == longs->room) {
		size_t room = longs->room ? 2 * longs->room : 16;
		struct json_long *more = reallocarray(longs->items, room, sizeof(*more));
		if (!more) {
			return false;
		}
		longs->items = more;
		longs->room = room;
	}
	longs->items[longs->count++] = (struct json_long){ .at = writer->spool.size };
	writer->base64 = base64;
	writer->hashed = hashed;
	sha256_init(&writer->hash);
	writer->letters = (struct base64_stream){ 0 };
	writer->carried = 0;
	return true;
}

/* From here on it is text: the decoded bytes are those of the letters before. */
static void stop_decoding(struct json_long_writer *writer)
{
	current(writer)->decoded = writer->spool.size - current(writer)->at;
	current(writer)->wrong = true;
	writer->base64 = false;
	spool_add(&writer->spool, writer->letters.four, writer->letters.have);
}

/* Characters of the string, decoded. */
static void put(struct json_long_writer *writer, const char *text, size_t size)
{
	unsigned char bytes[(SLICE + sizeof(writer->carry) + 7) / 4 * 3];
	size_t taken = 0, count = 0;

	if (writer->base64) {
		taken = base64_stream_take(&writer->letters, text, size, bytes, &count);
		spool_add(&writer->spool, bytes, count);
		if (writer->letters.wrong) {
			stop_decoding(writer);
		}
	}
	if (writer->hashed) {
		sha256_add(&writer->hash, text, size);
	}
	if (!writer->base64) {
		spool_add(&writer->spool, text + taken, size - taken);
	}
}

static void end(struct json_long_writer *writer)
{
	if (writer->base64 && !base64_stream_whole(&writer->letters)) {
		stop_decoding(writer);
	}
	struct json_long *item = current(writer);
	item->size = writer->spool.size - item->at;
	if (writer->base64) {
		item->decoded = item->size;
	}
	if (writer->hashed && (item->sha256 = malloc(SHA256_HEX_SIZE))) {
		sha256_hex(&writer->hash, item->sha256);
	}
	spool_add(&writer->spool, "", 1);
}

bool json_long_take(struct json_long_writer *writer, const char *text, size_t size, bool final,
		    bool allow_nul, struct json_part *part)
{
	char slice[SLICE + sizeof(writer->carry)], out[SLICE + sizeof(writer->carry)];

	do {
		size_t more = size < SLICE ? size : SLICE;
		bool last = final && more == size;
		memcpy(slice, writer->carry, writer->carried);
		memcpy(slice + writer->carried, text, more);
		size_t whole = writer->carried + more;
		if (!json_string_decode_part(slice, whole, last, allow_nul, out, part)) {
			return false;
		}
		put(writer, out, part->size);
		writer->carried = whole - part->taken;
		memcpy(writer->carry, slice + part->taken, writer->carried);
		text += more;
		size -= more;
	} while (size > 0);
	if (final) {
		end(writer);
	}
	return true;
}

json_t *json_long_string(const struct json_longs *longs, const struct json_long *item)
{
	const char *data = longs->block->data + item->at;

	if (item->decoded == 0) {
		return json_stringn_nocheck(data, item->size);
	}
	size_t letters = (item->decoded + 2) / 3 * 4, rest = item->size - item->decoded;
	_cleanup_free_ char *text = malloc(letters + rest + 1);
	if (!text) {
		return NULL;
	}
	sodium_bin2base64(text, letters + 1, (const unsigned char *)data, item->decoded,
			  sodium_base64_VARIANT_ORIGINAL);
	memcpy(text + letters, data + item->decoded, rest);
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not know cleanup attributes */
	return json_stringn_nocheck(text, letters + rest);
}
