/* SPDX-License-Identifier: Apache-2.0 */
/* The service's side of a worker: the process, and the channel to it. */
#ifndef BRIG_CLI_WARM_WARM_WORKPLACE_H
#define BRIG_CLI_WARM_WARM_WORKPLACE_H

#include <stddef.h>

#include "cli/warm/warm_service.h"

struct warm_link;

struct warm_workplace {
	struct list_node node; /* the one that worked last is the first */
	struct warm_service *service;
	pid_t pid;
	int pidfd, channel;
	struct loop_source *ending, *talking;
	struct loop_timer rest;
	struct warm_link *link; /* whose run it does; NULL: it waits, or it is `over` */
	bool over;              /* it was killed, or told to end */
};

struct warm_workplace *warm_workplace_of(struct list_node *node);
/* One that waits, with the warmest pools, or a new one; NULL: all are busy. */
struct warm_workplace *warm_workplace_find(struct warm_service *service);
/* `fds`: the client's socket, then those of its request. */
int warm_workplace_give(struct warm_workplace *workplace, const struct warm_request *request,
			size_t size, const int fds[1 + WARM_FDS]);
void warm_workplace_signal(struct warm_workplace *workplace, int signal);
/* Has it just said that its run is done? Then its link is gone. */
bool warm_workplace_ended(struct warm_workplace *workplace);
/* Those that wait end; the others are killed. Returns when all have gone. */
void warm_workplaces_close(struct warm_service *service);
/* Those that wait end. */
void warm_workplaces_dismiss(struct warm_service *service);
#endif
