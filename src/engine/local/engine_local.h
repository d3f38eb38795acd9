/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine that has libbrig in its own process. Shared by its files: the calls under way, the
 * table of sessions, and the tombstones of sessions that are gone.
 */
#ifndef BRIG_ENGINE_ENGINE_LOCAL_H
#define BRIG_ENGINE_ENGINE_LOCAL_H

#include "base/bytes/buf.h"
#include "base/invariant.h"
#include "base/json/json_out.h"
#include "base/list.h"
#include "base/strlist.h"
#include "engine/engine.h"
#include "engine/local/engine_share.h"
#include "provider/provider.h"

struct local_session;
struct local_tombstone;
struct local_file;

#define FILES_BEGUN 4u
struct local_bill;

#define LOCAL_CALLER_MAX 64
#define LOCAL_ID_CHAINS  256u

struct local {
	struct engine engine; /* first: callers get a pointer to it */
	struct loop *loop;    /* borrowed */
	struct brig_context *context;
	struct loop_source *pools;
	struct loop_timer tidy;           /* control groups that could not be removed at once */
	struct engine_options options;    /* filled in */
	struct list runs;                 /* struct engine_run: all calls under way */
	struct list ids[LOCAL_ID_CHAINS]; /* struct engine_run: those with ids */
	struct list waiting; /* struct engine_run: those that wait for a cell that is being made */
	struct loop_timer look;             /* they are looked at again */
	struct engine_run *look_next;       /* of them, while checking which can begin */
	uint64_t patience_ns;               /* how long they wait */
	struct list sessions;               /* struct local_session */
	unsigned sessions_count;            /* including those that are ending */
	struct local_tombstone *tombstones; /* the latest first */
	struct list forks;                  /* struct local_fork: under way and waiting */
	struct loop_timer forks_turn;
	struct list files; /* struct local_file: calls about files, under way and waiting */
	unsigned files_count;
	struct local_file *files_begun[FILES_BEGUN]; /* active ones; NULL: a free place */
	bool files_held;                             /* suspended: nothing reads their answers */
	struct loop_timer files_turn;
	struct engine_run *watcher; /* waits for sessions that end; or NULL */
	struct local_bill *bills;   /* owned: not reported to the watcher yet */
	unsigned bills_count;
	struct loop_timer bills_due;
	struct shares shares;
	struct {
		uint64_t started, ended, failed, cancelled;
		uint64_t opened, gone;
		unsigned running;
		/* Of the cells' gates, as reported in results. */
		uint64_t connections, refused, untold, up_bytes, down_bytes;
		uint64_t providers[PROVIDERS_MAX]; /* runs with a result, by row of the table */
	} counts;
};

/* The life of a call: local_call_enter() is the only function that changes it. */
enum local_call_state {
	CALL_NEW,
	CALL_WAITING,  /* for a cell that is being made */
	CALL_RUNNING,  /* counted as one of its tenant's runs */
	CALL_WRITING,  /* the run has ended, and its result is being converted to JSON */
	CALL_WORKING,  /* any other call that takes a while */
	CALL_ANSWERED, /* its answer is known, and is sent now or soon */
	CALL_FAILED,   /* its error is known, and is sent now or soon */
	CALL_STATES
};

/* One call. */
struct engine_run {
	struct engine_run_head head; /* first */
	struct local *local;
	struct list_node node;         /* of the engine's runs */
	struct list_node waiting_node; /* of those that wait for a cell */
	enum engine_op op;
	enum local_call_state state;
	bool stream;
	bool forgotten; /* no callback is called any more */
	bool unseen;    /* its result is not sent to a client that would be charged for it */
	char tenant[LOCAL_CALLER_MAX + 1], caller[LOCAL_CALLER_MAX + 1]; /* "": unknown */
	void (*output)(void *user, int stream, const void *data, size_t size);
	void (*end)(void *user, const char *data, size_t size);
	void (*result)(void *user, struct block *result);
	void (*fail)(void *user, const struct brig_error *error);
	void *user;

	struct brig_run *run;    /* owned; NULL: not a run, not started, or ended */
	struct local_wait *wait; /* owned: it waits for a cell; or NULL */
	struct local_fork *fork; /* owned: it forks a session; or NULL */
	struct local_file *file; /* owned: it is about a file; or NULL */
	int file_block;          /* owned: a file as the answer, as a memory file; -1: none */
	void (*end_block)(void *user, int block);
	bool paused;                   /* before it began */
	struct loop_source *source;    /* of the run */
	struct share *share;           /* of the engine's time; borrowed; NULL: not counted */
	struct loop_timer held;        /* set while its tenant has exceeded its share */
	uint64_t call_ns;              /* thread time when the call arrived; 0: already charged */
	struct local_session *session; /* in which it runs, or that it opens; NULL: none, or gone */
	struct loop_timer answered;    /* answers are sent after the call has returned */
	struct buf answer;
	char id[27];                  /* of a run, from its call; or "" */
	struct list_node id_node;     /* of those with such ids */
	struct brig_result *written;  /* owned: is being converted to JSON... */
	struct result_writer *writer; /* ...by this one, also owned */
	struct block *block;          /* a reference: a run's answer */
	struct brig_error error;      /* in CALL_FAILED */
};

void local_call_enter(struct engine_run *run, enum local_call_state state);
/* Ends a call: with the error, if it has failed, or with `answer`. Frees it. */
void local_finish(struct engine_run *run);
/* The same, but later: for answers that are known at once. */
int local_finish_soon(struct engine_run *run);

/* One function for each kind of call: 0, or -errno at once. engine_local*.c, engine_*.c */
typedef int local_start(struct local *local, const struct engine_call *call, struct engine_run *run,
			struct brig_error *err);
local_start local_execute, local_session_open, local_session_get, local_session_list,
	local_session_close, local_session_interrupt, local_session_fork, local_file_call,
	local_runtimes, local_policies, local_policy_check, local_session_ended, local_stats;

/* 0, or -EMFILE: not enough descriptors are left. engine_local_room.c */
int local_room(const struct engine_call *call, struct brig_error *err);
/*
 * Gives a run the id of its call, if that has one. -EINVAL: it is not valid. -EEXIST: another run
 * has it. engine_local_ids.c
 */
int local_id_take(struct engine_run *run, const struct engine_call *call, struct brig_error *err);
void local_id_drop(struct engine_run *run);
/* Starts a run in a cell of its own. */
int local_begin(struct engine_run *run, const struct engine_call *call, struct brig_error *err);

/* --- turns of runs, by tenant: engine_local_turn.c ------------------------------------------- */

/*
 * Charges the cost of a call so far, once. Returns when its tenant may have the answer; 0: at once.
 */
uint64_t local_call_charge(struct engine_run *run);
/*
 * Charges a turn that began at this time of the thread. Returns when the next may begin; 0: at
 * once.
 */
uint64_t local_turn_over(struct engine_run *run, uint64_t began_ns);
/* The same; the run's events are ignored until then. */
void local_turn_hold(struct engine_run *run, uint64_t began_ns);
void local_turn_drop(struct engine_run *run);
/* The same for activity in a session between its runs, which no run is charged for. */
void local_turn_hold_session(struct local_session *session, uint64_t began_ns);
void local_turn_drop_session(struct local_session *session);
/*
 * A run has begun, or has ended: its use of processor time lowers the priority of its tenant's next
 * runs.
 */
void local_turn_begun(struct engine_run *run);
void local_turn_left(struct engine_run *run, uint64_t cpu_ns);

/* --- runs that wait for a cell: engine_local_wait.c ----------------------------------------- */

/* A cold start would take as long, and would delay the cells that are being made. */
#define LOCAL_PATIENCE_NS UINT64_C(40000000)

/*
 * Other tenants must not wait for one tenant's cell: the call is kept, and started a little later.
 */
bool local_wait_is_worth(struct local *local, const struct engine_call *call);
int local_wait(struct engine_run *run, const struct engine_call *call, struct brig_error *err);
/* Begins now, with or without a cell; false: it failed, and was freed. */
bool local_wait_over(struct engine_run *run);
void local_wait_drop(struct engine_run *run);
/* The pools have changed: starts the runs that can begin. */
void local_wait_look(struct local *local);
/* The same, but soon: from within a call of libbrig, in which no run can begin. */
void local_wait_look_soon(void *user);

/* --- sessions: engine_sessions.c ------------------------------------------------------------ */

/* The life of a session: local_session_enter() is the only function that changes it. */
enum local_session_state {
	LOCAL_SESSION_OPENING, /* a call waits for it */
	LOCAL_SESSION_IDLE,
	LOCAL_SESSION_BUSY,
	LOCAL_SESSION_ENDED, /* closed, timed out or gone: only its cell may still exist */
	LOCAL_SESSION_STATES
};

struct local_session {
	struct local *local;
	struct list_node node; /* of the engine's sessions */
	enum local_session_state state;
	char id[27];
	char *tenant;                      /* owned */
	char caller[LOCAL_CALLER_MAX + 1]; /* opened it, and is charged for it */
	uint64_t billed_ns; /* the charged part of the time that it used between runs */
	char language[32];
	char policy[65];
	struct strlist env;           /* of the request that opened it */
	struct strlist network;       /* the hosts in that request... */
	bool network_asked;           /* ...if it had a list, which may be empty */
	struct brig_session *session; /* owned */
	struct loop_source *source;   /* inactive during a run, which has one of its own */
	struct share *share;          /* of the engine's time; borrowed; NULL: not counted */
	struct loop_timer held;       /* set while its tenant has exceeded its share */
	struct loop_timer lease;
	uint64_t created_ms;       /* since 1970 */
	uint64_t born_ns, used_ns; /* by the monotonic clock */
	uint64_t idle_ns, life_ns;
	uint64_t runs;
	struct engine_run *opener;  /* the call that waits for it; or NULL */
	struct engine_run *current; /* the current run, perhaps in one that has ended; or NULL */
};

void local_session_enter(struct local_session *session, enum local_session_state state);
/* Can calls use it? */
static inline bool local_session_is_open(const struct local_session *session)
{
	return session->state == LOCAL_SESSION_IDLE || session->state == LOCAL_SESSION_BUSY;
}

/* The tenant's own session that is open; NULL with the reason when there is none. */
struct local_session *local_session_find(struct local *local, const struct engine_call *call,
					 struct brig_error *err);
/* A run begins in it; NULL: the run has ended. */
void local_session_occupy(struct local_session *session, struct engine_run *run);
/* It was used: its lease starts again. */
void local_session_touch(struct local_session *session);
/* The time at which it is closed unless it is used, RFC 3339. */
void local_session_expires(const struct local_session *session, char *text, size_t size);
void local_sessions_free(struct local *local);
unsigned local_sessions_busy(const struct local *local);

/* Writes the session object. */
void local_session_describe(struct json_out *json, const struct local_session *session);
/* Ends the session for all clients; only its cell still exists. */
void local_session_end(struct local_session *session, const char *reason);

/* --- files: engine_file_turns.c ------------------------------------------------------------- */

void local_files_go_on(struct local *local);
/* Ends the call, and removes its partial results. */
void local_file_drop(struct engine_run *run);

/* --- forks: engine_fork_turns.c ------------------------------------------------------------- */

/* Ends the fork, and closes the incomplete new session. */
void local_fork_drop(struct engine_run *run);

/* --- session objects and tombstones: engine_sessions_gone.c --------------------------------- */

struct local_tombstone {
	struct local_tombstone *next;
	char id[27];
	char *tenant; /* owned */
	char language[32], policy[65], reason[200];
	uint64_t created_ms, idle_ns, runs;
	uint64_t ended_ms, ended_ns;
	bool told; /* reported to the watcher */
};

struct local_session_facts {
	const char *id, *language, *policy, *state, *reason;
	uint64_t created_ms, idle_ns, runs;
	char expires[32];
};

void local_session_print(struct json_out *json, const struct local_session_facts *facts);
/* For an hour it has the reason why the session is gone. */
void local_tombstone_add(const struct local_session *session, const char *reason);
/* The tenant's own; NULL: none. */
const struct local_tombstone *local_tombstone_find(struct local *local,
						   const struct engine_call *call);
void local_tombstone_print(struct json_out *json, const struct local_tombstone *stone);
void local_tombstones_free(struct local *local);

/* The watcher is answered soon, if there is something to report. */
void local_watcher_look(struct local *local);
/* It is answered soon, with or without something to report. */
void local_watcher_end(struct local *local);

/* --- time that is in no result: engine_bill.c ------------------------------------------------ */

/* Charges processor time to a caller. Reported with the watcher's next answer. */
void local_bill(struct local *local, const char *tenant, const char *caller, uint64_t cpu_ns);
/* Charges the time that a session has used between runs since the last call. */
void local_bill_session(struct local_session *session);
/* There is a watcher now: pending amounts are reported to it soon. */
void local_bills_look(struct local *local);
/* Writes "used", and marks it as reported. */
void local_bills_print(struct local *local, struct json_out *json);
void local_bills_free(struct local *local);

uint64_t local_wall_ms(void); /* since 1970 */
/* RFC 3339, in UTC, with milliseconds. */
void local_time_text(uint64_t ms, char *text, size_t size);
#endif
