/* SPDX-License-Identifier: Apache-2.0 */
/* Packets: see packet.h. */
#include "vm_line/packet.h"

#include <errno.h>
#include <string.h>

#include "framed/frame.h"

#define MARK 0xa5u
/* FNV-1a */
#define SUM_START 2166136261u
#define SUM_PRIME 16777619u

#define HELLO_BYTES (sizeof(PACKET_HELLO) - 1)

static const struct {
	size_t least, most;
} sizes[PACKET_KINDS] = {
	[PACKET_NONE] = { 1, 0 }, /* never */
	[PACKET_FIRST] = { HELLO_BYTES, HELLO_BYTES },
	[PACKET_DATA] = { 1, PACKET_DATA_MAX },
	[PACKET_TAKEN] = { 4, 4 },
	[PACKET_REPORT] = { 1, PACKET_DATA_MAX },
	[PACKET_END] = { 0, 0 },
};

static uint32_t add_up(uint32_t sum, const unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		sum = (sum ^ bytes[i]) * SUM_PRIME;
	}
	return sum;
}

void packet_writer_init(struct packet_writer *writer)
{
	writer->sum = SUM_START;
	writer->at = writer->size = 0;
}

int packet_has_room(const struct packet_writer *writer)
{
	return sizeof(writer->bytes) - (writer->size - writer->at) >= PACKET_BYTES_MAX;
}

void packet_put(struct packet_writer *writer, enum packet_kind kind, const void *data, size_t size)
{
	if (writer->at > 0) {
		writer->size -= writer->at;
		memmove(writer->bytes, writer->bytes + writer->at, writer->size);
		writer->at = 0;
	}
	unsigned char *at = writer->bytes + writer->size;
	at[0] = MARK;
	at[1] = (unsigned char)kind;
	at[2] = (unsigned char)size;
	at[3] = (unsigned char)(size >> 8);
	if (size) {
		memcpy(at + PACKET_HEAD_BYTES, data, size);
	}
	writer->sum = add_up(writer->sum, at, PACKET_HEAD_BYTES + size);
	frame_put_u32(at + PACKET_HEAD_BYTES + size, writer->sum);
	writer->size += PACKET_HEAD_BYTES + size + PACKET_CHECK_BYTES;
}

void packet_reader_init(struct packet_reader *reader)
{
	reader->sum = SUM_START;
	reader->have = 0;
}

size_t packet_size(const struct packet_reader *reader)
{
	return (size_t)reader->bytes[2] | (size_t)reader->bytes[3] << 8;
}

static int check_head(const struct packet_reader *reader)
{
	unsigned kind = reader->bytes[1];
	size_t size = packet_size(reader);

	return kind < PACKET_KINDS && size >= sizes[kind].least && size <= sizes[kind].most
		       ? 0
		       : -EPROTO;
}

int packet_take(struct packet_reader *reader, unsigned char byte)
{
	reader->bytes[reader->have++] = byte;
	if (reader->bytes[0] != MARK) {
		return -EPROTO;
	}
	if (reader->have < PACKET_HEAD_BYTES) {
		return 0;
	}
	if (check_head(reader) < 0) {
		return -EPROTO;
	}
	size_t body = PACKET_HEAD_BYTES + packet_size(reader);
	if (reader->have < body + PACKET_CHECK_BYTES) {
		return 0;
	}
	reader->sum = add_up(reader->sum, reader->bytes, body);
	reader->have = 0;
	return frame_get_u32(reader->bytes + body) == reader->sum ? reader->bytes[1] : -EPROTO;
}
