/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers output into records: see engine_gather.h. */
#include "engine/remote/engine_gather.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(MESSAGE_TAIL_MAX <= UINT16_MAX, "a piece's size is 16 bits");

/* So that a record does not end with the header of an empty piece. */
static bool has_room_for_piece(const struct engine_gathered *record)
{
	return record->pieces < ENGINE_PIECES_MAX &&
	       record->size + sizeof(struct engine_piece) < sizeof(record->data);
}

static int last_stream(const struct engine_gathered *record)
{
	struct engine_piece piece;

	memcpy(&piece, record->data + record->last, sizeof(piece));
	return piece.stream;
}

static void begin_piece(struct engine_gather *gather, struct engine_gathered *record, int stream)
{
	struct engine_piece piece = { .stream = (uint16_t)stream };

	record->last = record->size;
	memcpy(record->data + record->last, &piece, sizeof(piece));
	record->size += sizeof(piece);
	record->pieces++;
	gather->bytes += sizeof(piece);
}

/* A record whose last piece belongs to this stream and has room for a byte; NULL: no memory. */
static struct engine_gathered *record_for(struct engine_gather *gather, int stream)
{
	struct engine_gathered *record = gather->last;

	if (record && last_stream(record) == stream && record->size < sizeof(record->data)) {
		return record;
	}
	if (!record || !has_room_for_piece(record)) {
		record = malloc(sizeof(*record));
		if (!record) {
			return NULL;
		}
		record->next = NULL;
		record->size = record->last = 0;
		record->pieces = 0;
		*(gather->last ? &gather->last->next : &gather->first) = record;
		gather->last = record;
	}
	begin_piece(gather, record, stream);
	return record;
}

static void extend(struct engine_gathered *record, const char *data, size_t size)
{
	struct engine_piece piece;

	memcpy(&piece, record->data + record->last, sizeof(piece));
	piece.size = (uint16_t)(piece.size + size);
	memcpy(record->data + record->last, &piece, sizeof(piece));
	memcpy(record->data + record->size, data, size);
	record->size += size;
}

int engine_gather_add(struct engine_gather *gather, int stream, const void *data, size_t size)
{
	for (const char *at = data; size;) {
		struct engine_gathered *record = record_for(gather, stream);
		if (!record) {
			return -ENOMEM;
		}
		size_t room = sizeof(record->data) - record->size;
		size_t part = size < room ? size : room;
		extend(record, at, part);
		gather->bytes += part;
		at += part;
		size -= part;
	}
	return 0;
}

bool engine_gather_has_whole(const struct engine_gather *gather)
{
	return gather->first && (gather->first->next || !has_room_for_piece(gather->first));
}

void engine_gather_drop(struct engine_gather *gather)
{
	struct engine_gathered *record = gather->first;

	gather->first = record->next;
	if (!gather->first) {
		gather->last = NULL;
	}
	gather->bytes -= record->size;
	free(record);
}

void engine_gather_done(struct engine_gather *gather)
{
	while (gather->first) {
		engine_gather_drop(gather);
	}
}

int engine_piece_next(const char *tail, size_t size, size_t *at, struct engine_piece *ret,
		      const char **ret_data)
{
	if (*at == size) {
		return 0;
	}
	if (size - *at < sizeof(*ret)) {
		return -EPROTO;
	}
	memcpy(ret, tail + *at, sizeof(*ret));
	*at += sizeof(*ret);
	if ((ret->stream != 1 && ret->stream != 2) || ret->size == 0 || ret->size > size - *at) {
		return -EPROTO;
	}
	*ret_data = tail + *at;
	*at += ret->size;
	return 1;
}
