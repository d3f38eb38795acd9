/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sealing requestState: base64url of the time it expires, a keyed hash (BLAKE2b) and the state. The
 * hash also covers the request that the state belongs to, which the client has to repeat anyway.
 */
#include "mcp/mcp_sealed.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "mcp/mcp_limits.h"

#define HASH     32
#define HEAD     (8 + HASH)
#define ALPHABET "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
#define VARIANT  sodium_base64_VARIANT_URLSAFE_NO_PADDING

/* With its length before it, so that different lists of fields have different hashes. */
static void hash_field(crypto_generichash_state *hash, const void *data, size_t size)
{
	uint64_t length = size;

	crypto_generichash_update(hash, (const void *)&length, sizeof(length));
	crypto_generichash_update(hash, data, size);
}

static int seal_hash(const struct mcp_seal *seal, const uint8_t end[8], const char *state,
		     size_t size, uint8_t ret[HASH])
{
	crypto_generichash_state hash;
	_cleanup_free_ char *arguments =
		seal->arguments ? json_dumps(seal->arguments, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

	if (seal->arguments && !arguments) {
		return -1;
	}
	crypto_generichash_init(&hash, seal->key, MCP_SEAL_KEY, HASH);
	hash_field(&hash, seal->tenant, strlen(seal->tenant));
	hash_field(&hash, seal->method, strlen(seal->method));
	hash_field(&hash, seal->name, strlen(seal->name));
	hash_field(&hash, arguments ? arguments : "{}", arguments ? strlen(arguments) : 2);
	hash_field(&hash, end, 8);
	hash_field(&hash, state, size);
	crypto_generichash_final(&hash, ret, HASH);
	return 0;
}

char *mcp_seal(const struct mcp_seal *seal, const char *state, uint64_t good_s)
{
	size_t size = strlen(state);
	uint64_t end = seal->now_s + good_s;
	_cleanup_free_ char *open = malloc(HEAD + size);
	uint8_t *raw = (uint8_t *)open;

	if (!raw) {
		return NULL;
	}
	for (int i = 0; i < 8; i++) {
		raw[i] = (uint8_t)(end >> (56 - 8 * i));
	}
	memcpy(raw + HEAD, state, size);
	if (seal_hash(seal, raw, state, size, raw + 8) < 0) {
		return NULL;
	}
	size_t room = sodium_base64_ENCODED_LEN(HEAD + size, VARIANT);
	char *text = malloc(room);
	if (text) {
		sodium_bin2base64(text, room, raw, HEAD + size, VARIANT);
	}
	return text;
}

/* The state in the decoded bytes; NULL: not valid. */
static char *open_seal(const struct mcp_seal *seal, const uint8_t *raw, size_t size)
{
	const char *state = (const char *)raw + HEAD;
	uint8_t hash[HASH];
	uint64_t end = 0;

	if (size < HEAD || seal_hash(seal, raw, state, size - HEAD, hash) < 0 ||
	    sodium_memcmp(hash, raw + 8, HASH) != 0) {
		return NULL;
	}
	for (int i = 0; i < 8; i++) {
		end = end << 8 | raw[i];
	}
	char *text = end < seal->now_s ? NULL : malloc(size - HEAD + 1);
	if (text) {
		memcpy(text, state, size - HEAD);
		text[size - HEAD] = '\0';
	}
	return text;
}

char *mcp_unseal(const struct mcp_seal *seal, const char *sealed)
{
	size_t length = strlen(sealed), size;

	/* libsodium takes bytes above 127 for "_". */
	if (length > MCP_STATE_MAX || strspn(sealed, ALPHABET) != length) {
		return NULL;
	}
	uint8_t *raw = malloc(length + 1);
	char *state = NULL;
	if (raw &&
	    sodium_base642bin(raw, length, sealed, length, NULL, &size, NULL, VARIANT) == 0) {
		state = open_seal(seal, raw, size);
	}
	free(raw);
	return state;
}
