/* Versions of programs, remembered in cache_dir/versions/ by the identity of the file. */
#ifndef BRIG_RUNTIME_VERSION_CACHE_H
#define BRIG_RUNTIME_VERSION_CACHE_H

#include <stdbool.h>

#include "base/sha256.h"

/* Identity of a program: path, size, time of change, inode, device and how it is asked. */
int version_key(const char *real_program, char *const *argv, char key[SHA256_HEX_SIZE]);

/* 0 with the version; negative: not remembered, or not to be trusted. cache_dir may be NULL. */
int version_recall(const char *cache_dir, const char *key, char version[64]);
/* Best effort: a cache that cannot be written is a slower start, not a failure. */
void version_remember(const char *cache_dir, const char *key, const char *version);
/* Letters, digits and . + _ ~ - only, at most 63. */
bool version_valid(const char *version);
#endif
