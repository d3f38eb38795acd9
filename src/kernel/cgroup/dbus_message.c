/* SPDX-License-Identifier: Apache-2.0 */
/* D-Bus messages: writes calls, reads replies. No input or output; tests/fuzz/fuzz_dbus.c. */
#include <endian.h>
#include <string.h>

#include "base/cleanup.h"
#include "kernel/cgroup/dbus.h"

#define TYPE_CALL 1
#define VERSION   1

enum field {
	FIELD_PATH = 1,
	FIELD_INTERFACE = 2,
	FIELD_MEMBER = 3,
	FIELD_ERROR_NAME = 4,
	FIELD_REPLY_SERIAL = 5,
	FIELD_DESTINATION = 6,
	FIELD_SIGNATURE = 8,
};

void dbus_put_align(struct buf *buf, size_t alignment)
{
	while (buf->size % alignment != 0 && !buf->failed) {
		buf_addc(buf, '\0');
	}
}

void dbus_put_u32(struct buf *buf, uint32_t value)
{
	dbus_put_align(buf, 4);
	buf_add(buf, &value, sizeof(value));
}

void dbus_put_u64(struct buf *buf, uint64_t value)
{
	dbus_put_align(buf, 8);
	buf_add(buf, &value, sizeof(value));
}

void dbus_put_string(struct buf *buf, const char *text)
{
	size_t size = strlen(text);

	dbus_put_u32(buf, (uint32_t)size);
	buf_add(buf, text, size + 1);
}

void dbus_put_signature(struct buf *buf, const char *text)
{
	size_t size = strlen(text);

	buf_addc(buf, (char)size);
	buf_add(buf, text, size + 1);
}

struct dbus_array dbus_array_begin(struct buf *buf, size_t alignment)
{
	struct dbus_array array;

	dbus_put_u32(buf, 0);
	array.length_at = buf->size - 4;
	/* The length does not include the padding before the first element. */
	dbus_put_align(buf, alignment);
	array.start = buf->size;
	return array;
}

void dbus_array_end(struct buf *buf, struct dbus_array array)
{
	uint32_t size = (uint32_t)(buf->size - array.start);

	if (!buf->failed) {
		memcpy(buf->data + array.length_at, &size, sizeof(size));
	}
}

static void put_field(struct buf *buf, enum field field, const char *signature, const char *text)
{
	if (!text || !*text) {
		return;
	}
	dbus_put_align(buf, 8);
	buf_addc(buf, (char)field);
	dbus_put_signature(buf, signature);
	if (*signature == 'g') {
		dbus_put_signature(buf, text);
	} else {
		dbus_put_string(buf, text);
	}
}

void dbus_message_build(struct buf *buf, const struct dbus_call *call, uint32_t serial)
{
	struct buf message = { 0 };
	struct dbus_array fields;

	buf_addc(&message, BYTE_ORDER == LITTLE_ENDIAN ? 'l' : 'B');
	buf_addc(&message, TYPE_CALL);
	buf_addc(&message, 0);
	buf_addc(&message, VERSION);
	dbus_put_u32(&message, call->body ? (uint32_t)call->body->size : 0);
	dbus_put_u32(&message, serial);
	fields = dbus_array_begin(&message, 8);
	put_field(&message, FIELD_PATH, "o", call->path);
	put_field(&message, FIELD_INTERFACE, "s", call->interface);
	put_field(&message, FIELD_MEMBER, "s", call->member);
	put_field(&message, FIELD_DESTINATION, "s", call->destination);
	put_field(&message, FIELD_SIGNATURE, "g", call->signature);
	dbus_array_end(&message, fields);
	dbus_put_align(&message, 8);
	if (call->body && call->body->size != 0) {
		buf_add(&message, call->body->data, call->body->size);
	}
	buf_add(buf, message.data, message.size);
	buf->failed |= message.failed || (call->body && call->body->failed);
	buf_done(&message);
}

/* Bounded reads of received bytes; after any error `bad` is set and everything reads as 0. */
struct dbus_reader {
	const uint8_t *data;
	size_t size;
	size_t at;
	bool big;
	bool bad;
};

static const uint8_t *take(struct dbus_reader *reader, size_t size)
{
	const uint8_t *at = reader->data + reader->at;

	if (reader->bad || size > reader->size - reader->at) {
		reader->bad = true;
		return NULL;
	}
	reader->at += size;
	return at;
}

static void align(struct dbus_reader *reader, size_t alignment)
{
	size_t rest = reader->at % alignment;

	if (rest != 0) {
		take(reader, alignment - rest);
	}
}

static uint8_t get_u8(struct dbus_reader *reader)
{
	const uint8_t *at = take(reader, 1);

	return at ? *at : 0;
}

static uint32_t get_u32(struct dbus_reader *reader)
{
	const uint8_t *at;
	uint32_t value;

	align(reader, 4);
	at = take(reader, 4);
	if (!at) {
		return 0;
	}
	memcpy(&value, at, sizeof(value));
	return reader->big ? be32toh(value) : le32toh(value);
}

/* Copies as much as fits, with control characters replaced: it appears in messages for users. */
static void copy_text(char *to, size_t to_size, const uint8_t *from, size_t size)
{
	size_t n = size < to_size ? size : to_size - 1;

	for (size_t i = 0; i < n; i++) {
		to[i] = from[i] < 0x20 || from[i] >= 0x7f ? '?' : (char)from[i];
	}
	to[n] = '\0';
}

static void get_text(struct dbus_reader *reader, size_t size, char *to, size_t to_size)
{
	const uint8_t *at = take(reader, size);
	const uint8_t *end = take(reader, 1);

	if (!at || !end || *end != '\0' || memchr(at, '\0', size)) {
		reader->bad = true;
		return;
	}
	copy_text(to, to_size, at, size);
}

static void get_string(struct dbus_reader *reader, char *to, size_t to_size)
{
	get_text(reader, get_u32(reader), to, to_size);
}

static void get_signature(struct dbus_reader *reader, char *to, size_t to_size)
{
	get_text(reader, get_u8(reader), to, to_size);
}

/* All fields of the specification are strings, paths, signatures or numbers. */
static void get_field(struct dbus_reader *reader, struct dbus_message *message, char signature[256])
{
	char type[256] = "", text[256] = "";
	uint32_t number = 0;
	uint8_t field;

	align(reader, 8);
	field = get_u8(reader);
	get_signature(reader, type, sizeof(type));
	if (strcmp(type, "s") == 0 || strcmp(type, "o") == 0) {
		get_string(reader, text, sizeof(text));
	} else if (strcmp(type, "g") == 0) {
		get_signature(reader, text, sizeof(text));
	} else if (strcmp(type, "u") == 0) {
		number = get_u32(reader);
	} else {
		reader->bad = true;
	}
	if (reader->bad) {
		return;
	}
	if (field == FIELD_REPLY_SERIAL && *type == 'u') {
		message->reply_serial = number;
	} else if (field == FIELD_ERROR_NAME && *type == 's') {
		copy_text(message->error_name, sizeof(message->error_name), (uint8_t *)text,
			  strlen(text));
	} else if (field == FIELD_SIGNATURE && *type == 'g') {
		memcpy(signature, text, sizeof(text));
	}
}

static void get_property(struct dbus_reader *reader, struct dbus_message *message)
{
	char type[256] = "";
	uint32_t value;

	get_signature(reader, type, sizeof(type));
	if (strcmp(type, "b") == 0) {
		value = get_u32(reader);
		message->has_boolean = value <= 1;
		message->boolean = value == 1;
	}
}

size_t dbus_message_size(const uint8_t *header)
{
	struct dbus_reader reader = { .data = header,
				      .size = DBUS_HEADER_SIZE,
				      .big = header[0] == 'B' };
	uint32_t body, fields;

	if ((header[0] != 'l' && header[0] != 'B') || header[1] == 0 || header[3] != VERSION) {
		return 0;
	}
	reader.at = 4;
	body = get_u32(&reader);
	reader.at = 12;
	fields = get_u32(&reader);
	if (body > DBUS_MESSAGE_MAX || fields > DBUS_MESSAGE_MAX) {
		return 0;
	}
	fields = (fields + 7) & ~7u;
	if (DBUS_HEADER_SIZE + fields + body > DBUS_MESSAGE_MAX) {
		return 0;
	}
	return DBUS_HEADER_SIZE + fields + body;
}

bool dbus_message_parse(const uint8_t *data, size_t size, struct dbus_message *ret)
{
	struct dbus_reader reader = { .data = data, .size = size };
	struct dbus_message message = { 0 };
	char signature[256] = "";
	size_t end;

	if (size < DBUS_HEADER_SIZE || dbus_message_size(data) != size) {
		return false;
	}
	reader.big = data[0] == 'B';
	reader.at = 12;
	end = get_u32(&reader);
	end += reader.at;
	reader.size = end; /* fields do not run into the body */
	while (!reader.bad && reader.at < end) {
		get_field(&reader, &message, signature);
	}
	reader.size = size;
	align(&reader, 8);
	if (*signature == 's') {
		get_string(&reader, message.text, sizeof(message.text));
	} else if (strcmp(signature, "v") == 0) {
		get_property(&reader, &message);
	}
	if (reader.bad) {
		return false;
	}
	message.type = data[1];
	*ret = message;
	return true;
}
