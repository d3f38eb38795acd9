/* SPDX-License-Identifier: Apache-2.0 */
/* The question in a DNS message of a cell. Pure; the bytes are untrusted. RFC 1035. */
#ifndef BRIG_NET_DNS_QUESTION_H
#define BRIG_NET_DNS_QUESTION_H

#include <stddef.h>
#include <stdint.h>

#include "net/name.h"

#define DNS_HEAD       12
#define DNS_FLAG_REPLY 0x80
#define DNS_CLASS_IN   1

static inline uint16_t dns_get16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

/*
 * The name at `*at`, as text with dots; moves `*at` behind it. Compression pointers only lead back,
 * each further than the one before, so that none is followed twice. A name that is not a valid host
 * name gives "". -EBADMSG: not a name at all.
 */
int dns_name_read(const uint8_t *data, size_t size, size_t *at, char ret[NET_NAME_MAX + 1]);

struct dns_question {
	char name[NET_NAME_MAX + 1]; /* in its normal form; "": not a valid host name */
	uint16_t type;
	size_t end; /* of the question, in the message */
};

/* 0; -EINVAL: cannot be answered at all; -EBADMSG: malformed, which the answer reports. */
int dns_question_parse(const uint8_t *data, size_t size, struct dns_question *ret);
#endif
