/* SPDX-License-Identifier: Apache-2.0 */
/* DNS messages: see dns_message.h. The numbers are those of RFC 1035. */
#include "gate/dns/dns_message.h"

#include <errno.h>
#include <string.h>

#define FLAG_CUT    0x02
#define TYPE_CNAME  5
#define TTL_GIVEN   30 /* seconds: the gate's own table lives longer */
#define CHAIN_MAX   8
#define RECORDS_MAX 64

static void put16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

size_t dns_answer_make(const uint8_t *query, const struct dns_question *question,
		       enum dns_code code, const struct net_address *address, uint8_t *out,
		       size_t room)
{
	size_t size = question->end;

	if (size + 16 > room) {
		return 0;
	}
	memcpy(out, query, size);
	out[2] = (uint8_t)(DNS_FLAG_REPLY | 0x04 | (query[2] & 0x01)); /* authoritative */
	out[3] = (uint8_t)(0x80 | code);
	put16(out + 4, size > DNS_HEAD ? 1 : 0);
	put16(out + 6, address ? 1 : 0);
	put16(out + 8, 0);
	put16(out + 10, 0);
	if (address) {
		put16(out + size, 0xc000 | DNS_HEAD); /* the name in the question */
		put16(out + size + 2, DNS_A);
		put16(out + size + 4, DNS_CLASS_IN);
		put16(out + size + 6, 0);
		put16(out + size + 8, TTL_GIVEN);
		put16(out + size + 10, 4);
		memcpy(out + size + 12, address->bytes, 4);
		size += 16;
	}
	return size;
}

size_t dns_query_make(const char *name, uint16_t type, uint16_t id, uint8_t out[DNS_QUERY_MAX])
{
	size_t at = DNS_HEAD;

	memset(out, 0, DNS_HEAD);
	put16(out, id);
	out[2] = 0x01; /* recursion desired */
	put16(out + 4, 1);
	while (*name) {
		size_t length = strcspn(name, ".");
		out[at++] = (uint8_t)length;
		memcpy(out + at, name, length);
		at += length;
		name += length;
		name += *name == '.';
	}
	out[at++] = 0;
	put16(out + at, type);
	put16(out + at + 2, DNS_CLASS_IN);
	return at + 4;
}

struct record {
	char owner[NET_NAME_MAX + 1];
	uint16_t type, class;
	size_t data, size;
};

static int read_record(const uint8_t *data, size_t size, size_t *at, struct record *ret)
{
	if (dns_name_read(data, size, at, ret->owner) < 0 || *at + 10 > size) {
		return -EBADMSG;
	}
	ret->type = dns_get16(data + *at);
	ret->class = dns_get16(data + *at + 2);
	ret->size = dns_get16(data + *at + 8);
	ret->data = *at + 10;
	*at = ret->data + ret->size;
	return *at > size ? -EBADMSG : 0;
}

/* One pass over the answers, for records of one owner. 1: `owner` now holds an alias of it. */
static int pass(const uint8_t *data, size_t size, size_t at, uint16_t type, char *owner,
		struct dns_reply *reply)
{
	unsigned count = dns_get16(data + 6);
	size_t width = type == DNS_A ? 4 : 16;

	for (unsigned i = 0; i < count && i < RECORDS_MAX; i++) {
		struct record record;
		if (read_record(data, size, &at, &record) < 0) {
			return -EBADMSG;
		}
		if (record.class != DNS_CLASS_IN || strcmp(record.owner, owner) != 0) {
			continue;
		}
		if (record.type == TYPE_CNAME) {
			size_t target = record.data;
			char name[NET_NAME_MAX + 1];
			if (dns_name_read(data, size, &target, name) < 0 || !name[0]) {
				return -EBADMSG;
			}
			memcpy(owner, name, sizeof(name));
			return 1;
		}
		if (record.type == type && record.size == width &&
		    reply->count < DNS_ADDRESSES_MAX) {
			struct sockaddr_storage from = { 0 };
			struct net_address found = { .family = type == DNS_A ? 4 : 6 };
			uint16_t port;
			memcpy(found.bytes, data + record.data, width);
			/* Converted there and back, so that an IPv4-mapped address becomes IPv4. */
			net_address_to(&found, 0, &from);
			net_address_from(&from, &reply->addresses[reply->count++], &port);
		}
	}
	return 0;
}

int dns_reply_parse(const uint8_t *data, size_t size, const char *name, uint16_t type, uint16_t id,
		    struct dns_reply *ret)
{
	char owner[NET_NAME_MAX + 1];
	size_t at = DNS_HEAD;

	*ret = (struct dns_reply){ 0 };
	if (size < DNS_HEAD || dns_get16(data) != id || !(data[2] & DNS_FLAG_REPLY) ||
	    dns_get16(data + 4) != 1) {
		return -EBADMSG;
	}
	if (dns_name_read(data, size, &at, owner) < 0 || strcmp(owner, name) != 0 ||
	    at + 4 > size || dns_get16(data + at) != type ||
	    dns_get16(data + at + 2) != DNS_CLASS_IN) {
		return -EBADMSG;
	}
	ret->code = (enum dns_code)(data[3] & 0x0f);
	ret->truncated = (data[2] & FLAG_CUT) != 0;
	if (ret->code != DNS_FINE || ret->truncated) {
		return 0;
	}
	for (int links = 0; links < CHAIN_MAX; links++) {
		int r = pass(data, size, at + 4, type, owner, ret);
		if (r <= 0) {
			return r;
		}
	}
	return -EBADMSG;
}
