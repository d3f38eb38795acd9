/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run, as the warden sees it: starts the cell, pumps its streams, watches its limits, ends it
 * and collects its files. Non-blocking; one epoll fd covers all of it.
 */
#ifndef BRIG_RUN_RUN_H
#define BRIG_RUN_RUN_H

#include "kernel/cgroup/cgroup.h"
#include "provider/provider.h"
#include "run/events.h"
#include "run/files/collect.h"
#include "run/streams/feed.h"
#include "run/streams/stream.h"
#include "run/streams/terminal.h"
#include "run/watch/facts.h"
#include "run/watch/watch.h"
#include "run/watchdog/watchdog.h"

/* For a cell that outlives its runs: the callback of its owner. See lib/session/session.h. */
struct run_session {
	int channel; /* borrowed: becomes the program's descriptor 3 */
	/* A limit is reached. Returns the ending for the cell; NONE: the owner has handled it. */
	enum ending (*due)(void *user, enum ending why);
	void *user;
};

struct call_watch;
struct file_memory;
struct monitor;

/* A gate that was started for a cell. */
struct gate_process {
	int line;  /* the socket on which it reports */
	int pidfd; /* without an exit signal */
};

/* Of a cell's name: the longest that a control group accepts (base/id.h). */
#define RUN_CELL_NAME_SIZE 65

/* The memory file in which a driver returns the last expression's value. */
enum value_file {
	VALUE_NONE,
	VALUE_SEALED,  /* by the warden: its size cannot be changed */
	VALUE_GUARDED, /* the guard's report is in it too: the driver itself sets the last seal */
};

struct run_options {
	const char *id;            /* of the run, valid (base/id.h); copied; NULL: one is made */
	const char *cell;          /* of a new cell: its name; copied; NULL: the run's id */
	const struct spec *spec;   /* must outlive the run */
	struct watchdog *watchdog; /* borrowed; NULL: none */
	struct file_memory *checked_files; /* borrowed: of the caches; NULL: none are kept */
	struct cgroup_manager *groups;
	const struct filter *filter; /* to explain denials; NULL: none */
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
	bool measure;                      /* measure the time of each step */
	enum value_file value;             /* that the program gets */
	const struct run_session *session; /* NULL: the cell is this run's alone */
	struct gate_process *gate;         /* owned by the run from here on; NULL: none */
	const struct call_watch *watch;    /* borrowed; NULL: its calls are not watched */
	const struct monitor *monitor;     /* borrowed; NULL: the policy watches nothing */
};

/* The longest value that a program can leave, as JSON. */
#define RUN_VALUE_BYTES 65536
/*
 * The layout of a guarded program's memory file: the guard's report on the code, sealed before the
 * program begins; the value; and the report on the program's end of a driver that ran it.
 */
#define RUN_GUARD_BYTES 8192
#define RUN_END_BYTES   4096
#define RUN_FILE_BYTES  (RUN_GUARD_BYTES + RUN_VALUE_BYTES + RUN_END_BYTES)

enum run_state {
	RUN_SETTING_UP,
	RUN_HELD,     /* made ahead, sealed: waits for an assignment */
	RUN_ASSIGNED, /* has its assignment; the program has not begun yet */
	RUN_RUNNING,
	RUN_RESTING, /* a session's cell between two runs */
	RUN_ENDING,  /* killed, or ended by itself: waiting for the last process to end */
	RUN_COLLECTING,
	RUN_DONE,
	RUN_STATES,
};

/* The processes of a cell. */
enum cell_life {
	CELL_LIVES,
	CELL_PARKED, /* the program has reported that it is done, and sleeps until it is killed */
	CELL_GONE,   /* the cell has ended, and the kernel has freed all of it */
	CELL_LIFE_STATES,
};

/* The reports of the cell's gate: see run_gate.c. */
struct run_gate {
	int line, pidfd;              /* owned; -1: none */
	bool closing;                 /* its last records are due */
	bool any;                     /* the cell has, or had, a gate */
	struct brig_connection *list; /* owned */
	size_t count;
	uint64_t untold;
	uint64_t refused;           /* without a record, at the last report */
	uint64_t bytes, bytes_base; /* at the last report; and of earlier runs in this cell */
};

struct run {
	struct run_options options;
	const struct provider *provider;
	void *cell; /* the provider's state of the cell */
	char id[27];
	/* In the name of its control group: the id of its first run, or of a cell made ahead. */
	char cell_name[RUN_CELL_NAME_SIZE];
	enum run_state state;   /* changed by run_enter() */
	enum cell_life life;    /* changed by run_enter_life() */
	int epoll;              /* owned, unless it is attached */
	int timer;              /* likewise */
	bool attached;          /* both belong to its owner: run_attach() */
	uint64_t alarm_ns;      /* when the timer is to wake the owner; 0: never */
	uint64_t cell_alarm_ns; /* the same for the provider */
	bool group_watched;
	bool paused; /* its output is not being read */
	int sandbox; /* owned: the directory of the cell's files; -1: none */
	int value;   /* owned: the memory file for the program's value; -1: none */
	int end_fd;  /* borrowed: readable when the cell has ended; -1: not started */
	/* Building the cell failed, before the program began. */
	bool build_failed;
	int inside[3]; /* owned: the cell's ends of the streams, until they are passed to it */
	struct stream out[2];
	struct feed in;
	struct run_gate gate;
	struct limit_watch watch;
	struct watchdog_account blocked; /* how long it has kept a thread of brig waiting */
	struct facts facts;
	/* the program was asked to end, and is killed at this time; 0: not asked */
	uint64_t grace_end_ns;
	uint64_t idle_cpu_ns; /* of a session: used between runs, so in no result */
	uint64_t kill_deadline_ns;
	uint64_t over_ns; /* when the program had ended, if its cell went on for the files; or 0 */
	struct brig_result *result; /* owned */
	struct collection *files;   /* owned: being collected, for the result; NULL: not now */
	bool files_cut;             /* some requested files were not returned */
};

/* Begins to build the cell; the program starts during run_step(). */
int run_start(const struct run_options *options, struct run **ret, struct brig_error *err);
/* The same in two halves. */
int run_begin(const struct run_options *options, struct run **ret, struct brig_error *err);
int run_launch(struct run *run, struct brig_error *err);
/*
 * Gives a held cell its assignment: from here on it is the request's run. On failure the cell
 * cannot be used any more, and nothing of the request has been executed.
 */
int run_assign(struct run *run, const struct run_options *options, struct brig_error *err);
int run_step(struct run *run, struct brig_error *err); /* 1 ended, 0 go on, -errno */
/*
 * Work for the cell that can wait for a lock which a program in it holds: on its files, its memory,
 * its pipes. All of it is done in such a section. A cell that blocks one for too long is killed by
 * the watchdog, and the run ends with that verdict when the section is left. The run must not be
 * freed before. Sections can be nested; NULL: there is no cell.
 */
struct run_section {
	struct run *run; /* NULL: nothing in there can hold a lock */
	struct watchdog_section watched;
};

void run_section_enter(struct run *run, struct run_section *section);
void run_section_leave(struct run_section *section);
long run_feed(struct run *run, const void *data, size_t size);
void run_feed_end(struct run *run);
/* -ENOTTY: the run has no terminal. */
int run_resize(struct run *run, const struct terminal_size *size);
void run_end(struct run *run, enum ending why);
/* Without a grace period: ends the cell, not only the run in it. */
void run_end_now(struct run *run, enum ending why);
/* Leaves output in its pipes, so that the program has to wait; or resumes reading it. */
int run_pause(struct run *run, bool paused);
/*
 * The end of one run in a cell that continues: as if the program had ended with this status. The
 * result is ready when run_round_result() returns 1. When it returns 0, the loop wakes up for the
 * next call, and nothing else may be done with the run before that. The next run starts with empty
 * figures.
 */
int run_round_end(struct run *run, int exit_code);
int run_round_result(struct run *run, struct brig_result **ret);
/*
 * The owner of the current run frees what it has lent for it: the cell may go on, and its end must
 * not use the receiver of the output or the patterns of files.
 */
void run_round_forget(struct run *run);
/* Until the next run nothing is watched, and output waits in its pipes. */
int run_rest(struct run *run);
/*
 * Starts the next run: from here on these options apply, with the current limits of their spec.
 * -ESTALE: the cell is ending.
 */
int run_resume(struct run *run, const struct run_options *options);
/* Checks a cell that rests: ends it if a limit is reached. */
void run_check_idle(struct run *run);
/* Counts the use since the last run ended, or since the cell was made, as idle use. */
void run_count_idle(struct run *run);
/* Sets the timer for the next check: call after a change of limits, or of alarm_ns. */
int run_arm(struct run *run);
/*
 * From here on the run uses its owner's set and timer and closes its own, because there may be
 * thousands of resting cells. The timer is in the set already; the owner's other descriptors in it
 * must have RUN_OWNERS_EVENT as their data, and the owner handles their events. On failure the cell
 * must end.
 */
#define RUN_OWNERS_EVENT UINT32_MAX
int run_attach(struct run *run, int epoll, int timer);
/* Gives up the owner's set and timer: the run receives no more events. */
void run_detach(struct run *run);
/* Replaces the spec of the start, which may be freed then, by this one, which the cell owns. */
void run_keep_spec(struct run *run, const struct spec *spec);
void run_free(struct run *run);
#endif
