/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer: any bytes as text and as base64; jansson must read them back. */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_out.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition) {
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf buf = { 0 };
	struct json_out out = { .buf = &buf };
	char *key = strndup((const char *)data, size);

	require(key != NULL);
	json_open(&out, NULL, '{');
	json_textn(&out, "text", (const char *)data, size);
	json_base64(&out, "base64", data, size);
	json_ms(&out, "ms", size > 8 ? *data * UINT64_C(1000003) : 0);
	json_open(&out, "key", '{');
	json_nil(&out, key);
	json_close(&out, '}');
	json_close(&out, '}');
	require(!buf.failed && utf8_valid(buf.data, buf.size));
	for (size_t i = 0; i < buf.size; i++) {
		require((unsigned char)buf.data[i] >= 0x20 && buf.data[i] != 0x7f);
	}
	json_t *root =
		json_loadb(buf.data, buf.size, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);
	require(root != NULL);
	json_t *text = json_object_get(root, "text");
	if (utf8_valid((const char *)data, size)) {
		require(json_string_length(text) == size);
		require(memcmp(json_string_value(text), data, size) == 0);
	}
	require(json_string_length(json_object_get(root, "base64")) == (size + 2) / 3 * 4);
	json_decref(root);
	buf_done(&buf);
	free(key);
	return 0;
}
