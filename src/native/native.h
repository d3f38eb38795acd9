/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native provider, for code that makes its cells ahead. The runs must have native cells, whose
 * state nobody else knows.
 */
#ifndef BRIG_NATIVE_NATIVE_H
#define BRIG_NATIVE_NATIVE_H

#include <stdint.h>
#include <sys/types.h>

#include "provider/provider.h"

struct run;

/* A template made the cell's clone: its pid and its pidfd, which the cell owns from here on. */
void native_cloned(struct run *run, pid_t pid, int pidfd);
/* Sends a request for a clone to the template, with the clone's descriptors: wire.h. */
int native_ask_clone(struct run *run, int template, int devices);

/* --- for a provider whose cells are native ones with another program in them ------------------ */

#define NATIVE_LAYERS (LAYER_BIT(LAYER_COUNT) - 1)
/* All members that such providers share; the count of processes, probe and report are not. */
#define NATIVE_PROVIDER                                                                            \
	.layers = NATIVE_LAYERS, .resolve = native_resolve, .explain = native_explain,             \
	.explain_run = native_explain_run, .layer_of = native_layer_of, .open = native_open,       \
	.launch = native_launch, .assign = native_assign, .take_channel = native_take_channel,     \
	.event = native_on_event, .listen = native_listen_all, .mute = native_mute,                \
	.alarm = native_listen_again, .has_program = native_has_program,                           \
	.ask_to_end = native_ask_to_end, .kill = native_kill, .ended = native_ended,               \
	.advise = native_advise, .next_round = native_next_round, .rest = native_rest,             \
	.take_options = native_take_options, .release = native_release, .close = native_close

void native_probe(const struct probe_report *host, uint64_t deadline_ns, struct probe_finding *ret);
layer_set native_resolve(const struct cgroup_manager *groups, struct spec *spec);
void native_explain(const struct spec *spec, bool json, struct buf *out);
void native_explain_run(const struct run *run, bool json, struct buf *out);
int native_layer_of(const char *step);
int native_open(struct run *run, struct brig_error *err);
int native_launch(struct run *run, struct brig_error *err);
int native_assign(struct run *run, const struct spec *spec);
int native_take_channel(struct run *run);
int native_on_event(struct run *run, unsigned number);
int native_listen_all(struct run *run);
void native_mute(struct run *run);
/* The pause is over, and the listener is read again. */
int native_listen_again(struct run *run);
bool native_has_program(const struct run *run);
int native_ask_to_end(struct run *run);
void native_kill(struct run *run);
int native_ended(struct run *run, struct brig_error *err);
void native_report(struct run *run);
void native_advise(struct run *run);
void native_next_round(struct run *run);
void native_rest(struct run *run);
void native_take_options(struct run *run);
void native_release(struct run *run);
void native_close(struct run *run);
#endif
