/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the parts of `brig audit` share. */
#ifndef BRIG_CLI_AUDIT_CLI_AUDIT_H
#define BRIG_CLI_AUDIT_CLI_AUDIT_H

#include "base/bytes/buf.h"
#include "base/strlist.h"
#include "ledger/audit/audit_file.h"
#include "ledger/audit/audit_verify.h"

struct audit_args {
	bool json, follow, keep;
	const char *state, *file, *key, *since, *before, *kind, *tenant, *limit;
	struct strlist expect, archive;
	const char *operand; /* after the action; or NULL */
};

/* The path of the database: by --file, --state, or the default of brig serve. free() it. */
int audit_path(const struct audit_args *args, char **ret, struct brig_error *error);
/* The key and the checkpoints that the chain is verified against; `path` is the database's. */
int audit_claims_read(const struct audit_args *args, const char *path, struct audit_claims *ret,
		      struct brig_error *error);

/* An entry for people, or as JSON; a line of its own. */
void audit_print(const struct audit_row *row, bool json, struct buf *out);
/* All of it, many lines. */
void audit_print_long(const struct audit_row *row, struct buf *out);

/* An age or a time; nothing without a text. */
int audit_time_of(const char *option, const char *text, uint64_t *ret, struct brig_error *error);

int audit_command_verify(const struct audit_args *args);
int audit_command_archive(const struct audit_args *args);
#endif
