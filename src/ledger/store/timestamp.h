/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time in RFC 3339 format, in UTC: "2026-01-31T12:00:00.000Z". */
#ifndef BRIG_LEDGER_TIMESTAMP_H
#define BRIG_LEDGER_TIMESTAMP_H

#include <stdint.h>

#define TIMESTAMP_SIZE 80 /* enough for any value of an int: gcc checks it */

const char *timestamp_format(uint64_t time_ms, char text[TIMESTAMP_SIZE]);
/* A date alone, or date and time ending in Z, with or without fractions; 0 or -EINVAL. */
int timestamp_parse(const char *text, uint64_t *ret_ms);
/* The time of day, in ms since 1970. */
uint64_t timestamp_now_ms(void);
#endif
