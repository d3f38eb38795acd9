/* SPDX-License-Identifier: Apache-2.0 */
/* The key that signs checkpoints, and the small files next to the database. */
#ifndef BRIG_LEDGER_CHAIN_KEY_H
#define BRIG_LEDGER_CHAIN_KEY_H

#include "base/bytes/chain.h"
#include "base/error.h"

#define CHAIN_KEY_NAME    "audit.key"  /* the secret half: 64 hex digits */
#define CHAIN_PUBLIC_NAME "audit.pub"  /* the public half: the same */
#define CHAIN_HEAD_NAME   "audit.head" /* the last checkpoint: its line */
/* The checkpoint up to which entries are archived; the ledger reads it, and deletes them. */
#define CHAIN_ARCHIVED_NAME "audit.archived"

/* Reads the key; when there is none and `make` is set, makes one. -ENOENT: there is none. */
int chain_key_load(int dir, bool make, struct chain_key *ret, struct brig_error *error);
/* Reads the head file. 0: none; 1: it exists; negative: it is damaged, or cannot be read. */
int chain_head_read(int dir, struct chain_checkpoint *ret, struct brig_error *error);
int chain_head_write(int dir, const struct chain_checkpoint *checkpoint, struct brig_error *error);
/* A public key: hex digits and optionally a newline. */
bool chain_public_parse(const char *text, size_t size, unsigned char public[CHAIN_KEY_SIZE]);

/* Reads a small regular file, up to `size` bytes; returns the number of bytes, or -errno. */
long chain_file_read(int dir, const char *name, char *data, size_t size);
#endif
