/* SPDX-License-Identifier: Apache-2.0 */
/* Units: the first byte chooses the unit, the rest is the text. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition) {
		abort();
	}
}

/* The text of a value parses as that value. */
static void check_round_trip(enum unit unit, uint64_t value)
{
	char text[40];
	uint64_t back;

	require(unit_format(unit, value, text, sizeof(text)) == text);
	require(strlen(text) <= 32);
	require(unit_parse(unit, text, &back) == 0 && back == value);
	for (size_t room = 1; room < sizeof(text); room++) {
		char *small = malloc(room);
		require(small != NULL);
		require(strlen(unit_format(unit, value, small, room)) < room);
		free(small);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0) {
		return 0;
	}
	enum unit unit = (enum unit)(data[0] % 4);
	char *text = strndup((const char *)data + 1, size - 1);
	require(text != NULL);
	const uint64_t untouched = UINT64_C(0x5555555555555555);
	uint64_t value = untouched;
	int r = unit_parse(unit, text, &value);
	require(r == 0 || r == -EINVAL || r == -ERANGE);
	require(r == 0 || value == untouched);
	if (r == 0) {
		require(text[0] >= '0' && text[0] <= '9' && strlen(text) <= 32);
		require((value == 0) == (strpbrk(text, "123456789") == NULL));
		check_round_trip(unit, value);
	}
	if (size >= 9) {
		uint64_t raw;
		memcpy(&raw, data + 1, sizeof(raw));
		check_round_trip(unit, raw);
	}
	free(text);
	return 0;
}
