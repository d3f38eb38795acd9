/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a machine on its serial line: any. No more is kept than the window, nothing
 * is taken after the end or after an error, and packets that are right are.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "vm_line/line.h"

#define SIZE_MAX_INPUT 65536u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
	if (!holds) {
		abort();
	}
}

static void check(const struct line *line)
{
	must(line->at <= line->size && line->size <= sizeof(line->pending));
	must(line->size - line->at + line->taken <= LINE_WINDOW);
	must(line->odd_size <= sizeof(line->odd));
	must(line->met || (line->size == 0 && !line->ended));
	must(line->in.have < sizeof(line->in.bytes));
}

/* As it comes: few inputs have a sum that is right. */
static void take_raw(const uint8_t *data, size_t size, bool guest)
{
	static struct line line;

	line_init(&line, guest);
	line.text = line.plain = -1;
	for (size_t i = 0; i < size; i += 100) {
		size_t some = size - i < 100 ? size - i : 100;
		if (line_take(&line, data + i, some) < 0) {
			return;
		}
		check(&line);
	}
}

/* Kind, size, data: packets with the right sums. */
static void take_packets(const uint8_t *data, size_t size, bool guest)
{
	static struct line line;
	static struct packet_writer peer;

	line_init(&line, guest);
	line.text = line.plain = -1;
	packet_writer_init(&peer);
	for (size_t i = 0; i + 2 <= size;) {
		size_t some = data[i + 1] * 4u, left = size - i - 2;
		some = some < left ? some : left;
		peer.at = peer.size = 0;
		packet_put(&peer, (enum packet_kind)(data[i] % (PACKET_KINDS + 1)), data + i + 2,
			   some);
		bool ended = line.ended;
		int r = line_take(&line, peer.bytes, peer.size);
		must(!ended || r < 0);
		if (r < 0) {
			return;
		}
		check(&line);
		i += 2 + some;
		/* The plain stream takes some. */
		if (data[i - 1] & 1) {
			line.taken += (uint32_t)(line.size - line.at);
			line.at = line.size;
		}
		if (data[i - 1] & 2) {
			line.taken = 0;
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > SIZE_MAX_INPUT) {
		return 0;
	}
	for (int guest = 0; guest < 2; guest++) {
		take_raw(data, size, guest);
		take_packets(data, size, guest);
	}
	return 0;
}
