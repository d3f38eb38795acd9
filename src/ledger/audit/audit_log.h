/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger's log beside a database: calls in it were answered, and have no entries in the chain
 * yet.
 */
#ifndef BRIG_LEDGER_AUDIT_LOG_H
#define BRIG_LEDGER_AUDIT_LOG_H

#include "ledger/audit/audit_file.h"

/*
 * A ledger that runs stores them in a moment: then this waits, and the file has a new snapshot.
 * Otherwise their number is left in file->in_log. `path`: of the database.
 */
int audit_log_wait(const char *path, struct audit_file *file, struct brig_error *error);
#endif
