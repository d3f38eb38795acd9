/*
 * One run, as the warden sees it: starts the cell, pumps its streams, watches its limits, ends it,
 * collects what is left. Non-blocking; one epoll fd stands for all of it.
 */
#ifndef BRIG_CORE_RUN_H
#define BRIG_CORE_RUN_H

#include "core/cell.h"
#include "core/collect.h"
#include "core/denials.h"
#include "core/facts.h"
#include "core/feed.h"
#include "core/stream.h"
#include "core/watch.h"

struct run_options {
	const struct spec *spec; /* must outlive the run */
	struct cgroup_manager *groups;
	const struct filter *filter; /* for what denials mean; NULL: none */
	bool cut_output;             /* over the limit: discard, do not end the run */
	unsigned denials_max;        /* 0: any number */
	struct collect_options collect;
	const void *stdin_data;
	size_t stdin_size;
	bool stdin_feed;
	bool keep_output;
	void (*on_output)(void *user, int stream, const void *data, size_t size);
	void *user;
	bool measure; /* time each step */
};

enum run_state {
	RUN_SETTING_UP,
	RUN_RUNNING,
	RUN_ENDING, /* killed, or ended by itself: waiting until the last process is gone */
	RUN_DONE,
};

struct run {
	struct run_options options;
	struct plan plan;
	struct cell cell;
	enum run_state state;
	enum wire_state wire;
	int epoll; /* owned */
	int timer; /* owned */
	bool group_watched;
	int sandbox, proc; /* owned: handles into the cell; -1: none */
	struct stream out[2];
	struct feed in;
	struct denials denials;
	struct watch watch;
	struct facts facts;
	uint64_t kill_deadline_ns;
	uint64_t *took_ns;          /* owned mapping */
	int setup_errnum;           /* set-up failed: why... */
	unsigned setup_step;        /* ...and in which step */
	struct brig_result *result; /* owned */
};

/* Builds the cell up to the program's start, which then comes by run_step. */
int run_start(const struct run_options *options, struct run **ret, struct brig_error *err);
int run_step(struct run *run, struct brig_error *err); /* 1 ended, 0 go on, -errno */
int run_wait(struct run *run, struct brig_error *err);
long run_feed(struct run *run, const void *data, size_t size);
void run_feed_end(struct run *run);
void run_end(struct run *run, enum ending why);
void run_free(struct run *run);
#endif
