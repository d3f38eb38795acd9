/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An audit chain as text, one line for each entry and each checkpoint, in their order:
 *
 *	{"sequence":1,"time_ms":2,"kind":"k","tenant":"t","hash":"64 hex digits","facts":{...}}
 *	brig-audit-1 NUMBER SEQUENCE TIME_MS HASH SIGNATURE
 *
 * A part that does not begin with the first entry begins with the checkpoint in front of it.
 */
#ifndef BRIG_LEDGER_AUDIT_TEXT_H
#define BRIG_LEDGER_AUDIT_TEXT_H

#include "base/buf.h"
#include "ledger/audit_file.h"

/* The line of an entry. Only of one whose texts are those of the ledger: `odd` is not set. */
void audit_text_entry(const struct audit_row *row, struct buf *out);
/* Is this the beginning of such a file, and not of a database? */
bool audit_text_is(const char *path);
/* Into an empty database of the ledger's tables. 0 or -errno; -EBADMSG: it is no such text. */
int audit_text_load(const char *path, sqlite3 *db, struct brig_error *error);
#endif
