/* SPDX-License-Identifier: Apache-2.0 */
/* The form of the records: see cell_stream.h. */
#include "net/cell_stream.h"

#include <errno.h>
#include <string.h>

static const struct {
	bool from_cell, to_cell;
	uint32_t least, most; /* bytes of data */
} kinds[CELL_RECORD_KINDS] = {
	[CELL_OPEN] = { true, false, CELL_TARGET_BYTES, CELL_TARGET_BYTES },
	[CELL_DATA] = { true, true, 1, CELL_PIECE_MAX },
	[CELL_TAKEN] = { true, true, 4, 4 },
	[CELL_END] = { true, true, 0, 0 },
	[CELL_RESET] = { true, true, 0, 0 },
	[CELL_QUERY] = { true, false, 1, CELL_QUERY_MAX },
	[CELL_ANSWER] = { false, true, 1, CELL_QUERY_MAX },
};

void cell_taken_put(unsigned char at[4], uint32_t taken)
{
	for (unsigned i = 0; i < 4; i++) {
		at[i] = (unsigned char)(taken >> (8 * i));
	}
}

uint32_t cell_taken_get(const unsigned char at[4])
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[3] << 24;
}

void cell_record_head(unsigned char at[CELL_RECORD_HEAD], enum cell_record_kind kind,
		      uint32_t number)
{
	cell_taken_put(at, (uint32_t)kind);
	cell_taken_put(at + 4, number);
}

int cell_record_read(const unsigned char *data, size_t size, bool from_cell,
		     struct cell_record *ret)
{
	uint32_t kind = size < CELL_RECORD_HEAD ? CELL_RECORD_KINDS : cell_taken_get(data);

	if (kind >= CELL_RECORD_KINDS ||
	    !(from_cell ? kinds[kind].from_cell : kinds[kind].to_cell) ||
	    size - CELL_RECORD_HEAD < kinds[kind].least ||
	    size - CELL_RECORD_HEAD > kinds[kind].most) {
		return -EPROTO;
	}
	*ret = (struct cell_record){ .kind = (enum cell_record_kind)kind,
				     .number = cell_taken_get(data + 4),
				     .data = data + CELL_RECORD_HEAD,
				     .size = size - CELL_RECORD_HEAD };
	return 0;
}

void cell_target_put(unsigned char at[CELL_TARGET_BYTES], const struct net_address *address,
		     uint16_t port)
{
	at[0] = address->family;
	at[1] = 0;
	at[2] = (unsigned char)port;
	at[3] = (unsigned char)(port >> 8);
	memcpy(at + 4, address->bytes, sizeof(address->bytes));
}

int cell_target_get(const unsigned char at[CELL_TARGET_BYTES], struct net_address *address,
		    uint16_t *port)
{
	struct sockaddr_storage plain;
	const struct net_address raw = { .family = at[0] };

	if ((at[0] != 4 && at[0] != 6) || at[1] != 0) {
		return -EPROTO;
	}
	*address = raw;
	memcpy(address->bytes, at + 4, address->family == 4 ? 4 : sizeof(address->bytes));
	/* An IPv4 address in the form of an IPv6 one becomes that, as in any other place. */
	(void)net_address_to(address, (uint16_t)(at[2] | at[3] << 8), &plain);
	return net_address_from(&plain, address, port) < 0 ? -EPROTO : 0;
}
