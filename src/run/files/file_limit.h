/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Did a file in /sandbox reach the largest size allowed? The kernel sends SIGXFSZ, which most
 * interpreters ignore: the write then fails with EFBIG, and only the program's own error reports
 * it. A file of exactly that size is the evidence. Call when the program has ended.
 */
#ifndef BRIG_RUN_FILES_FILE_LIMIT_H
#define BRIG_RUN_FILES_FILE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The most names that are checked, usable or not; a directory counts as eight, because it is opened
 * and listed. The walk takes a millisecond or two of the warden's time. A tmpfs lists the newest
 * files first.
 */
#define FILE_LIMIT_FILES_MAX 1024u

bool file_limit_reached(int sandbox, uint64_t limit_bytes);
#endif
