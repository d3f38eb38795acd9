/* SPDX-License-Identifier: Apache-2.0 */
/* A question for a name: see dns_question.h. */
#include "net/dns_question.h"

#include <errno.h>
#include <string.h>

#define LABELS_MAX 128

int dns_name_read(const uint8_t *data, size_t size, size_t *at, char ret[NET_NAME_MAX + 1])
{
	char text[NET_NAME_MAX + 2];
	size_t used = 0, place = *at, lowest = place;
	bool jumped = false, odd = false;

	for (unsigned labels = 0; labels < LABELS_MAX; labels++) {
		if (place >= size) {
			return -EBADMSG;
		}
		uint8_t length = data[place];
		if (length == 0) {
			*at = jumped ? *at : place + 1;
			ret[0] = '\0';
			if (!odd && used > 0 && !net_name_normal(text, used - 1, ret)) {
				ret[0] = '\0';
			}
			return 0;
		}
		if (length >= 0xc0) {
			if (place + 1 >= size) {
				return -EBADMSG;
			}
			size_t target = dns_get16(data + place) & 0x3fffu;
			*at = jumped ? *at : place + 2;
			if (target >= lowest) {
				return -EBADMSG;
			}
			jumped = true;
			place = lowest = target;
			continue;
		}
		if (length > 63 || place + 1 + length > size || used + length + 1 > sizeof(text)) {
			return -EBADMSG;
		}
		/* A dot within a label would look like another name. */
		odd |= memchr(data + place + 1, '.', length) != NULL;
		memcpy(text + used, data + place + 1, length);
		used += length;
		text[used++] = '.';
		place += 1u + length;
	}
	return -EBADMSG;
}

int dns_question_parse(const uint8_t *data, size_t size, struct dns_question *ret)
{
	size_t at = DNS_HEAD;

	if (size < DNS_HEAD || (data[2] & DNS_FLAG_REPLY)) {
		return -EINVAL;
	}
	*ret = (struct dns_question){ .end = DNS_HEAD };
	bool plain = (data[2] & 0x78) == 0 && dns_get16(data + 4) == 1;
	if (!plain || dns_name_read(data, size, &at, ret->name) < 0 || at + 4 > size) {
		return -EBADMSG;
	}
	ret->type = dns_get16(data + at);
	if (dns_get16(data + at + 2) != DNS_CLASS_IN) {
		ret->name[0] = '\0';
	}
	ret->end = at + 4;
	return 0;
}
