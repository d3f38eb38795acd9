/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native provider, for code that makes its cells ahead or shows how they are built. The runs
 * must have native cells, whose state nobody else knows.
 */
#ifndef BRIG_NATIVE_NATIVE_H
#define BRIG_NATIVE_NATIVE_H

#include <stdint.h>
#include <sys/types.h>

struct plan;
struct run;

/* A template made the cell's clone: its pid and its pidfd, which the cell owns from here on. */
void native_cloned(struct run *run, pid_t pid, int pidfd);
/* Sends a request for a clone to the template, with the clone's descriptors: wire.h. */
int native_ask_clone(struct run *run, int template, int devices);
/* Our end of the channel, for a cell that a session takes. */
int native_take_channel(struct run *run);
/* The plan of a run, and how long its steps took, if that was measured. */
const struct plan *native_plan(const struct run *run);
const uint64_t *native_times(const struct run *run);
#endif
