/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry of the build cache, read from any bytes. The hash over the content would stop a fuzzer,
 * so each input is read twice: as it is, and as the content of an entry whose hash is right.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/sha256.h"
#include "base/files/path.h"
#include "lib/build/build_cache.h"

#define MAGIC      "brigbld1"
#define HEAD_BYTES (sizeof(MAGIC) - 1 + 64)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_entry(const void *data, size_t size)
{
	struct brig_error err = { 0 };
	struct prepared run = { .ids = -1, .workdir_fd = -1, .spec = { .devices = -1 } };
	int r = build_entry_read(data, size, &run, &err);

	if (r < 0 && r != -EBADMSG && r != -ENOMEM && err.message[0] == '\0') {
		abort();
	}
	for (size_t i = 0; i < run.inputs_count; i++) {
		const struct spec_input *input = &run.inputs[i];
		if (!path_is_beneath(input->name, NULL) || input->size > size) {
			abort();
		}
	}
	prepared_done(&run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sha256 hash;
	char hex[SHA256_HEX_SIZE];
	char *whole = malloc(HEAD_BYTES + size);

	if (!whole) {
		return 0;
	}
	sha256_init(&hash);
	sha256_add(&hash, data, size);
	sha256_hex(&hash, hex);
	memcpy(whole, MAGIC, sizeof(MAGIC) - 1);
	memcpy(whole + sizeof(MAGIC) - 1, hex, 64);
	if (size) {
		memcpy(whole + HEAD_BYTES, data, size);
	}
	read_entry(data, size);
	read_entry(whole, HEAD_BYTES + size);
	free(whole);
	return 0;
}
