/* SPDX-License-Identifier: Apache-2.0 */
/* Replies to a ClientHello: see hello_reply.h. The numbers are those of RFC 8446. */
#include "gate/tls/hello_reply.h"

#include <string.h>

#define RECORD_CHANGE    20
#define RECORD_ALERT     21
#define RECORD_HANDSHAKE 22
#define MESSAGE_HEAD     4
#define HELLO_REQUEST    0
#define SERVER_HELLO     2
#define RANDOM_AT        6

/* The random of a ServerHello that is a HelloRetryRequest: SHA-256 of that name. */
static const uint8_t retry[] = {
	0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c,
	0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb,
	0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
};

static size_t message_size(const struct hello_reply *reply)
{
	const uint8_t *head = reply->message;

	return MESSAGE_HEAD + ((size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3]);
}

/* Enough of a message has arrived to identify it. */
static void judge_message(struct hello_reply *reply)
{
	size_t size = message_size(reply), want = REPLY_MESSAGE_HEAD;
	bool hello = reply->message[0] == SERVER_HELLO;

	/*
	 * Old servers may ask for a hello at any time; nothing else comes before their ServerHello.
	 */
	if ((!hello && reply->message[0] != HELLO_REQUEST) || (hello && size < want)) {
		reply->decided = true;
		return;
	}
	if (hello && reply->message_used < want) {
		return;
	}
	if (hello) {
		bool again = memcmp(reply->message + RANDOM_AT, retry, sizeof(retry)) == 0;
		reply->retries += again;
		reply->decided = !again;
	}
	reply->message_left = size - reply->message_used;
	reply->message_used = 0;
}

static size_t take_message(struct hello_reply *reply, const uint8_t *data, size_t size)
{
	if (reply->message_left) {
		size_t here = size < reply->message_left ? size : reply->message_left;
		reply->message_left -= here;
		return here;
	}
	reply->message[reply->message_used++] = data[0];
	if (reply->message_used >= MESSAGE_HEAD) {
		judge_message(reply);
	}
	return 1;
}

static void take_record_head(struct hello_reply *reply, uint8_t byte)
{
	uint8_t type = reply->record_used ? reply->record[0] : byte;
	bool known = type == RECORD_CHANGE || type == RECORD_ALERT || type == RECORD_HANDSHAKE;

	if (!known || (reply->record_used == 1 && byte != 3)) {
		reply->decided = true;
		return;
	}
	reply->record[reply->record_used++] = byte;
	if (reply->record_used == REPLY_RECORD_HEAD) {
		reply->record_left = (size_t)reply->record[3] << 8 | reply->record[4];
		reply->record_used = 0;
	}
}

void hello_reply_take(struct hello_reply *reply, const uint8_t *data, size_t size)
{
	while (size > 0 && !reply->decided) {
		size_t here = size < reply->record_left ? size : reply->record_left;

		if (reply->record_left == 0) {
			take_record_head(reply, data[0]);
			here = 1;
		} else {
			here = reply->record[0] == RECORD_HANDSHAKE
				       ? take_message(reply, data, here)
				       : here;
			reply->record_left -= here;
		}
		data += here;
		size -= here;
	}
}
