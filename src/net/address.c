/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses: see address.h. */
#include "net/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static unsigned width(const struct net_address *address)
{
	return address->family == 4 ? 32 : 128;
}

/* ::ffff:1.2.3.4 reaches the same host as 1.2.3.4: both must have the same form. */
static void unmap(struct net_address *address)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (address->family == 6 && memcmp(address->bytes, mapped, sizeof(mapped)) == 0) {
		address->family = 4;
		memmove(address->bytes, address->bytes + 12, 4);
		memset(address->bytes + 4, 0, 12);
	}
}

int net_address_parse(const char *text, struct net_address *ret)
{
	struct net_address address = { .family = 4 };

	if (inet_pton(AF_INET, text, address.bytes) != 1) {
		address = (struct net_address){ .family = 6 };
		if (inet_pton(AF_INET6, text, address.bytes) != 1) {
			return -EINVAL;
		}
		unmap(&address);
	}
	*ret = address;
	return 0;
}

const char *net_address_format(const struct net_address *address, char text[NET_ADDRESS_TEXT])
{
	if (!inet_ntop(address->family == 4 ? AF_INET : AF_INET6, address->bytes, text,
		       NET_ADDRESS_TEXT)) {
		text[0] = '\0';
	}
	return text;
}

bool net_address_equal(const struct net_address *a, const struct net_address *b)
{
	return a->family == b->family && memcmp(a->bytes, b->bytes, width(a) / 8) == 0;
}

static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (memcmp(a, b, whole) != 0) {
		return false;
	}
	return rest == 0 || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0;
}

static bool is_masked(const struct net_prefix *prefix)
{
	for (unsigned bit = prefix->bits; bit < width(&prefix->address); bit++) {
		if (prefix->address.bytes[bit / 8] & (0x80u >> (bit % 8))) {
			return false;
		}
	}
	return true;
}

int net_prefix_parse(const char *text, struct net_prefix *ret)
{
	char copy[NET_ADDRESS_TEXT];
	const char *slash = strchr(text, '/');
	size_t length = slash ? (size_t)(slash - text) : strlen(text);
	struct net_prefix prefix = { 0 };

	if (length >= sizeof(copy)) {
		return -EINVAL;
	}
	memcpy(copy, text, length);
	copy[length] = '\0';
	if (net_address_parse(copy, &prefix.address) < 0) {
		return -EINVAL;
	}
	prefix.bits = (uint8_t)width(&prefix.address);
	if (slash) {
		const char *digits = slash + 1;
		size_t count = strspn(digits, "0123456789");
		if (count == 0 || count > 3 || digits[count] || (count > 1 && digits[0] == '0')) {
			return -EINVAL;
		}
		unsigned long bits = strtoul(digits, NULL, 10);
		/* The prefix length of ::ffff:10.0.0.0/104 counts in the other notation. */
		if (bits > prefix.bits || (prefix.address.family == 4 && strchr(copy, ':'))) {
			return -EINVAL;
		}
		prefix.bits = (uint8_t)bits;
	}
	if (!is_masked(&prefix)) {
		return -EINVAL;
	}
	*ret = prefix;
	return 0;
}

bool net_prefix_has(const struct net_prefix *prefix, const struct net_address *address)
{
	return prefix->address.family == address->family &&
	       same_bits(prefix->address.bytes, address->bytes, prefix->bits);
}

bool net_prefix_covers(const struct net_prefix *wide, const struct net_prefix *narrow)
{
	return wide->bits <= narrow->bits && net_prefix_has(wide, &narrow->address);
}

bool net_prefix_is_one(const struct net_prefix *prefix)
{
	return prefix->bits == width(&prefix->address);
}

/*
 * The first line that contains the address decides. From the IANA registries of special addresses.
 */
static const struct {
	uint8_t family, bits;
	uint8_t bytes[16];
	enum net_class class;
} places[] = {
	{ 4, 8, { 0 }, NET_NEVER },  /* "this network": the kernel takes it for this host */
	{ 4, 8, { 10 }, NET_LOCAL }, /* private */
	{ 4, 32, { 100, 100, 100, 200 }, NET_LINK }, /* a cloud's metadata */
	{ 4, 10, { 100, 64 }, NET_LOCAL },           /* carriers' own */
	{ 4, 8, { 127 }, NET_LOCAL },                /* loopback */
	{ 4, 16, { 169, 254 }, NET_LINK },           /* link-local; metadata */
	{ 4, 12, { 172, 16 }, NET_LOCAL },           /* private */
	{ 4, 32, { 192, 0, 0, 192 }, NET_LINK },     /* a cloud's metadata */
	{ 4, 24, { 192, 0, 0 }, NET_NEVER },         /* protocols' own */
	{ 4, 24, { 192, 0, 2 }, NET_NEVER },         /* documentation */
	{ 4, 24, { 192, 88, 99 }, NET_NEVER },       /* 6to4 relays */
	{ 4, 16, { 192, 168 }, NET_LOCAL },          /* private */
	{ 4, 15, { 198, 18 }, NET_NEVER },           /* the gate's own, in cells */
	{ 4, 24, { 198, 51, 100 }, NET_NEVER },      /* documentation */
	{ 4, 24, { 203, 0, 113 }, NET_NEVER },       /* documentation */
	{ 4, 3, { 224 }, NET_NEVER },                /* multicast, reserved, broadcast */
	{ 4, 0, { 0 }, NET_PUBLIC },

	{ 6, 128, { [15] = 1 }, NET_LOCAL },                                 /* loopback */
	{ 6, 128, { 0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, 0x54 }, NET_LINK }, /* metadata */
	{ 6, 7, { 0xfc }, NET_LOCAL },                                       /* private */
	{ 6, 10, { 0xfe, 0x80 }, NET_LINK },                                 /* link-local */
	{ 6, 10, { 0xfe, 0xc0 }, NET_LOCAL },             /* site-local, of old */
	{ 6, 32, { 0x20, 0x01, 0x0d, 0xb8 }, NET_NEVER }, /* documentation */
	{ 6, 20, { 0x3f, 0xff, 0x00 }, NET_NEVER },       /* documentation */
	{ 6, 23, { 0x20, 0x01, 0x00 }, NET_NEVER },       /* Teredo and other protocols' own */
	{ 6, 16, { 0x20, 0x02 }, NET_NEVER },             /* 6to4: an embedded IPv4 address */
	{ 6, 3, { 0x20 }, NET_PUBLIC },
	{ 6, 0, { 0 }, NET_NEVER }, /* multicast, unassigned, old mappings of IPv4 */
};

/* 64:ff9b::/96 is translated to an IPv4 address: it is classified as that. */
static bool is_translated(const struct net_address *address)
{
	static const uint8_t translator[12] = { 0x00, 0x64, 0xff, 0x9b };

	return address->family == 6 && memcmp(address->bytes, translator, 12) == 0;
}

bool net_address_is_loopback(const struct net_address *address)
{
	static const uint8_t six[16] = { [15] = 1 };

	return address->family == 4 ? address->bytes[0] == 127
				    : memcmp(address->bytes, six, sizeof(six)) == 0;
}

enum net_class net_classify(const struct net_address *address)
{
	struct net_address subject = *address;

	unmap(&subject);
	if (is_translated(&subject)) {
		struct net_address inner = { .family = 4 };
		memcpy(inner.bytes, subject.bytes + 12, 4);
		subject = inner;
	}
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (places[i].family == subject.family &&
		    same_bits(places[i].bytes, subject.bytes, places[i].bits)) {
			return places[i].class;
		}
	}
	return NET_NEVER;
}

int net_address_from(const struct sockaddr_storage *from, struct net_address *ret, uint16_t *port)
{
	struct net_address address = { 0 };

	if (from->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)from;
		address.family = 4;
		memcpy(address.bytes, &in->sin_addr, 4);
		*port = ntohs(in->sin_port);
	} else if (from->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)from;
		address.family = 6;
		memcpy(address.bytes, &in->sin6_addr, 16);
		*port = ntohs(in->sin6_port);
		unmap(&address);
	} else {
		return -EAFNOSUPPORT;
	}
	*ret = address;
	return 0;
}

socklen_t net_address_to(const struct net_address *address, uint16_t port,
			 struct sockaddr_storage *ret)
{
	*ret = (struct sockaddr_storage){ 0 };
	if (address->family == 4) {
		struct sockaddr_in *in = (struct sockaddr_in *)ret;
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, address->bytes, 4);
		return sizeof(*in);
	}
	struct sockaddr_in6 *in = (struct sockaddr_in6 *)ret;
	in->sin6_family = AF_INET6;
	in->sin6_port = htons(port);
	memcpy(&in->sin6_addr, address->bytes, 16);
	return sizeof(*in);
}
