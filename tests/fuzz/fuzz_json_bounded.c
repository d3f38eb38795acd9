/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of large texts against jansson alone: both refuse, or both give the same result.
 * Blanks in front make every text a large one.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_bounded.h"

#define BLANKS (17u << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct json_bounds bounds = { .depth = 2000, .values = 1000000 };
	static const struct json_bounds with_nul = { .depth = 2000,
						     .values = 1000000,
						     .allow_nul = true };
	bool nul = size % 2;
	size_t flags = JSON_REJECT_DUPLICATES | (nul ? JSON_ALLOW_NUL : 0);
	char *text = malloc(BLANKS + size);

	if (!text) {
		return 0;
	}
	memset(text, ' ', BLANKS);
	memcpy(text + BLANKS, data, size);
	json_t *theirs = json_loadb(text + BLANKS, size, flags, NULL);
	json_t *ours = json_bounded_load(text, BLANKS + size, nul ? &with_nul : &bounds, NULL);
	if (theirs ? !ours || !json_equal(ours, theirs) : ours != NULL) {
		abort();
	}
	json_decref(theirs);
	json_decref(ours);
	free(text);
	return 0;
}
