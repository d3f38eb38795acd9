/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server's reply to a ClientHello: detects whether it wants another one (a HelloRetryRequest of
 * TLS 1.3), which then must be inspected as well. Follows the server's bytes as they pass; nothing
 * is stored. Pure.
 */
#ifndef BRIG_GATE_HELLO_REPLY_H
#define BRIG_GATE_HELLO_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPLY_RECORD_HEAD 5
/* Type, length, version and random of a ServerHello, which tell the two kinds apart. */
#define REPLY_MESSAGE_HEAD 38

/* Zero-initialised at the beginning of a connection. */
struct hello_reply {
	unsigned retries; /* how often it wanted another one */
	bool decided; /* it took the last one, or does not speak TLS: no other follows in clear */
	uint8_t record[REPLY_RECORD_HEAD];
	size_t record_used, record_left;
	uint8_t message[REPLY_MESSAGE_HEAD];
	size_t message_used, message_left;
};

void hello_reply_take(struct hello_reply *reply, const uint8_t *data, size_t size);
#endif
