/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled programs by the hash of everything they were made from. An entry is one file, written
 * whole or not at all, with a hash of its content that is checked at every use. Only brig writes
 * there; a tenant's code never sees the directory, and what it compiles to is found again only by
 * the very same code: nobody can put anything in another's place.
 */
#ifndef BRIG_LIB_BUILD_BUILD_CACHE_H
#define BRIG_LIB_BUILD_BUILD_CACHE_H

#include "lib/prepare/prepare.h"

/*
 * What is longer is compiled anew each time: all input files together, and an entry. Both are read,
 * hashed and copied in one go, by a thread that others may wait for.
 */
#define BUILD_BYTES_MAX (16u << 20)

/* The key of what a compile cell will make. 0 or -errno; -EFBIG: it is not kept. */
int build_key(const struct prepared *compile, char key[65]);
/* Is that still its key? Only files of the host can have changed since. */
bool build_key_holds(const struct prepared *compile, const char *key);

/* 1: found, the files are added to the run's inputs; 0: not there (or not whole). */
int build_cache_load(const char *cache_dir, const char *key, struct prepared *run,
		     struct brig_error *err);
/* Best effort: a cache that cannot be written is no reason to fail. */
void build_cache_store(const char *cache_dir, const char *key, const struct brig_file_out *files,
		       size_t count);

/* An entry as bytes: the format, apart from any file system (so that it can be fuzzed). */
int build_entry_write(const struct brig_file_out *files, size_t count, void **ret, size_t *size);
int build_entry_read(const void *data, size_t size, struct prepared *run, struct brig_error *err);
#endif
