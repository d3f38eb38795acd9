/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libbrig: run code that nobody has read in a sealed cell, and learn how it ended.
 *
 * The short way:
 *
 *	struct brig_context *brig = NULL;
 *	struct brig_result *result = NULL;
 *	struct brig_error error = { 0 };
 *
 *	if (brig_context_new(NULL, &brig, &error) < 0 ||
 *	    brig_execute_code(brig, "python", "print(6 * 7)", NULL, &result, &error) < 0) {
 *		fprintf(stderr, "%s\n", error.message);
 *	}
 *	brig_result_free(result);
 *	brig_context_free(brig);
 *
 * Contracts that hold for every function:
 *  - No globals, no signal handlers, no SIGCHLD, no threads of its own. Contexts are independent:
 *    any number may be used from any threads at once. One context and its runs belong to one
 *    thread at a time.
 *  - A child that brig makes is waited for by its pidfd alone, with no exit signal: a host that
 *    calls wait(-1) for its own children neither sees nor steals it (but for __WALL or __WCLONE,
 *    which ask for such children by name), and may handle, block or ignore SIGCHLD as it likes.
 *  - Every descriptor is close-on-exec from its birth. A host that forks in the middle of a run
 *    should exec or exit soon: until then the copy holds, among others, the program's input open.
 *  - Returns 0 (or a count) on success, a negative errno on failure; then, and only then, `error`
 *    (which may be NULL) says what failed, why, and what would mend it.
 *  - Out-parameters are written only on success. Strings in a request are borrowed for the call;
 *    strings in a result belong to the result.
 *  - The library never prints, never logs and never exits.
 */
#ifndef BRIG_BRIG_H
#define BRIG_BRIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BRIG_VERSION "0.1.0"

#if defined(BRIG_BUILDING) && defined(__GNUC__)
#define BRIG_API __attribute__((visibility("default")))
#else
#define BRIG_API
#endif

/* What kind of failure kept a run from happening. A program that ran and failed is a result. */
enum brig_code {
	BRIG_E_NONE = 0,
	BRIG_E_INPUT,   /* the request is wrong: an option, a name, a number, a file */
	BRIG_E_POLICY,  /* a policy file is wrong, or the policy forbids what was asked */
	BRIG_E_RUNTIME, /* the language is unknown, or not installed on this host */
	BRIG_E_HOST,    /* the host lacks a layer that the policy wants */
	BRIG_E_CONSENT, /* the policy wants a person's consent first (auto_run) */
	BRIG_E_SYSTEM,  /* a system call of brig's own failed */
};

struct brig_error {
	enum brig_code code;
	int errnum;        /* positive errno, or 0 */
	char step[32];     /* the set-up step that failed, as `brig explain` names it; or "" */
	char message[512]; /* one line: the thing and the cause */
	char remedy[512];  /* one line: what to do about it; or "" */
};

/* In a request 0 means "as the policy says"; in a result every limit in force is filled in. */
struct brig_limits {
	uint64_t wall_ns;
	uint64_t cpu_ns;
	uint64_t cpu_millicores; /* share: 1000 is one whole core */
	uint64_t memory_bytes;   /* all processes, tmpfs, shm and page cache of own files */
	uint64_t processes;      /* processes and threads together */
	uint64_t disk_bytes;     /* all writable places together */
	uint64_t disk_inodes;
	uint64_t open_files; /* per process */
	uint64_t file_bytes; /* largest single file */
	uint64_t stdout_bytes;
	uint64_t stderr_bytes;
	uint64_t net_bytes; /* to and from the network, of runs that have one */
	/* From SIGTERM to SIGKILL when the time is up, or the run is cancelled; 0: SIGKILL alone */
	uint64_t grace_ns;
};

enum brig_status {
	BRIG_OK = 0,
	BRIG_FAILED, /* non-zero exit, or a signal */
	BRIG_COMPILE_FAILED,
	BRIG_TIMEOUT,
	BRIG_CPU_LIMIT,
	BRIG_MEMORY_LIMIT,
	BRIG_PROCESS_LIMIT,
	BRIG_DISK_LIMIT,
	BRIG_OUTPUT_LIMIT,
	BRIG_NETWORK_LIMIT,
	BRIG_DENIED,   /* the policy ended it */
	BRIG_REJECTED, /* the guard refused it before it ran */
	BRIG_CANCELLED,
	BRIG_LOST,
	BRIG_ERROR, /* brig's own fault */
};

/* A file handed in: copied to /sandbox/<name> before the program starts. */
struct brig_file_in {
	const char *name; /* relative, no "..", no empty part, at most 255 bytes each part */
	const void *data; /* content; or NULL, then... */
	size_t size;
	const char *path; /* ...the content is read from this file of the caller's */
	bool executable;
};

/* A host directory made visible as /mnt/<name>. */
struct brig_mount {
	const char *path; /* absolute or relative; no link on the way to it is followed */
	const char *name; /* NULL: the last part of path */
	bool writable;
};

/* Where a run's cell comes from. Only the time to its first instruction differs. */
enum brig_start {
	/* From a pool when one is ready, or soon will be (waits up to 15 ms); else made now. */
	BRIG_START_AUTO = 0,
	BRIG_START_COLD, /* always made now */
	/* Waits for a ready one, up to 20 s; made now only when that cannot be had. */
	BRIG_START_WARM,
};

struct brig_request {
	size_t size; /* sizeof(struct brig_request): lets the struct grow; 0: all of it */

	const char *language;       /* NULL: by extension or #! line of `file` */
	const char *code;           /* source text; exactly one of code, file, command */
	size_t code_size;           /* 0: strlen(code) */
	const char *file;           /* path of a source file of the caller's */
	const char *const *command; /* NULL-terminated argv of any program */
	const char *const *args;    /* NULL-terminated arguments behind code or file; or NULL */

	const char *policy;        /* NULL: "default" */
	struct brig_limits limits; /* tightens the policy; above a ceiling is an error */
	const char *const *env;    /* NULL-terminated NAME=VALUE; or NULL */

	const struct brig_file_in *files;
	size_t files_count;
	const struct brig_mount *mounts;
	size_t mounts_count;
	const char *const *out; /* NULL-terminated globs under /sandbox; out/ always comes back */
	bool changes;           /* report what was created, modified and deleted in /sandbox */

	const void *stdin_data; /* whole standard input; or NULL: empty, unless... */
	size_t stdin_size;
	bool stdin_feed; /* ...true: bytes come by brig_run_feed() */

	/*
	 * Whose code this is. Cells that are made ahead share their origin only within one tenant;
	 * NULL is a tenant too.
	 */
	const char *tenant;
	enum brig_start start;
	/* Also report what the last expression, or `result`, evaluated to, where it can be had. */
	bool want_value;

	bool consent; /* a person has said yes to this run: needed where auto_run is "ask" */

	/*
	 * Called from brig_run_step() and brig_run_wait() with bytes as they come, stream 1 or 2;
	 * may be NULL. May call brig_run_feed() and brig_run_cancel(), not step, wait or free. What
	 * is delivered here is also kept in the result unless `discard_output` is set.
	 */
	void (*on_output)(void *user, int stream, const void *data, size_t size);
	void *user;
	bool discard_output;

	/*
	 * Hosts that the program may connect to, NULL-terminated: "pypi.org", "*.example.org:443",
	 * "192.0.43.0/24:8000-8010", "local:db.internal:5432". NULL: those that the policy allows;
	 * an empty list: none. More than the policy allows is an error, unless...
	 */
	const char *const *network;
	/* ...the caller answers for it, as far as the policy's network.caller goes. */
	bool network_own;

	/*
	 * A ceiling for what is not asked for: there the policy's limits hold, or those of the
	 * session, but no more than these. 0: none.
	 */
	struct brig_limits limits_most;

	/* "off", "imports", "strict": how Python is guarded, at least as the policy has it (NULL). */
	const char *guard;
	/* Only look at the code: what the guard says, and its risk. Nothing is run. */
	bool check;
	/* `mounts` name directories that the policy lists, and no others: path is such a name. */
	bool mounts_listed;
	/* Limits outside of what the policy allows become the nearest that it does: no error. */
	bool clamp;

	/*
	 * A terminal in place of three pipes, if the policy allows it: what the program prints
	 * comes as stream 1. Such a cell is never one made ahead.
	 */
	bool terminal;
	uint16_t terminal_rows, terminal_columns; /* 0: nobody knows */
};

struct brig_file_out {
	char *path; /* relative to /sandbox */
	uint64_t size;
	char sha256[65];
	void *data;
	bool executable;
};

struct brig_change {
	char *path;
	char kind; /* 'c' created, 'm' modified, 'd' deleted */
	uint64_t size;
	char sha256[65]; /* "" for what is not a regular file */
};

/* A system call that the policy refused. */
struct brig_denial {
	char call[32];     /* "socket" */
	char meaning[160]; /* "socket(AF_ALG, SOCK_SEQPACKET, 0)" */
	char reason[160];  /* the line of the policy that refuses it */
	uint64_t count;    /* how many refusals were recorded in all */
};

/* A connection that the program made, or tried to. */
struct brig_connection {
	char *host;       /* what it was made for: a name, or an address */
	uint16_t port;    /* 0: a name that was asked for and not given */
	char address[48]; /* where it went; "" nowhere */
	char verdict[24]; /* "allowed", "refused_name", ... */
	uint64_t bytes_up;
	uint64_t bytes_down;
	uint64_t took_ns;
	const char *reason; /* behind the verdict, where TLS is opened; NULL: none */
};

/* What the guard refused, and where. */
struct brig_refusal {
	uint32_t line, column; /* from 1; 0: at no one place */
	char rule[32];         /* "import", "attribute", "name", "syntax", ... */
	char reason[200];
};

/* What a run did that its operator wants to know of. */
enum brig_event_kind {
	BRIG_EVENT_CALL_DENIED = 0,    /* a system call that the policy refused */
	BRIG_EVENT_CALL_WATCHED,       /* one that it allows, and watches */
	BRIG_EVENT_FILE_WATCHED,       /* the same for a file that was opened */
	BRIG_EVENT_CONNECTION_REFUSED, /* by the gate */
	BRIG_EVENT_GUARD_REFUSED,      /* the guard refused the code */
	BRIG_EVENT_LIMIT_TOUCHED,      /* a limit was in its way, whether it coped or not */
};
#define BRIG_EVENT_KINDS 6

/* The same call, file or host counts up; only the first is told in full. */
struct brig_event {
	enum brig_event_kind kind;
	/* The call with its arguments, a path, HOST:PORT, a limit; bytes beyond printable ASCII are
	 * written as \xNN, and what is too long is cut. */
	char subject[192];
	char reason[160]; /* the line of the policy that is about it */
	uint64_t count;
	uint64_t first_ns; /* since the run's start */
};

struct brig_usage {
	uint64_t wall_ns;
	uint64_t cpu_ns;
	uint64_t memory_peak_bytes;
	uint64_t processes_peak;
	uint64_t disk_bytes; /* peak */
	uint64_t net_bytes;
};

struct brig_result {
	char id[27]; /* ULID */
	enum brig_status status;
	int exit_code; /* -1: none */
	int signal;    /* 0: none */

	/* Never NULL; behind the bytes is a NUL that does not count. */
	char *stdout_data;
	size_t stdout_size;
	bool stdout_truncated;
	char *stderr_data;
	size_t stderr_size;
	bool stderr_truncated;
	char *value_json; /* NULL: no value */

	struct brig_file_out *files;
	size_t files_count;
	char *files_note; /* why some file did not come back; or NULL */
	struct brig_change *changes;
	size_t changes_count;
	bool changes_reported;
	struct brig_connection *connections;
	size_t connections_count;
	uint64_t connections_untold; /* how many more there were */
	bool networked;              /* the run had a gate */

	/* verdict */
	char cause[32];      /* "exit", "signal", "wall", "memory", ... */
	char limit_name[32]; /* "memory_bytes"; or "" */
	uint64_t limit;
	uint64_t peak;
	bool denied; /* `denial` is filled */
	struct brig_denial denial;
	char remedy[256];
	char operator_remedy[256];

	struct brig_usage usage;
	struct brig_limits limits;
	char means[512]; /* how each limit was enforced: "memory=cgroup2 disk=tmpfs ..." */
	char language[32];
	char runtime[64];
	char policy[160];    /* "default@sha256:..." */
	char provider[16];   /* "native", "local" */
	char start[8];       /* "cold", "warm", "session" */
	char layers[512];    /* space-separated, those that were really on */
	bool build_cached;   /* the compiled program came from the build cache */
	char expires_at[32]; /* whoever keeps sessions may say until when, RFC 3339; or "" */

	bool refused; /* `refusal` is filled */
	struct brig_refusal refusal;
	bool risk_known;         /* the code was looked at: */
	unsigned risk;           /* 0 to 100 */
	char risk_reasons[1024]; /* one each line */

	struct brig_event *events; /* in the order of their first time */
	size_t events_count;
	uint64_t events_dropped;   /* how many more there were, of subjects that had no room */
	uint64_t event_counts[16]; /* by kind, with those */

	uint64_t compile_cpu_ns; /* what of usage.cpu_ns was the compiler's */

	char *value_repr; /* of a value that JSON has nothing like: how the language shows it */
};

/* Cells made ahead: how many, and for how long. 0 stands for what the comment says. */
struct brig_warm_options {
	size_t size;           /* sizeof(struct brig_warm_options) */
	unsigned cells_max;    /* ready ones for each kind of request (4 for each processor) */
	unsigned pools_max;    /* kinds of request: policy, language, tenant (16) */
	uint64_t memory_bytes; /* all ready ones together (256 MiB) */
	unsigned clones_max;   /* a template makes way for a new one after so many (1000) */
	uint64_t age_ns;       /* or after so long (10 minutes) */
	bool no_templates;     /* start interpreters anew in each cell */
};

struct brig_context_options {
	size_t size;            /* sizeof(struct brig_context_options) */
	const char *config_dir; /* policies/ and runtimes/ of the operator; NULL: /etc/brig */
	const char *cache_dir;  /* NULL: /var/cache/brig or $XDG_CACHE_HOME/brig */
	bool no_cache;          /* compile anew each time */
	const struct brig_warm_options *warm; /* NULL: every cell is made when it is asked for */
	/* A record of all runs: an audit chain, see docs/audit.md. NULL: what BRIG_AUDIT says */
	const char *audit_file;
};

struct brig_context;
struct brig_run;

BRIG_API int brig_context_new(const struct brig_context_options *options, struct brig_context **ret,
			      struct brig_error *error);
BRIG_API void brig_context_free(struct brig_context *context);

/*
 * Makes cells for requests like this one, and waits until `cells` of them are ready. Only what
 * decides the kind of cell is looked at: language, policy, tenant, limits. -ENOTSUP: such requests
 * are always started cold, and `error` says why.
 */
BRIG_API int brig_context_warm(struct brig_context *context, const struct brig_request *like,
			       unsigned cells, struct brig_error *error);
/*
 * For event loops: readable when there is something to do for the pools; then call step, which
 * never blocks. Runs that are waited for or stepped do the same on the side. -1: no pools.
 */
BRIG_API int brig_context_fd(const struct brig_context *context);
BRIG_API void brig_context_step(struct brig_context *context);

/*
 * Runs to the end. `options` may be NULL; what it says of code, file, command and stdin_feed is
 * not looked at, nor its language by brig_execute_code() (NULL there: by #! line, or Python).
 */
BRIG_API int brig_execute_code(struct brig_context *context, const char *language, const char *code,
			       const struct brig_request *options, struct brig_result **ret,
			       struct brig_error *error);
BRIG_API int brig_execute_file(struct brig_context *context, const char *path,
			       const struct brig_request *options, struct brig_result **ret,
			       struct brig_error *error);

/*
 * The handle way, for event loops: start, add brig_run_fd() to your loop (readable when there is
 * something to do), call brig_run_step() until it returns 1, take the result. The fd is the same
 * from start to free; it is the run's, to be polled and not to be closed.
 */
BRIG_API int brig_run_start(struct brig_context *context, const struct brig_request *request,
			    struct brig_run **ret, struct brig_error *error);
BRIG_API int brig_run_fd(const struct brig_run *run);
/*
 * Never blocks. 1: ended; 0: call again when the fd is readable; negative: brig's own failure, and
 * there will be no result. What ended or failed stays so, however often it is asked.
 */
BRIG_API int brig_run_step(struct brig_run *run, struct brig_error *error);
/* Blocks until the end. 0: ended; negative: as above. */
BRIG_API int brig_run_wait(struct brig_run *run, struct brig_error *error);
/*
 * Bytes for standard input, of a run with stdin_feed. Returns how many were taken; 0: full, or the
 * program has not begun: again after the next step. -EPIPE: the program has closed its input, or
 * has ended, or brig_run_feed_end() was called. Bytes that are taken and never read are lost, as
 * with any pipe.
 */
BRIG_API long brig_run_feed(struct brig_run *run, const void *data, size_t size);
BRIG_API void brig_run_feed_end(struct brig_run *run);
/* The terminal of a run that has one has another size now; 0, or -ENOTTY: there is none. */
BRIG_API int brig_run_resize(struct brig_run *run, uint16_t rows, uint16_t columns);
/* Ends the whole cell; the result comes by step or wait as usual, with status "cancelled". */
BRIG_API void brig_run_cancel(struct brig_run *run);
/* Holds the program's output back in its pipes, so that it has to wait; or lets it come again. */
BRIG_API void brig_run_pause(struct brig_run *run, bool paused);
/* After the end: moves the result to the caller. NULL: not ended, failed, or taken already. */
BRIG_API struct brig_result *brig_run_take_result(struct brig_run *run);
/* Also ends a run that is under way, and waits until nothing of it is left. */
BRIG_API void brig_run_free(struct brig_run *run);

/*
 * Sessions: one cell in which an interpreter stays, so that variables, functions and files survive
 * from run to run. Memory, processes and disk are limits of the session as a whole; wall time, cpu
 * time and output are limits of each run. See docs/sessions.md.
 */
struct brig_session;

enum brig_session_state {
	BRIG_SESSION_OPENING, /* runs can be started; they begin when the interpreter is there */
	BRIG_SESSION_IDLE,
	BRIG_SESSION_BUSY, /* a run is under way: another one is refused */
	BRIG_SESSION_GONE,
};

/*
 * Of the request these count: language, policy, limits (for the cell, and what its runs have unless
 * they ask for less), env, files, mounts, tenant, start, consent. -ENOTSUP: the language has none.
 */
BRIG_API int brig_session_open(struct brig_context *context, const struct brig_request *request,
			       struct brig_session **ret, struct brig_error *error);
/*
 * One run: code, args, stdin_data, files, out, limits (wall, cpu, stdout, stderr), want_value and
 * what is about output; all else must be as the session has it, and is not looked at. The handle
 * is like any other. Cancelling, or the end of its time, interrupts the code first; only what does
 * not come back within a second ends the session with it. -EBUSY: a run is under way. -ESTALE: the
 * session is gone. To free a run that is under way interrupts it as well. Files are written in the
 * first steps, and the code begins then: what cannot be written fails the run.
 */
BRIG_API int brig_session_start(struct brig_session *session, const struct brig_request *request,
				struct brig_run **ret, struct brig_error *error);
/* The run that is under way ends, with status "cancelled"; its state stays. -ESRCH: there is none.
 */
BRIG_API int brig_session_interrupt(struct brig_session *session);
/* Readable when there is something to do; a run's own descriptor stands for the same. */
BRIG_API int brig_session_fd(const struct brig_session *session);
/* Never blocks. 0: it lives; 1: it is gone, now or before. */
BRIG_API int brig_session_step(struct brig_session *session);
BRIG_API enum brig_session_state brig_session_state(const struct brig_session *session);
/* Why it is gone, one line; "" as long as it is not. */
BRIG_API const char *brig_session_reason(const struct brig_session *session);
/* Kills the cell without waiting for its end. `reason` is what brig_session_reason() will say. */
BRIG_API void brig_session_end(struct brig_session *session, const char *reason);
/* Ends it, waits until nothing is left of it, and frees it. A run's handle stays good. */
BRIG_API void brig_session_close(struct brig_session *session);

/*
 * Files beneath /sandbox of a session, at any time. Paths as those of input files. Links are never
 * followed, and only regular files are read, replaced or removed (directories too, when empty).
 */
struct brig_session_file {
	char *path;
	uint64_t size;
	uint64_t modified_ns; /* since 1970 */
	bool executable;
};
BRIG_API int brig_session_put(struct brig_session *session, const char *path, const void *data,
			      size_t size, bool executable, struct brig_error *error);
/* The content, for free(); -EFBIG when it has more than `max` bytes. */
BRIG_API int brig_session_get(struct brig_session *session, const char *path, size_t max,
			      char **ret, size_t *ret_size, struct brig_error *error);
BRIG_API int brig_session_delete(struct brig_session *session, const char *path,
				 struct brig_error *error);
/* All regular files, by path; `truncated` (may be NULL) tells that there are more. */
BRIG_API int brig_session_list(struct brig_session *session, struct brig_session_file **ret,
			       size_t *ret_count, bool *truncated, struct brig_error *error);
BRIG_API void brig_session_files_free(struct brig_session_file *files, size_t count);

BRIG_API void brig_result_free(struct brig_result *result);
/* The result object of the documentation, one line of JSON; free() it. NULL: out of memory. */
BRIG_API char *brig_result_json(const struct brig_result *result);
/* {"error":{...}} for a run that could not happen. */
BRIG_API char *brig_error_json(const struct brig_error *error);
/* The JSON Schema that every result object fulfils. */
BRIG_API const char *brig_result_schema(void);
BRIG_API const char *brig_status_name(enum brig_status status);
BRIG_API const char *brig_code_name(enum brig_code code);
/* "call.denied", "call.watched", ... */
BRIG_API const char *brig_event_name(enum brig_event_kind kind);

#ifdef __cplusplus
}
#endif
#endif
