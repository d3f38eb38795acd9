/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the warden says to the broker: a record of fixed size, with a descriptor where the table of
 * src/broker says so. No path, no text, no number that the broker would have to believe.
 */
#ifndef BRIG_BROKER_CLIENT_BROKER_MESSAGES_H
#define BRIG_BROKER_CLIENT_BROKER_MESSAGES_H

#include <stdint.h>

enum broker_kind {
	BROKER_MAP = 1, /* once, and first: who asks is in a new user namespace; give it its ids */
	BROKER_DEVICES, /* device nodes for one cell; the answer has a descriptor */
	BROKER_OWNED_BY_ROOT, /* with a descriptor: is this file root's? result 1 or 0 */
};

/* The same record both ways: the answer repeats the kind. */
struct broker_message {
	uint32_t kind;
	int32_t result; /* of an answer: -errno, or what the kind says */
};
#endif
