/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine that has libbrig in its own process. Shared by its files: the calls under way, the
 * table of sessions, and what is left of those that are gone.
 */
#ifndef BRIG_ENGINE_ENGINE_LOCAL_H
#define BRIG_ENGINE_ENGINE_LOCAL_H

#include "base/buf.h"
#include "base/json/json_out.h"
#include "base/strlist.h"
#include "engine/engine.h"
#include "engine/engine_share.h"

struct local_session;
struct local_tombstone;
struct local_file;

#define FILES_BEGUN 4u
struct local_bill;

#define LOCAL_CALLER_MAX 64

struct local {
	struct engine engine; /* first: it is handed out as this */
	struct loop *loop;    /* borrowed */
	struct brig_context *context;
	struct loop_source *pools;
	struct loop_timer tidy;        /* control groups that could not be removed at once */
	struct engine_options options; /* filled in */
	struct engine_run *runs;       /* all calls under way */
	struct engine_run *waiting, **waiting_end; /* for a cell that is being made */
	struct engine_run *look_next;              /* of them, while it is looked who can begin */
	uint64_t patience_ns;                      /* how long they wait */
	struct local_session *sessions;
	unsigned sessions_count;               /* with those that are just ending */
	struct local_tombstone *tombstones;    /* the latest first */
	struct local_fork *forks, **forks_end; /* under way and waiting */
	struct loop_timer forks_turn;
	struct local_file *files, **files_end; /* calls about files, under way and waiting */
	unsigned files_count;
	struct local_file *files_begun[FILES_BEGUN]; /* of these; NULL: room for another */
	bool files_held;                             /* nobody takes what they would answer */
	struct loop_timer files_turn;
	struct engine_run *watcher; /* wants to know what has ended; or NULL */
	struct local_bill *bills;   /* owned: what the watcher has not been told yet */
	unsigned bills_count;
	struct loop_timer bills_due;
	struct shares shares;
	struct {
		uint64_t started, ended, failed, cancelled;
		uint64_t opened, gone;
		unsigned running;
		/* Of the cells' gates: what results tell of. */
		uint64_t connections, refused, untold, up_bytes, down_bytes;
	} counts;
};

/* One call. */
struct engine_run {
	struct engine_run_head head; /* first */
	struct local *local;
	struct engine_run *next, **link;
	enum engine_op op;
	bool stream;
	bool forgotten; /* nobody is told anything any more */
	bool unseen;    /* its result goes to nobody who would be charged for it */
	char tenant[LOCAL_CALLER_MAX + 1], caller[LOCAL_CALLER_MAX + 1]; /* "": not known */
	void (*output)(void *user, int stream, const void *data, size_t size);
	void (*end)(void *user, const char *data, size_t size);
	void (*result)(void *user, struct block *result);
	void (*fail)(void *user, const struct brig_error *error);
	void *user;

	struct brig_run *run;    /* owned; NULL: not a run, or not yet, or not any more */
	struct local_wait *wait; /* owned: it waits for a cell; or NULL */
	struct local_fork *fork; /* owned: it forks a session; or NULL */
	struct local_file *file; /* owned: it is about a file; or NULL */
	int file_block;          /* owned: a file as the answer, in memory; -1: none */
	void (*end_block)(void *user, int block);
	bool paused;                   /* before it began */
	struct loop_source *source;    /* of the run */
	struct share *share;           /* of the engine's time; borrowed; NULL: not counted */
	struct loop_timer held;        /* its tenant has used more than its share */
	uint64_t call_ns;              /* time of the thread when the call came; 0: it is charged */
	bool in_cell;                  /* counted as one of its tenant's runs */
	struct local_session *session; /* that it runs in, or opens; NULL: none, or gone */
	struct loop_timer answered;    /* answers come later than the call */
	struct buf answer;
	char id[27];                  /* that the result is to have; or "" */
	struct brig_result *written;  /* owned: it is being made into JSON... */
	struct result_writer *writer; /* ...by this one, also owned */
	struct block *block;          /* a reference: a run's answer */
	bool failed;
	struct brig_error error;
};

/* How a call ends: what is in `answer`, or the error. Frees it. */
void local_finish(struct engine_run *run);
/* The same, but later: for what is known at once. */
int local_finish_soon(struct engine_run *run);

/* One function for each kind of call: 0, or -errno at once. engine_local*.c, engine_*.c */
typedef int local_start(struct local *local, const struct engine_call *call, struct engine_run *run,
			struct brig_error *err);
local_start local_execute, local_session_open, local_session_get, local_session_list,
	local_session_close, local_session_interrupt, local_session_fork, local_file_call,
	local_runtimes, local_policies, local_policy_check, local_session_ended, local_stats;

/* 0, or -EMFILE: too few descriptors are left to begin it. engine_local_room.c */
int local_room(const struct engine_call *call, struct brig_error *err);
/* Starts a run in a cell of its own. */
int local_begin(struct engine_run *run, const struct engine_call *call, struct brig_error *err);

/* --- turns of runs, by tenant: engine_local_turn.c ------------------------------------------- */

/* What a call has cost until now, once: when its tenant may have the answer; 0: any time. */
uint64_t local_call_charge(struct engine_run *run);
/* A turn for it began at this time of the thread: when it may have the next; 0: any time. */
uint64_t local_turn_over(struct engine_run *run, uint64_t began_ns);
/* The same; it is not heard until then. */
void local_turn_hold(struct engine_run *run, uint64_t began_ns);
void local_turn_drop(struct engine_run *run);
/* The same for what happens in a session between its runs, which no run is charged for. */
void local_turn_hold_session(struct local_session *session, uint64_t began_ns);
void local_turn_drop_session(struct local_session *session);
/* It has begun, and has ended: what it used makes the next runs of its tenant older. */
void local_turn_begun(struct engine_run *run);
void local_turn_left(struct engine_run *run, uint64_t cpu_ns);

/* --- runs that wait for a cell: engine_local_wait.c ----------------------------------------- */

/* A cold start would take as long, and be in the way of those that are being made. */
#define LOCAL_PATIENCE_NS UINT64_C(40000000)

/* Nobody else may wait for one tenant's cell: the call is kept, and started a little later. */
bool local_wait_is_worth(struct local *local, const struct engine_call *call);
int local_wait(struct engine_run *run, const struct engine_call *call, struct brig_error *err);
/* It begins now, whatever there is; false: it could not, and is gone. */
bool local_wait_over(struct engine_run *run);
void local_wait_drop(struct engine_run *run);
/* The pools have moved: who can begin? */
void local_wait_look(struct local *local);

/* --- sessions: engine_sessions.c ------------------------------------------------------------ */

struct local_session {
	struct local *local;
	struct local_session *next, **link;
	char id[27];
	char *tenant;                      /* owned */
	char caller[LOCAL_CALLER_MAX + 1]; /* who opened it, and is charged for it */
	uint64_t billed_ns;                /* of what it used between runs */
	char language[32];
	char policy[65];
	struct strlist env;           /* that it was opened with */
	struct strlist network;       /* the hosts that were asked for then... */
	bool network_asked;           /* ...if any list was, which may have been empty */
	struct brig_session *session; /* owned */
	struct loop_source *source; /* silent while a run is under way, which has one of its own */
	struct share *share;        /* of the engine's time; borrowed; NULL: not counted */
	struct loop_timer held;     /* its tenant has used more than its share */
	struct loop_timer lease;
	uint64_t created_ms;       /* since 1970 */
	uint64_t born_ns, used_ns; /* by the clock that only goes on */
	uint64_t idle_ns, life_ns;
	uint64_t runs;
	bool ended;                 /* closed, or out of time: only its cell is not gone yet */
	struct engine_run *opener;  /* waits for it; or NULL */
	struct engine_run *current; /* the run under way; or NULL */
};

/* The tenant's own, living session; NULL with the reason when there is none. */
struct local_session *local_session_find(struct local *local, const struct engine_call *call,
					 struct brig_error *err);
/* A run is under way in it from here on; NULL: no run is. */
void local_session_occupy(struct local_session *session, struct engine_run *run);
/* It was used: its lease begins anew. */
void local_session_touch(struct local_session *session);
/* When it will be closed unless it is used, RFC 3339. */
void local_session_expires(const struct local_session *session, char *text, size_t size);
void local_sessions_free(struct local *local);
unsigned local_sessions_busy(const struct local *local);

/* As others see it. */
void local_session_describe(struct json_out *json, const struct local_session *session);
/* For everybody but its cell it is gone from here on. */
void local_session_end(struct local_session *session, const char *reason);

/* --- files: engine_file_turns.c ------------------------------------------------------------- */

void local_files_go_on(struct local *local);
/* It does not go on; what was made for it is removed. */
void local_file_drop(struct engine_run *run);

/* --- forks: engine_fork_turns.c ------------------------------------------------------------- */

/* It does not go on; what there is of the new session is closed. */
void local_fork_drop(struct engine_run *run);

/* --- as others see them, and what is left of them: engine_sessions_gone.c ------------------- */

struct local_tombstone {
	struct local_tombstone *next;
	char id[27];
	char *tenant; /* owned */
	char language[32], policy[65], reason[200];
	uint64_t created_ms, idle_ns, runs;
	uint64_t ended_ms, ended_ns;
	bool told; /* to the watcher */
};

struct local_session_facts {
	const char *id, *language, *policy, *state, *reason;
	uint64_t created_ms, idle_ns, runs;
	char expires[32];
};

void local_session_print(struct json_out *json, const struct local_session_facts *facts);
/* For an hour it says why the session is gone. */
void local_tombstone_add(const struct local_session *session, const char *reason);
/* The tenant's own; NULL: none. */
const struct local_tombstone *local_tombstone_find(struct local *local,
						   const struct engine_call *call);
void local_tombstone_print(struct json_out *json, const struct local_tombstone *stone);
void local_tombstones_free(struct local *local);

/* The watcher is answered soon, if there is something to tell. */
void local_watcher_look(struct local *local);
/* It is answered soon, with whatever there is. */
void local_watcher_end(struct local *local);

/* --- what no result tells of: engine_bill.c -------------------------------------------------- */

/* Processor time that somebody is to be charged for. Told with the watcher's next answer. */
void local_bill(struct local *local, const char *tenant, const char *caller, uint64_t cpu_ns);
/* What a session has used between runs since it was last asked. */
void local_bill_session(struct local_session *session);
/* There is a watcher now: it hears of what has waited, soon. */
void local_bills_look(struct local *local);
/* "used", and it is told then. */
void local_bills_print(struct local *local, struct json_out *json);
void local_bills_free(struct local *local);

uint64_t local_wall_ms(void); /* since 1970 */
/* RFC 3339, in UTC, with milliseconds. */
void local_time_text(uint64_t ms, char *text, size_t size);
#endif
