/* SPDX-License-Identifier: Apache-2.0 */
/* ClientHello: see client_hello.h. The numbers are those of RFC 8446 and RFC 6066. */
#include "gate/tls/client_hello.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define RECORD_HEAD      5
#define RECORD_HANDSHAKE 22
#define RECORD_MAX       16384
#define HANDSHAKE_HEAD   4
#define CLIENT_HELLO     1
#define EXTENSION_NAME   0
#define NAME_HOST        0

/* The bytes left to read. A read beyond the end sets `bad`, which stays set. */
struct hello_reader {
	const uint8_t *at, *end;
	bool bad;
};

static unsigned number(struct hello_reader *reader, unsigned bytes)
{
	unsigned value = 0;

	if (reader->bad || (size_t)(reader->end - reader->at) < bytes) {
		reader->bad = true;
		return 0;
	}
	while (bytes--) {
		value = value << 8 | *reader->at++;
	}
	return value;
}

/* A part with its length in front of it, in this many bytes. */
static struct hello_reader part(struct hello_reader *reader, unsigned bytes)
{
	unsigned length = number(reader, bytes);
	struct hello_reader inner = { .at = reader->at, .end = reader->at, .bad = reader->bad };

	if (reader->bad || (size_t)(reader->end - reader->at) < length) {
		reader->bad = inner.bad = true;
		return inner;
	}
	inner.end = inner.at + length;
	reader->at += length;
	return inner;
}

/*
 * Unwraps the handshake message from its records, and returns how many bytes those have. 0,
 * -EAGAIN, -EBADMSG.
 */
static int unwrap(const uint8_t *data, size_t size, uint8_t out[HELLO_MAX], size_t *ret_size,
		  size_t *ret_records)
{
	size_t at = 0, used = 0, want = HANDSHAKE_HEAD;

	while (used < want) {
		if (at < size && data[at] != RECORD_HANDSHAKE) {
			return -EBADMSG;
		}
		if (at + 1 < size && data[at + 1] != 3) {
			return -EBADMSG;
		}
		if (at + RECORD_HEAD > size) {
			return -EAGAIN;
		}
		size_t length = (size_t)data[at + 3] << 8 | data[at + 4];
		if (length == 0 || length > RECORD_MAX || used + length > HELLO_MAX) {
			return -EBADMSG;
		}
		size_t here = size - at - RECORD_HEAD < length ? size - at - RECORD_HEAD : length;
		memcpy(out + used, data + at + RECORD_HEAD, here);
		used += here;
		if (used >= 1 && out[0] != CLIENT_HELLO) {
			return -EBADMSG;
		}
		if (used >= HANDSHAKE_HEAD) {
			want = HANDSHAKE_HEAD +
			       ((size_t)out[1] << 16 | (size_t)out[2] << 8 | out[3]);
			if (want > HELLO_MAX) {
				return -EBADMSG;
			}
		}
		/* A second message in the same record would pass without inspection. */
		if (used >= HANDSHAKE_HEAD && used - here + length > want) {
			return -EBADMSG;
		}
		if (here < length) {
			return -EAGAIN;
		}
		at += RECORD_HEAD + length;
	}
	*ret_size = want;
	*ret_records = at;
	return 0;
}

static int read_server_name(struct hello_reader list, char ret[NET_NAME_MAX + 1])
{
	struct hello_reader names = part(&list, 2);

	if (list.bad || list.at != list.end || ret[0]) {
		return -EBADMSG;
	}
	while (names.at < names.end) {
		unsigned type = number(&names, 1);
		struct hello_reader name = part(&names, 2);
		/*
		 * Exactly one name of one kind: with two, server and gate might use different ones.
		 * No dot at its end, which RFC 6066 forbids: to a server it is another name.
		 */
		if (names.bad || type != NAME_HOST || ret[0] ||
		    (name.at < name.end && name.end[-1] == '.') ||
		    !net_name_normal((const char *)name.at, (size_t)(name.end - name.at), ret)) {
			return -EBADMSG;
		}
	}
	return ret[0] ? 0 : -EBADMSG;
}

static int read_hello(const uint8_t *data, size_t size, char ret[NET_NAME_MAX + 1])
{
	struct hello_reader hello = { .at = data + HANDSHAKE_HEAD, .end = data + size };

	number(&hello, 2); /* version */
	for (int i = 0; i < 8; i++) {
		number(&hello, 4); /* random */
	}
	part(&hello, 1); /* session */
	part(&hello, 2); /* ciphers */
	part(&hello, 1); /* compression */
	if (hello.bad) {
		return -EBADMSG;
	}
	if (hello.at == hello.end) {
		return 0;
	}
	struct hello_reader extensions = part(&hello, 2);
	if (hello.bad || hello.at != hello.end) {
		return -EBADMSG;
	}
	while (extensions.at < extensions.end) {
		unsigned type = number(&extensions, 2);
		struct hello_reader extension = part(&extensions, 2);
		if (extensions.bad) {
			return -EBADMSG;
		}
		int r = type == EXTENSION_NAME ? read_server_name(extension, ret) : 0;
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

int hello_name_parse(const unsigned char *data, size_t size, char ret[NET_NAME_MAX + 1])
{
	struct hello_reader list = { .at = data, .end = data + size };

	ret[0] = '\0';
	return read_server_name(list, ret);
}

int client_hello_parse(const unsigned char *data, size_t size, char ret[NET_NAME_MAX + 1],
		       size_t *ret_size)
{
	uint8_t handshake[HELLO_MAX];
	size_t length = 0, records = 0;
	char name[NET_NAME_MAX + 1] = "";
	int r = unwrap(data, size, handshake, &length, &records);

	r = r < 0 ? r : read_hello(handshake, length, name);
	if (r < 0) {
		return r;
	}
	memcpy(ret, name, sizeof(name));
	*ret_size = records;
	return 0;
}
