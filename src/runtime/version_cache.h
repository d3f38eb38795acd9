/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versions of programs, cached by the identity of the file: in memory as long as its owner lives,
 * and in cache_dir/versions/ for other processes.
 */
#ifndef BRIG_RUNTIME_VERSION_CACHE_H
#define BRIG_RUNTIME_VERSION_CACHE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes/sha256.h"

#define VERSION_BYTES 64
#define VERSIONS_MAX  64 /* in memory: more than there are languages; the oldest is replaced */

struct version_memory {
	struct {
		char key[SHA256_HEX_SIZE];   /* empty: unused */
		char version[VERSION_BYTES]; /* empty: the program does not print one */
	} kept[VERSIONS_MAX];
	size_t next;
};

/*
 * Identity of a program: path, size, modification time, inode, device and the arguments for its
 * version.
 */
int version_key(const char *real_program, char *const *argv, char key[SHA256_HEX_SIZE]);

/* 0 with the version; negative: not cached, or not trusted. cache_dir may be NULL. */
int version_recall(const char *cache_dir, const char *key, char version[VERSION_BYTES]);
/* Best effort: a cache that cannot be written is a slower start, not a failure. */
void version_remember(const char *cache_dir, const char *key, const char *version);
/* The same in memory, for any answer. `memory` may be NULL. */
int version_memory_recall(const struct version_memory *memory, const char *key,
			  char version[VERSION_BYTES]);
void version_memory_keep(struct version_memory *memory, const char *key, const char *version);
/* Letters, digits and . + _ ~ - only, at most 63. */
bool version_valid(const char *version);
#endif
