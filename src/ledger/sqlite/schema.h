/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of the database. A file has a version (user_version) and is migrated to the current
 * one.
 */
#ifndef BRIG_LEDGER_SQLITE_SCHEMA_H
#define BRIG_LEDGER_SQLITE_SCHEMA_H

#include <sqlite3.h>

#include "base/error.h"

/* Makes the tables in an empty file, or migrates those of an older version. */
int schema_apply(sqlite3 *db, struct brig_error *error);
/*
 * Is every table, index and trigger exactly as defined, and nothing else there? A trigger that was
 * added would run with every entry. -EBADMSG: no, and the difference.
 */
int schema_check(sqlite3 *db, struct brig_error *error);
#endif
