/* SPDX-License-Identifier: Apache-2.0 */
/* Records of an execution in the ledger: written and read. Private to the front. */
#ifndef BRIG_FRONT_EXECUTION_EXECUTION_RECORD_H
#define BRIG_FRONT_EXECUTION_EXECUTION_RECORD_H

#include "front/execution/execution_internal.h"
#include "ledger/ledger.h"

void record_digests(struct execution *execution, const struct submission *submission);
/* 0, or why record_begin() would fail now. */
int record_begin_check(const struct execution *execution);
int record_begin(struct execution *execution, ledger_done *done, void *user);
/* Keeps what record_begin() needs of the request: it can be called again without it. */
void record_begin_keep(struct execution *execution);
/* The ledger has refused its end, since it has no record of its beginning. */
bool record_unbegun(const struct execution *execution, const struct brig_error *error);
/* Why a call to the ledger could not be sent: an error of the caller, or no room now. */
int record_refused(int r, struct problem *problem);
/* Notes the ledger's answer to a record; and checks whether it can be expected to take another. */
void record_ledger_answer(struct front *front, const struct brig_error *error);
int record_room(struct front *front, struct problem *problem);
/* The ledger's answer to begin: `existing_id` stays "" when the execution is new. */
int record_existing(const char *data, size_t size, char existing_id[27], bool *ret_same);
/* Takes the engine's result, which has the execution's own id. */
void record_result(struct execution *execution, struct block *block);
/* A failure as the ledger stores it: {"id","status","error":{the problem}}. */
void record_problem_write(const char *id, const struct problem *problem, struct buf *out);
void record_failure(struct execution *execution);
/* The problem in such a record; false: it is a real result. */
bool record_problem(json_t *result, struct problem *ret);
/* Upper bounds of the buckets in counts.run_seconds_bucket. */
extern const double run_seconds_bounds[12];
void record_count(struct front *front, const struct execution *execution, uint64_t wall_ns);
#endif
