/* Names that cross the border: checked as text here, and again by openat2 when they are used. */
#ifndef BRIG_BASE_PATH_H
#define BRIG_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A relative path that stays beneath its directory: no leading '/', no empty, "." or ".." part,
 * each part at most 255 bytes, at most 1023 bytes and 32 parts in all, no control character or
 * DEL, valid UTF-8. On failure `why` (may be NULL) points to a static text.
 */
bool path_is_beneath(const char *path, const char **why);

/*
 * fnmatch-like globs on relative paths: '*' and '?' stop at '/', "**" does not; none of them stands
 * for a dot that starts a part, which the pattern must spell. Linear time.
 */
bool path_glob(const char *pattern, const char *path);
/* The same, but dots are like any other byte: for whoever wants to miss nothing. */
bool path_glob_all(const char *pattern, const char *path);
#endif
