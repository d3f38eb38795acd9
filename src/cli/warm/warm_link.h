/* SPDX-License-Identifier: Apache-2.0 */
/* One client of the warm service: its request, its signals, and its end, which ends its run. */
#ifndef BRIG_CLI_WARM_WARM_LINK_H
#define BRIG_CLI_WARM_WARM_LINK_H

#include "cli/warm/warm_service.h"

struct warm_workplace;

struct warm_link {
	struct list_node node;
	struct warm_service *service;
	int fd, pidfd;
	pid_t pid;
	struct warm_facts facts; /* when it greeted */
	int readable;            /* -errno: they could not be read */
	struct loop_source *source;
	struct loop_timer deadline;       /* of its request */
	struct warm_workplace *workplace; /* runs it; NULL: no run yet */
	bool trusted; /* it has our rights, so what it sends may be closed here */
};

/* Can the kernel tell who a client is? */
int warm_link_check(struct brig_error *err);
/* Accepts those that wait. */
void warm_link_accept(struct warm_service *service);
/* Closes our end; what its worker still has to say it says itself. */
void warm_link_free(struct warm_link *link);
void warm_link_answer(int fd, enum warm_answer answer, int value, const char *text);
#endif
