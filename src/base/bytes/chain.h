/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit chain's arithmetic, without a database. Each entry has the hash of the one before it;
 * a checkpoint is a signature over the number and the hash of one entry, and so over all before it.
 *
 * A checkpoint is one line of text, the same in the database, in the head file and in the log:
 *
 *	brig-audit-1 NUMBER SEQUENCE TIME_MS HASH SIGNATURE
 *
 * The signature is over all in front of it (without the blank). docs/audit.md has it for others.
 */
#ifndef BRIG_BASE_CHAIN_H
#define BRIG_BASE_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHAIN_HASH_SIZE      32
#define CHAIN_SIGNATURE_SIZE 64
#define CHAIN_KEY_SIZE       32
#define CHAIN_LINE_MAX       320
#define CHAIN_HEX_SIZE       (2 * CHAIN_HASH_SIZE + 1)

struct chain_entry {
	uint64_t sequence; /* from 1, without gaps */
	uint64_t time_ms;  /* since 1970 */
	const char *kind;
	size_t kind_size;
	const char *tenant; /* "" if there is none */
	size_t tenant_size;
	const char *facts; /* JSON: an object, sorted keys, no blanks */
	size_t facts_size;
};

/* The hash that the next entry links to. All zeros before the first. */
struct chain_head {
	uint64_t sequence;
	unsigned char hash[CHAIN_HASH_SIZE];
};

void chain_hash(const struct chain_head *previous, const struct chain_entry *entry,
		unsigned char hash[CHAIN_HASH_SIZE]);

struct chain_checkpoint {
	uint64_t number;   /* of the checkpoint, from 1, without gaps */
	uint64_t sequence; /* of the last entry that it covers; equals the number of entries */
	uint64_t time_ms;
	unsigned char hash[CHAIN_HASH_SIZE];
	unsigned char signature[CHAIN_SIGNATURE_SIZE];
};

struct chain_key {
	unsigned char public[CHAIN_KEY_SIZE];
	unsigned char secret[64];
};

void chain_sign(const struct chain_key *key, struct chain_checkpoint *checkpoint);
bool chain_signed_by(const unsigned char public[CHAIN_KEY_SIZE],
		     const struct chain_checkpoint *checkpoint);

void chain_line(const struct chain_checkpoint *checkpoint, char line[CHAIN_LINE_MAX]);
/* Strict; a newline at the end is allowed. */
bool chain_line_parse(const char *line, size_t size, struct chain_checkpoint *ret);

void chain_hex(const unsigned char *data, size_t size, char *hex);
bool chain_unhex(const char *hex, size_t size, unsigned char *data, size_t data_size);
#endif
