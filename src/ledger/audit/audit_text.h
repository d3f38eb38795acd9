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

#include "base/bytes/buf.h"
#include "ledger/audit/audit_file.h"

/* The line of an entry, which must have the ledger's types: `odd` is not set. */
void audit_text_entry(const struct audit_row *row, struct buf *out);
/* Does the file begin like such a text, and not like a database? */
bool audit_text_is(const char *path);
/*
 * Loads it into an empty database with the ledger's tables. 0 or -errno; -EBADMSG: not such a text.
 */
int audit_text_load(const char *path, sqlite3 *db, struct brig_error *error);
#endif
