/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's warm service: `brig warm serve`. One process accepts the requests of `brig run`,
 * decides whether a run here would be the same as a cold one, and gives it to a worker, which is
 * what the cold process would have been. It never runs anything itself, and never waits.
 */
#ifndef BRIG_CLI_WARM_WARM_SERVICE_H
#define BRIG_CLI_WARM_WARM_SERVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "base/error.h"
#include "base/list.h"
#include "cli/warm/warm_facts.h"
#include "loop/loop.h"
#include "thin/warm_message.h"

#define WARM_LINKS_MAX 64 /* clients at one time, with or without a run */

struct warm_service_options {
	unsigned workers; /* most runs at one time */
	uint64_t idle_ns; /* ends after this time without a client */
	int ready;        /* a line is written to it as soon as clients are served; -1: none */
};

struct warm_service {
	struct loop *loop;
	int listener;
	bool passed;             /* the listener is systemd's: its name stays */
	struct sockaddr_un name; /* of one that was bound here */
	struct loop_source *listening, *signalling;
	int signals;
	char proof[WARM_PROOF_SIZE];
	struct warm_facts facts; /* of this process, and so of all workers */
	uint32_t personality;
	struct list links, workers;
	unsigned links_count, workers_count, workers_max;
	uint64_t idle_ns;
	struct loop_timer idle;
	uint64_t runs, refused;
	char why[64];  /* the last run was refused for this */
	char *buffer;  /* of WARM_REQUEST_MAX bytes */
	size_t filled; /* of these, with a request */
	bool stopping;
};

/* Until it is told to stop, or nobody has come for long. */
int warm_serve(const struct warm_service_options *options, struct brig_error *err);
/* A client has gone: sets the time of the end, or ends now if that was asked for. */
void warm_service_settle(struct warm_service *service);
/* No new runs; ends with the last one. */
void warm_service_stop(struct warm_service *service);
#endif
