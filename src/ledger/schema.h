/* SPDX-License-Identifier: Apache-2.0 */
/* The database's tables, once. A file has one version (user_version) and is brought up to ours. */
#ifndef BRIG_LEDGER_SCHEMA_H
#define BRIG_LEDGER_SCHEMA_H

#include <sqlite3.h>

#include "base/error.h"

/* Makes the tables of an empty file, or brings those of an older version up to date. */
int schema_apply(sqlite3 *db, struct brig_error *error);
/*
 * Is every table, index and trigger just what it should be, and nothing else there? A trigger that
 * someone has added would run with every entry. -EBADMSG: no, and what differs.
 */
int schema_check(sqlite3 *db, struct brig_error *error);
#endif
