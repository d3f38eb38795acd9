/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DNS messages in both directions: the cell's queries, which are answered here, and answers of the
 * host's name servers. Pure: bytes in, bytes out; both come from untrusted peers.
 */
#ifndef BRIG_GATE_DNS_MESSAGE_H
#define BRIG_GATE_DNS_MESSAGE_H

#include "net/address.h"
#include "net/dns_question.h"

#define DNS_MESSAGE_MAX   4096
#define DNS_QUERY_MAX     300
#define DNS_ADDRESSES_MAX 16

enum dns_type { DNS_A = 1, DNS_AAAA = 28 };
enum dns_code { DNS_FINE = 0, DNS_FORMAT = 1, DNS_FAILED = 2, DNS_NO_NAME = 3, DNS_REFUSED = 5 };

/*
 * Answers `query`, with an address or without (NULL). Returns the size; a `room` of 512 is enough.
 */
size_t dns_answer_make(const uint8_t *query, const struct dns_question *question,
		       enum dns_code code, const struct net_address *address, uint8_t *out,
		       size_t room);

size_t dns_query_make(const char *name, uint16_t type, uint16_t id, uint8_t out[DNS_QUERY_MAX]);

struct dns_reply {
	enum dns_code code;
	bool truncated;
	unsigned count;
	struct net_address addresses[DNS_ADDRESSES_MAX];
};

/* 0, or -EBADMSG: not an answer to this query. */
int dns_reply_parse(const uint8_t *data, size_t size, const char *name, uint16_t type, uint16_t id,
		    struct dns_reply *ret);
#endif
