/* SPDX-License-Identifier: Apache-2.0 */
/* Replies of name servers: two bytes choose the query, the rest is the message. */
#include <stdlib.h>

#include "gate/dns/dns_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dns_reply reply;

	if (size < 2) {
		return 0;
	}
	uint16_t type = data[0] & 1 ? DNS_AAAA : DNS_A;
	if (dns_reply_parse(data + 1, size - 1, "a.test", type,
			    (uint16_t)(data[1] << 8 | data[2 % size]), &reply) == 0) {
		if (reply.count > DNS_ADDRESSES_MAX) {
			abort();
		}
		for (unsigned i = 0; i < reply.count; i++) {
			const struct net_address *address = &reply.addresses[i];
			if ((address->family != 4 && address->family != 6) ||
			    net_classify(address) > NET_NEVER) {
				abort();
			}
		}
	}
	return 0;
}
