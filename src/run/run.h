/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run, as the warden sees it: starts the cell, pumps its streams, watches its limits, ends it,
 * collects what is left. Non-blocking; one epoll fd stands for all of it.
 */
#ifndef BRIG_RUN_RUN_H
#define BRIG_RUN_RUN_H

#include "kernel/cgroup/cgroup.h"
#include "provider/provider.h"
#include "run/collect.h"
#include "run/events.h"
#include "run/facts.h"
#include "run/feed.h"
#include "run/stream.h"
#include "run/terminal.h"
#include "run/watch.h"

/* A cell that outlives its runs: what its owner wants to be asked. See lib/session/session.h. */
struct run_session {
	int channel; /* borrowed: what the program gets as descriptor 3 */
	/* A limit is reached: the ending that the cell comes to for it; NONE: seen to. */
	enum ending (*due)(void *user, enum ending why);
	void *user;
};

struct call_watch;
struct monitor;

/* A gate that was started for a cell. */
struct gate_process {
	int line;  /* by which it tells */
	int pidfd; /* without an exit signal */
};

struct run_options {
	const struct spec *spec; /* must outlive the run */
	struct cgroup_manager *groups;
	const struct filter *filter; /* for what denials mean; NULL: none */
	bool cut_output;             /* over the limit: discard, do not end the run */
	struct event_limits end_after;
	struct collect_options collect;
	const void *stdin_data;
	size_t stdin_size;
	bool stdin_feed;
	bool keep_output;
	void (*on_output)(void *user, int stream, const void *data, size_t size);
	void *user;
	bool terminal; /* in place of three pipes */
	struct terminal_size terminal_size;
	bool warm;                         /* the cell was made ahead */
	bool measure;                      /* time each step */
	bool want_value;                   /* of the last expression, where the language has one */
	bool guarded;                      /* the driver itself closes what takes the value */
	const struct run_session *session; /* NULL: the cell is this run's alone */
	struct gate_process *gate;         /* the run's from here on; NULL: none */
	const struct call_watch *watch;    /* borrowed; NULL: nobody watches its calls */
	const struct monitor *monitor;     /* borrowed; NULL: the policy watches nothing */
};

/* The longest value that a program can leave, as JSON. */
#define RUN_VALUE_BYTES 65536
/*
 * A guarded program's memory file. First what the guard has to say of the code: sealed before the
 * program begins. Then the value; and last, what a driver that ran the program says of its end.
 */
#define RUN_GUARD_BYTES 8192
#define RUN_END_BYTES   4096
#define RUN_FILE_BYTES  (RUN_GUARD_BYTES + RUN_VALUE_BYTES + RUN_END_BYTES)

enum run_state {
	RUN_SETTING_UP,
	RUN_HELD,     /* made ahead, sealed: waits for an order */
	RUN_ASSIGNED, /* has it; the program has not begun yet */
	RUN_RUNNING,
	RUN_ENDING, /* killed, or ended by itself: waiting until the last process is gone */
	RUN_COLLECTING,
	RUN_DONE,
};

/* What the cell's gate has told: see run_gate.c. */
struct run_gate {
	int line, pidfd;              /* owned; -1: none */
	bool closing;                 /* its last words are due */
	bool any;                     /* there is, or was, one */
	struct brig_connection *list; /* owned */
	size_t count;
	uint64_t untold;
	uint64_t refused;           /* without a record, at its last word */
	uint64_t bytes, bytes_base; /* at the last word; and of earlier runs in this cell */
};

struct run {
	struct run_options options;
	const struct provider *provider;
	void *cell;  /* the provider's own state of it */
	char id[27]; /* of the run; the cell's own may be older */
	enum run_state state;
	int epoll;              /* owned, unless it is attached */
	int timer;              /* likewise */
	bool attached;          /* both are its owner's: run_attach() */
	uint64_t alarm_ns;      /* when the owner wants to be woken by the timer; 0: never */
	uint64_t cell_alarm_ns; /* likewise the provider */
	bool group_watched;
	bool paused; /* its output is not read */
	int sandbox; /* owned: the directory of the cell's files; -1: none */
	int value;   /* owned: memory that the program may leave its value in; -1: none */
	int end_fd;  /* borrowed: readable when the cell has ended; -1: not started */
	bool gone;   /* the cell has ended, and the kernel has nothing left of it */
	/* The build of the cell failed: not by the program, and before it began. */
	bool build_failed;
	bool parked;   /* the program is done, and sleeps until it is killed */
	int inside[3]; /* owned: the cell's ends of the streams, until it has them */
	struct stream out[2];
	struct feed in;
	struct run_gate gate;
	struct watch watch;
	struct facts facts;
	uint64_t grace_end_ns; /* the program was asked to end, and is killed then; 0: not asked */
	uint64_t idle_cpu_ns;  /* of a session: used between runs, and so in no result */
	uint64_t kill_deadline_ns;
	struct brig_result *result; /* owned */
	struct collection *files;   /* owned: being collected, for the result; NULL: not now */
	bool files_cut;             /* some that were asked for have stayed behind */
};

/* Builds the cell up to the program's start, which then comes by run_step. */
int run_start(const struct run_options *options, struct run **ret, struct brig_error *err);
/* The same in two halves. */
int run_begin(const struct run_options *options, struct run **ret, struct brig_error *err);
int run_launch(struct run *run, struct brig_error *err);
/*
 * Gives a held cell its order: from here on it is the request's run. On failure the cell is of no
 * use any more, and nothing of the request has happened.
 */
int run_assign(struct run *run, const struct run_options *options, struct brig_error *err);
int run_step(struct run *run, struct brig_error *err); /* 1 ended, 0 go on, -errno */
long run_feed(struct run *run, const void *data, size_t size);
void run_feed_end(struct run *run);
/* -ENOTTY: it has no terminal. */
int run_resize(struct run *run, const struct terminal_size *size);
void run_end(struct run *run, enum ending why);
/* Without a time of grace: what ends is the cell, not only the run that is in it. */
void run_end_now(struct run *run, enum ending why);
/* Leaves output in its pipes, so that the program has to wait; or reads it again. */
int run_pause(struct run *run, bool paused);
/*
 * The end of one run in a cell that goes on: as if the program had ended with this status. What
 * came of it is there when run_round_result() is 1; at 0 the loop wakes up for the next try, before
 * which nothing else may be done with it. The next run starts from nothing.
 */
int run_round_end(struct run *run, int exit_code);
int run_round_result(struct run *run, struct brig_result **ret);
/* Until the next one nothing is watched, and output waits. */
int run_rest(struct run *run);
/* The next one: from here on these options hold, and the limits that their spec has now. */
int run_resume(struct run *run, const struct run_options *options);
/* A look at a cell that rests: ends it if a limit is reached. */
void run_check_idle(struct run *run);
/* What was used since the last run ended, or since the cell was there, is no run's. */
void run_count_idle(struct run *run);
/* Sets the timer for the next look: after a change of limits, or of alarm_ns. */
int run_arm(struct run *run);
/*
 * From here on the owner's set and timer serve for the run's own, which are closed: of cells that
 * rest there may be thousands. The timer is in the set already; whatever else the owner has there
 * is to have RUN_OWNERS_EVENT as its data, and stays the owner's to hear. On failure the cell must
 * end.
 */
#define RUN_OWNERS_EVENT UINT32_MAX
int run_attach(struct run *run, int epoll, int timer);
/* They go: nothing is heard of the run any more. */
void run_detach(struct run *run);
/* What it was started with goes: from here on this spec, of the cell's own, serves. */
void run_keep_spec(struct run *run, const struct spec *spec);
void run_free(struct run *run);
#endif
