/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A template: a warmed interpreter that cells are cloned from, and the keeper, which is the parent
 * of both (native/keeper/keeper.h). It runs no code of any tenant, and receives only fixed
 * records, only from the warden.
 */
#ifndef BRIG_LIB_WARM_TEMPLATE_H
#define BRIG_LIB_WARM_TEMPLATE_H

#include <stdbool.h>

#include "lib/prepare/prepare.h"
#include "run/run.h"

/* Its life: template.c is the only file that changes it. */
enum template_state {
	TEMPLATE_WARMING,
	TEMPLATE_READY,  /* it has reported that it is warm */
	TEMPLATE_BROKEN, /* it has ended, or sent an invalid record */
	TEMPLATE_STATES,
};

struct template
{
	enum template_state state;
	int keeper;    /* owned: pidfd; it must be waited for after template_end() */
	int socket;    /* owned: to the interpreter */
	bool readable; /* the socket has a record, or was closed */
	unsigned clones;
	int pinned; /* pages that its clones get copies of at once; 0: not known; or -errno */
	uint64_t born_ns;
};

/* Can the runtime have a template? */
bool template_possible(const struct prepared *base);
/* Starts it; it then warms up by itself. base->spec.kind must be CELL_CLONED. */
int template_start(const struct prepared *base, struct template **ret, struct brig_error *err);
/* Requests a clone with the run's descriptors. The answer arrives on the socket. */
int template_ask(struct template *template, struct run *run, int devices);
/* 1: an answer, with the pid and pidfd of the clone; 0: none yet, or "ready"; -errno. */
int template_receive(struct template *template, pid_t *ret_pid, int *ret_pidfd);
/*
 * Ends it. Its keeper stays until the last run that was cloned from it has ended: the keeper's
 * pidfd is returned, for template_gone(); -1: none.
 */
int template_end(struct template *template);
/* Waits up to `wait_ms`. True: the keeper has ended and was waited for; the fd is closed. */
bool template_gone(int keeper, int wait_ms);
#endif
