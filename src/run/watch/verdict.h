/* SPDX-License-Identifier: Apache-2.0 */
/* Derives the verdict from the facts: a pure function, so that every case has a unit test. */
#ifndef BRIG_RUN_WATCH_VERDICT_H
#define BRIG_RUN_WATCH_VERDICT_H

#include "run/watch/facts.h"

/*
 * Fills status, exit_code, signal, cause, limit_name, limit, peak, remedies. limits and denial
 * are read.
 */
void verdict_give(const struct facts *facts, struct brig_result *result);
/* The status of a run that reaches a limit, by its key; false: that does not end a run. */
bool verdict_of_limit(const char *key, enum brig_status *ret);
#endif
