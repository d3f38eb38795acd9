/* SPDX-License-Identifier: Apache-2.0 */
/* Contents for and from clients: base64, images, pages of text. */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/base64.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json/json_out.h"
#include "tools/tools_internal.h"

char *tools_decode(const char *base64, size_t *ret_size)
{
	size_t length = strlen(base64);
	unsigned char *data = malloc(length / 4 * 3 + 4);

	if (!data) {
		return NULL;
	}
	if (!base64_decode(base64, length, data, ret_size)) {
		free(data);
		return NULL;
	}
	data[*ret_size] = '\0';
	return (char *)data;
}

int tools_content(const json_t *object, char **ret, size_t *ret_size, struct brig_error *error)
{
	const json_t *text = json_object_get(object, "content");
	const json_t *base64 = json_object_get(object, "content_base64");

	if (!text == !base64) {
		return error_set(error, BRIG_E_INPUT, EINVAL,
				 "a file needs exactly one of content and content_base64");
	}
	if (text) {
		*ret_size = json_string_length(text);
		*ret = malloc(*ret_size + 1);
		if (!*ret) {
			return error_errno(error, BRIG_E_SYSTEM, ENOMEM, "a file");
		}
		memcpy(*ret, json_string_value(text), *ret_size);
		return 0;
	}
	if (strlen(json_string_value(base64)) == json_string_length(base64)) {
		*ret = tools_decode(json_string_value(base64), ret_size);
		if (*ret) {
			return 0;
		}
	}
	return error_set(error, BRIG_E_INPUT, EINVAL, "content_base64 is not base64");
}

const char *tools_image_type(const void *data, size_t size)
{
	static const struct {
		const char *type;
		const char *magic;
		size_t length, at;
	} kinds[] = {
		{ "image/png", "\x89PNG\r\n\x1a\n", 8, 0 },
		{ "image/jpeg", "\xff\xd8\xff", 3, 0 },
		{ "image/gif", "GIF8", 4, 0 },
		{ "image/webp", "WEBP", 4, 8 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (size >= kinds[i].at + kinds[i].length &&
		    memcmp((const char *)data + kinds[i].at, kinds[i].magic, kinds[i].length) ==
			    0) {
			return kinds[i].type;
		}
	}
	return NULL;
}

size_t tools_cut(const char *data, size_t size, size_t limit)
{
	if (size <= limit) {
		return size;
	}
	size_t cut = limit;
	for (int back = 0; back < 3 && cut > 1 && ((unsigned char)data[cut] & 0xC0) == 0x80;
	     back++) {
		cut--;
	}
	return ((unsigned char)data[cut] & 0xC0) == 0x80 ? limit : cut;
}

json_t *tools_page(const char *data, size_t size, size_t offset, size_t limit)
{
	if (offset > size) {
		offset = size;
	}
	size_t length = tools_cut(data + offset, size - offset, limit);
	if (utf8_valid(data + offset, length)) {
		return mcp_text(data + offset, length);
	}
	size_t room = sodium_base64_ENCODED_LEN(length, sodium_base64_VARIANT_ORIGINAL);
	_cleanup_free_ char *text = malloc(room);
	if (!text) {
		return NULL;
	}
	sodium_bin2base64(text, room, (const unsigned char *)data + offset, length,
			  sodium_base64_VARIANT_ORIGINAL);
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not know cleanup attributes */
	return mcp_text(text, strlen(text));
}
