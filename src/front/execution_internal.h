/* SPDX-License-Identifier: Apache-2.0 */
/* What an execution holds. Private to execution*.c. */
#ifndef BRIG_FRONT_EXECUTION_INTERNAL_H
#define BRIG_FRONT_EXECUTION_INTERNAL_H

#include "base/sha256.h"
#include "front/front_internal.h"

enum execution_state {
	EXECUTION_RECORDING, /* the ledger is told of it */
	EXECUTION_WAITING,   /* for its turn */
	EXECUTION_STARTING,  /* the ledger is told that it starts */
	EXECUTION_RUNNING,
	EXECUTION_SAVING, /* the ledger is told how it ended */
	EXECUTION_ENDED,
};

/* Bytes of one stream, in the order in which both came. */
struct segment {
	int stream;
	size_t end; /* in the stream's own count */
};

struct execution {
	struct front *front;
	struct execution *next, *previous;
	enum execution_state state;
	char id[27];
	char tenant[TOKEN_NAME_MAX + 1];
	char caller[TOKEN_NAME_MAX + 1];
	char code_sha256[SHA256_HEX_SIZE];
	char digest[SHA256_HEX_SIZE];
	char *key;     /* owned; or NULL */
	char *request; /* owned: so that it can be asked again after a crash */
	size_t request_size;
	struct ask *ask; /* owned until it runs */
	bool queued, recorded, stream, attached_stream, cancelled, failed, paused;
	struct ticket ticket;
	struct engine_run *run;
	struct loop_timer timer;
	uint64_t patience_ns, started_ns, cpu_ns;
	struct listener *listeners;
	void (*begun)(void *user, const struct problem *problem, const char *twin, bool same);
	void *user;

	struct buf output[2];
	struct segment *segments; /* owned */
	size_t segments_count, segments_room;

	uint64_t save_since_ns,
		save_wait_ns; /* the ledger has no room for it; 0: it has not failed */

	struct buf result;      /* what the ledger keeps: a result, or a failure's record */
	struct problem problem; /* of a failure */
};

void execution_free(struct execution *execution);
/* It did not run, or not to its end: execution->problem says why. */
void execution_fail(struct execution *execution);
/* What happened is recorded, then told; the execution is gone afterwards, now or later. */
void execution_save(struct execution *execution);
/* There is no time to wait for room: one more try, if it waits for one. */
void execution_save_now(struct execution *execution);
/* Of one that is freed: nobody tries to record it any more. */
void unsaved_forget(struct execution *execution);
void output_add(struct execution *execution, int stream, const void *data, size_t size);
#endif
