/* SPDX-License-Identifier: Apache-2.0 */
/* The form of a Host header: RFC 3986, 3.2.2, without user information. */
#include "http1/characters.h"
#include "http1/http1.h"

#define PORT_DIGITS_MAX 5

static unsigned char byte_at(const struct http1_text *text, size_t at)
{
	return at < text->size ? (unsigned char)text->at[at] : 0;
}

/* "[::1]": where it ends; 0: not an address. */
static size_t skip_address(const struct http1_text *text)
{
	size_t at = 1;

	while (character_hex(byte_at(text, at)) >= 0 || byte_at(text, at) == ':' ||
	       byte_at(text, at) == '.') {
		at++;
	}
	return at > 2 && byte_at(text, at) == ']' ? at + 1 : 0;
}

static size_t skip_name(const struct http1_text *text)
{
	size_t at = 0;

	for (;;) {
		if (byte_at(text, at) == '%' && character_hex(byte_at(text, at + 1)) >= 0 &&
		    character_hex(byte_at(text, at + 2)) >= 0) {
			at += 3;
		} else if (character_is_host(byte_at(text, at))) {
			at++;
		} else {
			return at;
		}
	}
}

bool http1_is_host(const struct http1_text *text)
{
	size_t at = byte_at(text, 0) == '[' ? skip_address(text) : skip_name(text);

	if (at == 0 || at == text->size) {
		return at > 0;
	}
	size_t digits = text->size - at - 1;
	if (text->at[at] != ':' || digits == 0 || digits > PORT_DIGITS_MAX) {
		return false;
	}
	while (++at < text->size) {
		if (!character_is_digit((unsigned char)text->at[at])) {
			return false;
		}
	}
	return true;
}
