/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Did a file in /sandbox reach the size that a file may have? The kernel sends SIGXFSZ, which most
 * interpreters ignore: the write then fails with EFBIG, and the program's own error is all that
 * there is. A file of just that size is what tells. Call when the program has ended.
 */
#ifndef BRIG_RUN_FILE_LIMIT_H
#define BRIG_RUN_FILE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * So many names are looked at, usable or not, and a directory counts as eight: it is opened and
 * listed. The walk is the warden's time, a millisecond or two of it. A tmpfs lists what was made
 * last first.
 */
#define FILE_LIMIT_FILES_MAX 1024u

bool file_limit_reached(int sandbox, uint64_t limit_bytes);
#endif
