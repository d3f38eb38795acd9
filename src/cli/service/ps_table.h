/* SPDX-License-Identifier: Apache-2.0 */
/* Executions as a table for people: `brig ps` and `brig top`. */
#ifndef BRIG_CLI_SERVICE_PS_TABLE_H
#define BRIG_CLI_SERVICE_PS_TABLE_H

#include <jansson.h>

#include "base/bytes/buf.h"
#include "base/error.h"

/* Leaves only queued and running ones in {"executions":[...]}, unless all are wanted. */
void ps_filter(json_t *page, bool all);
/*
 * A page of executions, the newest first: of this tenant; NULL: the caller's own, or with `all`
 * those of all tenants, if the caller is an operator.
 */
int ps_page(const char *socket, const char *tenant, bool all, unsigned limit, json_t **ret,
	    struct brig_error *error);
/* At most this many lines; 0: all. The short form has at most 80 columns. */
void ps_short(json_t *page, size_t most, struct buf *out);
void ps_table(json_t *page, size_t most, struct buf *out);
/* Is stdout a terminal that is too narrow for the long form? */
bool ps_narrow(void);
#endif
