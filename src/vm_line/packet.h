/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets: what the two ends of a line send to each other.
 *
 *	1 byte mark, 1 byte kind, 2 bytes size, the data, 4 bytes checksum
 *
 * Numbers are little-endian. The checksum goes over all bytes of this direction so far: one that
 * was lost, added or changed is noticed, also between two packets. It is no protection from a peer,
 * who may send what it likes: kinds and sizes are bounded for that.
 */
#ifndef BRIG_VM_LINE_PACKET_H
#define BRIG_VM_LINE_PACKET_H

#include <stddef.h>
#include <stdint.h>

#define PACKET_HEAD_BYTES  4u
#define PACKET_CHECK_BYTES 4u
#define PACKET_DATA_MAX    1024u
#define PACKET_BYTES_MAX   (PACKET_HEAD_BYTES + PACKET_DATA_MAX + PACKET_CHECK_BYTES)
#define PACKET_HELLO       "brig-line-1"

enum packet_kind {
	PACKET_NONE,
	PACKET_FIRST, /* PACKET_HELLO: the first of each end; the host's is the answer */
	PACKET_DATA,
	PACKET_TAKEN,  /* u32: so many bytes of data were passed on */
	PACKET_REPORT, /* of the guest: text for brig's log */
	PACKET_END,    /* of the guest: the last one; the machine may be killed */
	PACKET_KINDS,
};

#define PACKET_QUEUE_BYTES (4 * PACKET_BYTES_MAX)
struct packet_writer {
	uint32_t sum;
	unsigned char bytes[PACKET_QUEUE_BYTES];
	size_t at, size;
};

struct packet_reader {
	uint32_t sum;
	unsigned char bytes[PACKET_BYTES_MAX];
	size_t have;
};

void packet_writer_init(struct packet_writer *writer);
/* Is there room for a packet of any size? */
int packet_has_room(const struct packet_writer *writer);
/* Queues a packet; there is room for it. */
void packet_put(struct packet_writer *writer, enum packet_kind kind, const void *data, size_t size);

void packet_reader_init(struct packet_reader *reader);
/*
 * Takes the next byte. A kind: a packet is complete, its data is in reader->bytes behind the head,
 * until the next byte. 0: not yet. -EPROTO: this is no packet.
 */
int packet_take(struct packet_reader *reader, unsigned char byte);
static inline const unsigned char *packet_data(const struct packet_reader *reader)
{
	return reader->bytes + PACKET_HEAD_BYTES;
}
size_t packet_size(const struct packet_reader *reader);
#endif
