/* SPDX-License-Identifier: Apache-2.0 */
/* Names from outside the cell: checked as text here, and again by openat2 when they are used. */
#ifndef BRIG_BASE_PATH_H
#define BRIG_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATH_GLOB_BYTES_MAX 1023 /* a longer pattern could name no path, and matches nothing */
/* The most patterns of one caller at a time, each of which may be matched with every file. */
#define PATH_GLOBS_MAX       100
#define PATH_GLOBS_BYTES_MAX 8192

/*
 * A relative path that stays beneath its directory: no leading '/', no empty, "." or ".." part,
 * each part at most 255 bytes, at most 1023 bytes and 32 parts in all, no control character or
 * DEL, valid UTF-8. On failure `why` (may be NULL) points to a static text.
 */
bool path_is_beneath(const char *path, const char **why);

/*
 * fnmatch-like globs on relative paths: '*' and '?' stop at '/', "**" does not; none of them
 * matches a dot that starts a part, which the pattern must spell out. Linear time.
 */
bool path_glob(const char *pattern, const char *path);

/*
 * Matches many paths against the same patterns (NULL-terminated; or NULL), which are compiled once.
 * Returns the first one that matches, or -1. Without `hides`, dots are like any other byte. `work`
 * grows by the cost: words of 64 states that were updated, a few nanoseconds each.
 */
struct path_globs;
int path_globs_new(const char *const *patterns, struct path_globs **ret);
void path_globs_free(struct path_globs *globs);
int path_globs_find(const struct path_globs *globs, const char *path, bool hides, uint64_t *work);
/*
 * Relative to the working directory, unless it begins with a slash; free it. NULL: no memory, or
 * not found.
 */
char *path_absolute(const char *path);
/* Is one of the two absolute paths the other, or a directory above it? */
bool path_overlaps(const char *one, const char *other);
#endif
