/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of `brig audit` share. */
#ifndef BRIG_CLI_CLI_AUDIT_H
#define BRIG_CLI_CLI_AUDIT_H

#include "base/buf.h"
#include "base/strlist.h"
#include "ledger/audit_file.h"
#include "ledger/audit_verify.h"

struct audit_line {
	bool json, follow;
	const char *state, *file, *key, *since, *kind, *tenant, *limit;
	struct strlist expect;
	const char *operand; /* behind the action; or NULL */
};

/* Where the database is: by --file, --state, or where brig serve has it. free() it. */
int audit_path(const struct audit_line *line, char **ret, struct brig_error *error);
/* The key and the checkpoints that the chain is held against; `path` is the database's. */
int audit_claims_read(const struct audit_line *line, const char *path, struct audit_claims *ret,
		      struct brig_error *error);

/* An entry for people, or as JSON; a line of its own. */
void audit_print(const struct audit_row *row, bool json, struct buf *out);
/* All of it, many lines. */
void audit_print_long(const struct audit_row *row, struct buf *out);

int audit_command_verify(const struct audit_line *line);
#endif
