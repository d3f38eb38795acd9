/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A template: a warmed interpreter that cells are cloned from, and the keeper that is its parent
 * and theirs (native/keeper.h). It runs no code of any tenant; it hears fixed records from the
 * warden and nobody else.
 */
#ifndef BRIG_LIB_WARM_TEMPLATE_H
#define BRIG_LIB_WARM_TEMPLATE_H

#include <stdbool.h>

#include "lib/prepare/prepare.h"
#include "run/run.h"

struct template
{
	int keeper;    /* owned: pidfd; who is moved from here is to be waited for */
	int socket;    /* owned: to the interpreter */
	bool ready;    /* it has told that it is warm */
	bool readable; /* there is something to hear from it */
	bool broken;   /* it has ended, or said something wrong */
	unsigned clones;
	uint64_t born_ns;
};

/* Does the runtime have one? */
bool template_possible(const struct prepared *base);
/* Starts it; it gets warm by itself. base->spec.cloned must be set. */
int template_start(const struct prepared *base, struct template **ret, struct brig_error *err);
/* Asks for a clone with the run's descriptors. The answer comes by the socket. */
int template_ask(struct template *template, struct run *run, int devices);
/* 1: an answer, with the pid and pidfd of the clone; 0: none yet, or "ready"; -errno. */
int template_receive(struct template *template, pid_t *ret_pid, int *ret_pidfd);
/*
 * Tells it to end. Its keeper stays until the last run that was cloned from it has ended: its
 * pidfd is returned, for template_gone(); -1: none.
 */
int template_end(struct template *template);
/* True: the keeper has ended, and was waited for; the fd is closed. Waits up to so long. */
bool template_gone(int keeper, int wait_ms);
#endif
