/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes and signatures of the audit chain: see chain.h. */
#include "base/bytes/chain.h"

#include <inttypes.h>
#include <sodium/crypto_sign.h>
#include <sodium/utils.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes/sha256.h"

#define DOMAIN "brig-audit-1"

static void add_number(struct sha256 *hash, uint64_t number)
{
	unsigned char bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] = (unsigned char)(number >> (8 * i));
	}
	sha256_add(hash, bytes, sizeof(bytes));
}

void chain_hash(const struct chain_head *previous, const struct chain_entry *entry,
		unsigned char hash[CHAIN_HASH_SIZE])
{
	struct sha256 sum;

	sha256_init(&sum);
	sha256_add_field(&sum, DOMAIN, strlen(DOMAIN));
	sha256_add(&sum, previous->hash, CHAIN_HASH_SIZE);
	add_number(&sum, entry->sequence);
	add_number(&sum, entry->time_ms);
	sha256_add_field(&sum, entry->kind, entry->kind_size);
	sha256_add_field(&sum, entry->tenant, entry->tenant_size);
	sha256_add_field(&sum, entry->facts, entry->facts_size);
	crypto_hash_sha256_final(&sum.state, hash);
}

void chain_hex(const unsigned char *data, size_t size, char *hex)
{
	sodium_bin2hex(hex, 2 * size + 1, data, size);
}

/* Lower case only: one representation for each value. */
bool chain_unhex(const char *hex, size_t size, unsigned char *data, size_t data_size)
{
	static const char digits[] = "0123456789abcdef";

	if (size != 2 * data_size) {
		return false;
	}
	for (size_t i = 0; i < size; i++) {
		const char *digit = hex[i] ? strchr(digits, hex[i]) : NULL;
		if (!digit) {
			return false;
		}
		unsigned char value = (unsigned char)(digit - digits);
		data[i / 2] = i % 2 ? (unsigned char)(data[i / 2] << 4 | value) : value;
	}
	return true;
}

/* Writes the text that is signed; returns its length. */
static size_t signed_text(const struct chain_checkpoint *checkpoint, char text[CHAIN_LINE_MAX])
{
	char hash[CHAIN_HEX_SIZE];

	chain_hex(checkpoint->hash, CHAIN_HASH_SIZE, hash);
	int size = snprintf(text, CHAIN_LINE_MAX, DOMAIN " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s",
			    checkpoint->number, checkpoint->sequence, checkpoint->time_ms, hash);
	return (size_t)size;
}

void chain_sign(const struct chain_key *key, struct chain_checkpoint *checkpoint)
{
	char text[CHAIN_LINE_MAX];
	size_t size = signed_text(checkpoint, text);

	crypto_sign_detached(checkpoint->signature, NULL, (const unsigned char *)text, size,
			     key->secret);
}

bool chain_signed_by(const unsigned char public[CHAIN_KEY_SIZE],
		     const struct chain_checkpoint *checkpoint)
{
	char text[CHAIN_LINE_MAX];
	size_t size = signed_text(checkpoint, text);

	return crypto_sign_verify_detached(checkpoint->signature, (const unsigned char *)text, size,
					   public) == 0;
}

void chain_line(const struct chain_checkpoint *checkpoint, char line[CHAIN_LINE_MAX])
{
	char signature[2 * CHAIN_SIGNATURE_SIZE + 1];
	size_t size = signed_text(checkpoint, line);

	chain_hex(checkpoint->signature, CHAIN_SIGNATURE_SIZE, signature);
	(void)snprintf(line + size, CHAIN_LINE_MAX - size, " %s", signature);
}

/* Reads one word and the blank behind it; false: there is none. */
static bool take_word(const char **at, const char *end, const char **word, size_t *size)
{
	const char *blank = memchr(*at, ' ', (size_t)(end - *at));

	*word = *at;
	*size = (size_t)((blank ? blank : end) - *at);
	*at = blank ? blank + 1 : end;
	return *size > 0;
}

static bool take_number(const char **at, const char *end, uint64_t *ret)
{
	const char *word;
	size_t size;
	uint64_t value = 0;

	/* 18 digits always fit. A leading zero would be a second representation. */
	if (!take_word(at, end, &word, &size) || size > 18 || (word[0] == '0' && size > 1)) {
		return false;
	}
	for (size_t i = 0; i < size; i++) {
		if (word[i] < '0' || word[i] > '9') {
			return false;
		}
		value = value * 10 + (uint64_t)(word[i] - '0');
	}
	*ret = value;
	return true;
}

bool chain_line_parse(const char *line, size_t size, struct chain_checkpoint *ret)
{
	struct chain_checkpoint found = { 0 };
	const char *end = line + size, *word;
	size_t length;

	end -= size > 0 && end[-1] == '\n';
	if (!take_word(&line, end, &word, &length) || length != strlen(DOMAIN) ||
	    memcmp(word, DOMAIN, length) != 0 || !take_number(&line, end, &found.number) ||
	    !take_number(&line, end, &found.sequence) || !take_number(&line, end, &found.time_ms) ||
	    !take_word(&line, end, &word, &length) ||
	    !chain_unhex(word, length, found.hash, CHAIN_HASH_SIZE) ||
	    !take_word(&line, end, &word, &length) || line != end ||
	    !chain_unhex(word, length, found.signature, CHAIN_SIGNATURE_SIZE)) {
		return false;
	}
	*ret = found;
	return true;
}
