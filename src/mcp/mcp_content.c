/* SPDX-License-Identifier: Apache-2.0 */
/* Building the content of results. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/buf.h"
#include "base/bytes/utf8.h"
#include "mcp/mcp.h"

json_t *mcp_string(const char *text, size_t size)
{
	struct buf clean = { 0 };
	json_t *string = json_stringn(text, size);

	if (string) {
		return string;
	}
	for (size_t i = 0; i < size;) {
		size_t used;
		uint32_t c;
		char out[4];
		utf8_decode(text + i, size - i, &used, &c);
		buf_add(&clean, out, utf8_write(c, out));
		i += used;
	}
	string = clean.failed ? NULL : json_stringn(clean.data ? clean.data : "", clean.size);
	buf_done(&clean);
	return string;
}

static json_t *base64(const void *data, size_t size)
{
	size_t room = sodium_base64_ENCODED_LEN(size, sodium_base64_VARIANT_ORIGINAL);
	char *text = malloc(room);

	if (!text) {
		return NULL;
	}
	sodium_bin2base64(text, room, data, size, sodium_base64_VARIANT_ORIGINAL);
	json_t *string = json_string_nocheck(text);
	free(text);
	return string;
}

json_t *mcp_text(const char *text, size_t size)
{
	return json_pack("{s:s, s:o}", "type", "text", "text", mcp_string(text, size));
}

static json_t *media(const char *type, const char *mime_type, const void *data, size_t size)
{
	return json_pack("{s:s, s:o, s:s}", "type", type, "data", base64(data, size), "mimeType",
			 mime_type);
}

json_t *mcp_image(const char *mime_type, const void *data, size_t size)
{
	return media("image", mime_type, data, size);
}

json_t *mcp_audio(const char *mime_type, const void *data, size_t size)
{
	return media("audio", mime_type, data, size);
}

json_t *mcp_contents_text(const char *uri, const char *mime_type, const char *text, size_t size)
{
	return json_pack("{s:o, s:s*, s:o}", "uri", mcp_string(uri, strlen(uri)), "mimeType",
			 mime_type, "text", mcp_string(text, size));
}

json_t *mcp_contents_blob(const char *uri, const char *mime_type, const void *data, size_t size)
{
	return json_pack("{s:o, s:s*, s:o}", "uri", mcp_string(uri, strlen(uri)), "mimeType",
			 mime_type, "blob", base64(data, size));
}

json_t *mcp_embedded(json_t *contents)
{
	return json_pack("{s:s, s:o}", "type", "resource", "resource", contents);
}

json_t *mcp_result(size_t count, json_t *const *items)
{
	json_t *list = json_array();
	bool missing = !list;

	for (size_t i = 0; i < count; i++) {
		missing |= !items[i] || json_array_append_new(list, items[i]) < 0;
	}
	if (missing) {
		json_decref(list);
		return NULL;
	}
	return json_pack("{s:o}", "content", list);
}
