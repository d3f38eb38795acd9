/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between the warden and the broker: records of fixed size, with a descriptor where the
 * table in src/broker/actions.c requires one. They contain no path, no text and no number that the
 * broker would have to trust.
 */
#ifndef BRIG_BROKER_CLIENT_BROKER_MESSAGES_H
#define BRIG_BROKER_CLIENT_BROKER_MESSAGES_H

#include <stdint.h>

enum broker_kind {
	BROKER_MAP = 1, /* once, and first: the sender is in a new user namespace; map its ids */
	BROKER_DEVICES, /* device nodes for one cell; the reply has a descriptor */
	BROKER_OWNED_BY_ROOT, /* with a descriptor: does this file belong to root? result 1 or 0 */
};

/* The same record in both directions: the reply repeats the kind. */
struct broker_message {
	uint32_t kind;
	int32_t result; /* of a reply: -errno, or as described for the kind */
};
#endif
