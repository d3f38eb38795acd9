/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled programs by the hash of everything they were made from. An entry is one file, written
 * whole or not at all, with a hash of its content that is checked at every use. Only brig writes to
 * the directory; no cell contains it. An entry is found only by the same code that made it, so no
 * tenant can replace the program of another.
 */
#ifndef BRIG_LIB_BUILD_BUILD_CACHE_H
#define BRIG_LIB_BUILD_BUILD_CACHE_H

#include "lib/prepare/prepare.h"

/*
 * The maximum of all input files together, and of an entry. Longer programs are compiled each time:
 * files and entry are read, hashed and copied without a pause, by a thread that may have other
 * work.
 */
#define BUILD_BYTES_MAX (16u << 20)

/* The key of a compile cell's output. 0 or -errno; -EFBIG: the output is not cached. */
int build_key(const struct prepared *compile, char key[65]);
/* Is that still the key? Only input files on the host can have changed since. */
bool build_key_holds(const struct prepared *compile, const char *key);

/* 1: found, the files are added to the run's inputs; 0: not found, or damaged. */
int build_cache_load(const char *cache_dir, const char *key, struct prepared *run,
		     struct brig_error *err);
/* Best effort: a cache that cannot be written is no reason to fail. */
void build_cache_store(const char *cache_dir, const char *key, const struct brig_file_out *files,
		       size_t count);

/* An entry as bytes: the format, apart from any file system (so that it can be fuzzed). */
int build_entry_write(const struct brig_file_out *files, size_t count, void **ret, size_t *size);
int build_entry_read(const void *data, size_t size, struct prepared *run, struct brig_error *err);
#endif
