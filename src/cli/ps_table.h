/* SPDX-License-Identifier: Apache-2.0 */
/* Executions as a table for people: `brig ps` and `brig top`. */
#ifndef BRIG_CLI_PS_TABLE_H
#define BRIG_CLI_PS_TABLE_H

#include <jansson.h>

#include "base/buf.h"

/* Leaves only those under way in {"executions":[...]}, unless all are wanted. */
void ps_filter(json_t *page, bool all);
/* At most so many lines; 0: all. */
void ps_table(json_t *page, size_t most, struct buf *out);
#endif
