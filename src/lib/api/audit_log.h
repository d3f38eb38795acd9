/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An optional record of all runs of a context in a file: an audit chain as text, in the format of
 * brig audit (docs/audit.md). Several processes may write to one file.
 */
#ifndef BRIG_LIB_API_AUDIT_LOG_H
#define BRIG_LIB_API_AUDIT_LOG_H

#include <brig/brig.h>

struct brig_run;

/* Creates or opens it. Returns the descriptor, or -errno. */
int audit_log_open(const char *path, struct brig_error *err);
/* Before a run begins: without a record there is no run. 0 or -errno. */
int audit_log_accepted(struct brig_run *run, const struct brig_request *request,
		       struct brig_error *err);
/* After its end, once; `result` NULL: it failed, or was freed before its end. 0 or -errno. */
int audit_log_ended(struct brig_run *run, const struct brig_result *result, struct brig_error *err);
#endif
