/* SPDX-License-Identifier: Apache-2.0 */
/* A call unpacked from any bytes: refused, or packed again it gives the same bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/block.h"
#include "engine/engine_pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void unpack(const uint8_t *data, size_t size, struct block *shared)
{
	struct engine_unpacked got;
	char *again = NULL, *block = malloc(size ? size : 1);
	size_t again_size = 0;

	memcpy(block, data, size);
	if (engine_unpack(block, size, shared, &got) == 0) {
		if (engine_pack(&got.call, &again, &again_size) < 0 || again_size != size ||
		    memcmp(block, again, size) != 0) {
			abort();
		}
		free(again);
		engine_unpacked_done(&got);
	}
	free(block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Any descriptor is good enough: it is not read. */
	struct block shared = { .fd = 0, .data = "one\0two\0three", .size = 14 };

	unpack(data, size, NULL);
	unpack(data, size, &shared);
	return 0;
}
