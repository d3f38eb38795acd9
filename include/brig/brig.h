/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libbrig: runs untrusted code in a sealed cell, and reports how it ended.
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
 * Contracts of every function:
 *  - No globals, no signal handlers, no SIGCHLD, no threads of its own. Contexts are independent:
 *    any number may be used from any threads at once. One context and its runs belong to one
 *    thread at a time.
 *  - A child that brig makes is waited for by its pidfd alone, with no exit signal: a host that
 *    calls wait(-1) for its own children neither sees nor steals it (except with __WALL or
 *    __WCLONE, which include such children), and may handle, block or ignore SIGCHLD.
 *  - Every descriptor is close-on-exec from its birth. A host that forks in the middle of a run
 *    should exec or exit soon: until then the copy holds, among others, the program's input open.
 *  - Returns 0 (or a count) on success, a negative errno on failure; then, and only then, `error`
 *    (which may be NULL) has the failure, its cause, and a remedy.
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

/* The kind of failure that prevented a run. A program that ran and failed is a result. */
enum brig_code {
	BRIG_E_NONE = 0,
	BRIG_E_INPUT,   /* the request is invalid: an option, a name, a number, a file */
	BRIG_E_POLICY,  /* a policy file is invalid, or the policy forbids the request */
	BRIG_E_RUNTIME, /* the language is unknown, or not installed on this host */
	BRIG_E_HOST,    /* the host lacks a layer that the policy requires */
	BRIG_E_CONSENT, /* the policy requires a person's consent first (auto_run) */
	BRIG_E_SYSTEM,  /* a system call of brig's own failed */
};

struct brig_error {
	enum brig_code code;
	int errnum;        /* positive errno, or 0 */
	char step[32];     /* the set-up step that failed, as `brig explain` names it; or "" */
	char message[512]; /* one line: the thing and the cause */
	char remedy[512];  /* one line: the remedy; or "" */
};

/* In a request 0 means the policy's value; in a result every limit in force is set. */
struct brig_limits {
	uint64_t wall_ns;
	uint64_t cpu_ns;
	uint64_t cpu_millicores; /* share: 1000 is one whole core */
	uint64_t memory_bytes;   /* all processes, tmpfs, shm and page cache of own files */
	uint64_t processes;      /* processes and threads together */
	uint64_t disk_bytes;     /* all writable directories together */
	uint64_t disk_inodes;
	uint64_t open_files; /* per process */
	uint64_t file_bytes; /* largest single file */
	uint64_t stdout_bytes;
	uint64_t stderr_bytes;
	uint64_t net_bytes; /* to and from the network, of runs that have one */
	/* From SIGTERM to SIGKILL when the time is up, or the run is cancelled; 0: only SIGKILL */
	uint64_t grace_ns;
	uint64_t instructions; /* of WebAssembly, counted by providers that can */
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
	BRIG_ERROR, /* brig itself failed */
};

/* An input file: copied to /sandbox/<name> before the program starts. */
struct brig_file_in {
	const char *name; /* relative, no "..", no empty part, at most 255 bytes each part */
	const void *data; /* content; or NULL, then... */
	size_t size;
	const char *path; /* ...the content is read from this file of the caller */
	bool executable;
};

/* A host directory made visible as /mnt/<name>. */
struct brig_mount {
	const char *path; /* absolute or relative; links in it are not followed */
	const char *name; /* NULL: the last part of path */
	bool writable;
};

/* The origin of a run's cell. Only the time to its first instruction differs. */
enum brig_start {
	/* From a pool when a cell is ready, or soon will be (waits up to 15 ms); else made now. */
	BRIG_START_AUTO = 0,
	BRIG_START_COLD, /* always made now */
	/* Waits for a ready one, up to 20 s; made now only if that fails. */
	BRIG_START_WARM,
};

struct brig_request {
	size_t size; /* sizeof(struct brig_request): lets the struct grow; 0: all of it */

	const char *language;       /* NULL: by extension or #! line of `file` */
	const char *code;           /* source text; exactly one of code, file, command */
	size_t code_size;           /* 0: strlen(code) */
	const char *file;           /* path of a source file of the caller */
	const char *const *command; /* NULL-terminated argv of any program */
	const char *const *args;    /* NULL-terminated arguments behind code or file; or NULL */

	const char *policy;        /* NULL: "default" */
	struct brig_limits limits; /* tightens the policy; exceeding a ceiling is an error */
	const char *const *env;    /* NULL-terminated NAME=VALUE; or NULL */

	const struct brig_file_in *files;
	size_t files_count;
	const struct brig_mount *mounts;
	size_t mounts_count;
	const char *const *out; /* NULL-terminated globs under /sandbox; out/ is always returned */
	bool changes; /* report files that were created, modified and deleted in /sandbox */

	const void *stdin_data; /* whole standard input; or NULL: empty, unless... */
	size_t stdin_size;
	bool stdin_feed; /* ...true: bytes come by brig_run_feed() */

	/*
	 * The owner of the code. Cells that are made ahead share their origin only within one
	 * tenant; NULL is a tenant too.
	 */
	const char *tenant;
	enum brig_start start;
	/* Also report the value of the last expression, or of `result`, if it is available. */
	bool want_value;

	bool consent; /* a person has consented to this run: needed if auto_run is "ask" */

	/*
	 * Called from brig_run_step() and brig_run_wait() with output as it arrives, stream 1 or 2;
	 * may be NULL. May call brig_run_feed() and brig_run_cancel(), not step, wait or free. The
	 * same output is also kept in the result unless `discard_output` is set.
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
	/* ...the caller takes responsibility, as far as the policy's network.caller allows it. */
	bool network_own;

	/*
	 * A ceiling for limits that are not set: there the policy's limits apply, or those of the
	 * session, but no more than these. 0: none.
	 */
	struct brig_limits limits_most;

	/*
	 * "off", "imports", "strict": the guard for Python, at least as strict as the policy's
	 * (NULL).
	 */
	const char *guard;
	/* Only check the code: the guard's decision, and its risk. Nothing is run. */
	bool check;
	/* `mounts` name directories that the policy lists, and no others: path is such a name. */
	bool mounts_listed;
	/* Limits that the policy does not allow become the nearest allowed ones: no error. */
	bool clamp;

	/*
	 * A terminal in place of three pipes, if the policy allows it: the program's output is
	 * stream 1. Such a cell is never made ahead.
	 */
	bool terminal;
	uint16_t terminal_rows, terminal_columns; /* 0: unknown */

	/*
	 * The id of a run, for its result, its records in the audit file and the control group of
	 * its cell; of a session to open, for the control group alone. A ULID that no other run or
	 * session of this process has. NULL: brig makes one.
	 */
	const char *id;
	/*
	 * The provider: one that the policy names, and exactly that one. NULL: the first of the
	 * policy's that this host can do.
	 */
	const char *provider;
	/*
	 * A virtualenv: its Python runs the program. The name of one that the policy lists; unless
	 * `mounts_listed`, also an absolute path, or a name that `brig venv create` was given.
	 * NULL: the policy's.
	 */
	const char *venv;
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
	char sha256[65]; /* "" if it is not a regular file */
};

/* A system call that the policy refused. */
struct brig_denial {
	char call[32];     /* "socket" */
	char meaning[160]; /* "socket(AF_ALG, SOCK_SEQPACKET, 0)" */
	char reason[160];  /* the line of the policy that denies it */
	uint64_t count;    /* total number of recorded refusals */
};

/* A connection that the program made, or tried to. */
struct brig_connection {
	char *host;       /* its target: a name, or an address */
	uint16_t port;    /* 0: a name that was looked up and denied */
	char address[48]; /* its destination; "": none */
	char verdict[24]; /* "allowed", "refused_name", ... */
	uint64_t bytes_up;
	uint64_t bytes_down;
	uint64_t took_ns;
	const char *reason; /* of the verdict, if TLS is opened; NULL: none */
};

/* The code that the guard refused, and its position. */
struct brig_refusal {
	uint32_t line, column; /* from 1; 0: not at one place */
	char rule[32];         /* "import", "attribute", "name", "syntax", ... */
	char reason[200];
};

/* Events of a run that its operator wants to know. */
enum brig_event_kind {
	BRIG_EVENT_CALL_DENIED = 0,    /* a system call that the policy refused */
	BRIG_EVENT_CALL_WATCHED,       /* one that it allows, and watches */
	BRIG_EVENT_FILE_WATCHED,       /* the same for a file that was opened */
	BRIG_EVENT_CONNECTION_REFUSED, /* by the gate */
	BRIG_EVENT_GUARD_REFUSED,      /* the guard refused the code */
	BRIG_EVENT_LIMIT_TOUCHED,      /* a limit was reached, whether the program coped or not */
};
#define BRIG_EVENT_KINDS 6

/* Repetitions of the same call, file or host are counted; only the first is recorded in full. */
struct brig_event {
	enum brig_event_kind kind;
	/*
	 * The call with its arguments, a path, HOST:PORT, a limit; bytes beyond printable ASCII are
	 * written as \xNN, and long texts are cut.
	 */
	char subject[192];
	char reason[160]; /* the line of the policy that causes it */
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
	uint64_t instructions; /* 0: they were not counted */
};

struct brig_result {
	char id[27]; /* ULID */
	enum brig_status status;
	int exit_code; /* -1: none */
	int signal;    /* 0: none */

	/* Never NULL; followed by a NUL that is not counted. */
	char *stdout_data;
	size_t stdout_size;
	bool stdout_truncated;
	char *stderr_data;
	size_t stderr_size;
	bool stderr_truncated;
	char *value_json; /* NULL: no value */

	struct brig_file_out *files;
	size_t files_count;
	char *files_note; /* why some file was not returned; or NULL */
	struct brig_change *changes;
	size_t changes_count;
	bool changes_reported;
	struct brig_connection *connections;
	size_t connections_count;
	uint64_t connections_untold; /* number of further ones, not listed */
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
	char expires_at[32]; /* set by a service that keeps sessions, RFC 3339; or "" */

	bool refused; /* `refusal` is filled */
	struct brig_refusal refusal;
	bool risk_known;         /* the code was checked: */
	unsigned risk;           /* 0 to 100 */
	char risk_reasons[1024]; /* one per line */

	struct brig_event *events; /* in the order of their first occurrence */
	size_t events_count;
	uint64_t events_dropped;   /* number of further ones, whose subjects had no room */
	uint64_t event_counts[16]; /* by kind, including those */

	uint64_t compile_cpu_ns; /* the compiler's part of usage.cpu_ns */

	char *value_repr; /* of a value that JSON cannot represent: as text */
};

/* Cells made ahead: how many, and for how long. 0 means the default in the comment. */
struct brig_warm_options {
	size_t size;           /* sizeof(struct brig_warm_options) */
	unsigned cells_max;    /* ready ones for each kind of request (4 for each processor) */
	unsigned pools_max;    /* kinds of request: policy, language, tenant (16) */
	uint64_t memory_bytes; /* all ready ones together (1 GiB) */
	unsigned clones_max;   /* a template is replaced after so many (1000) */
	uint64_t age_ns;       /* or after this time (10 minutes) */
	bool no_templates;     /* start a new interpreter in each cell */
};

struct brig_context_options {
	size_t size;            /* sizeof(struct brig_context_options) */
	const char *config_dir; /* policies/ and runtimes/ of the operator; NULL: /etc/brig */
	const char *cache_dir;  /* NULL: /var/cache/brig or $XDG_CACHE_HOME/brig */
	bool no_cache;          /* compile again each time */
	const struct brig_warm_options *warm; /* NULL: every cell is made on request */
	/* A record of all runs: an audit chain, see docs/audit.md. NULL: the value of BRIG_AUDIT */
	const char *audit_file;
};

struct brig_context;
struct brig_run;

BRIG_API int brig_context_new(const struct brig_context_options *options, struct brig_context **ret,
			      struct brig_error *error);
BRIG_API void brig_context_free(struct brig_context *context);

/*
 * Makes cells for requests like this one, and waits until `cells` of them are ready. Only the
 * fields that determine the kind of cell are used: language, policy, tenant, limits. -ENOTSUP: such
 * requests are always started cold, and `error` has the reason.
 */
BRIG_API int brig_context_warm(struct brig_context *context, const struct brig_request *like,
			       unsigned cells, struct brig_error *error);
/*
 * For event loops: readable when the pools need attention; then call step, which never blocks.
 * Waiting for a run or stepping it does the same. -1: no pools.
 */
BRIG_API int brig_context_fd(const struct brig_context *context);
BRIG_API void brig_context_step(struct brig_context *context);

/*
 * Runs to the end. `options` may be NULL; its code, file, command and stdin_feed are ignored, and
 * its language by brig_execute_code() (NULL there: by #! line, or Python).
 */
BRIG_API int brig_execute_code(struct brig_context *context, const char *language, const char *code,
			       const struct brig_request *options, struct brig_result **ret,
			       struct brig_error *error);
BRIG_API int brig_execute_file(struct brig_context *context, const char *path,
			       const struct brig_request *options, struct brig_result **ret,
			       struct brig_error *error);

/*
 * The interface for event loops: start, add brig_run_fd() to your loop (readable when the run needs
 * attention), call brig_run_step() until it returns 1, take the result. The fd is the same from
 * start to free; the run owns it: poll it, but do not close it.
 */
BRIG_API int brig_run_start(struct brig_context *context, const struct brig_request *request,
			    struct brig_run **ret, struct brig_error *error);
BRIG_API int brig_run_fd(const struct brig_run *run);
/*
 * Never blocks. 1: ended; 0: call again when the fd is readable; negative: brig itself failed, and
 * there will be no result. Further calls after the end return the same.
 */
BRIG_API int brig_run_step(struct brig_run *run, struct brig_error *error);
/* Blocks until the end. 0: ended; negative: as above. */
BRIG_API int brig_run_wait(struct brig_run *run, struct brig_error *error);
/*
 * Bytes for standard input, of a run with stdin_feed. Returns how many were accepted; 0: full, or
 * the program has not begun: try again after the next step. -EPIPE: the program has closed its
 * input, or has ended, or brig_run_feed_end() was called. Bytes that are accepted and never read
 * are lost, as with any pipe.
 */
BRIG_API long brig_run_feed(struct brig_run *run, const void *data, size_t size);
BRIG_API void brig_run_feed_end(struct brig_run *run);
/* Changes the size of a run's terminal; 0, or -ENOTTY: it has none. */
BRIG_API int brig_run_resize(struct brig_run *run, uint16_t rows, uint16_t columns);
/* Ends the whole cell; step or wait deliver the result as usual, with status "cancelled". */
BRIG_API void brig_run_cancel(struct brig_run *run);
/* Holds the program's output back in its pipes, so that it must wait; or resumes it. */
BRIG_API void brig_run_pause(struct brig_run *run, bool paused);
/* After the end: moves the result to the caller. NULL: not ended, failed, or already taken. */
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
	BRIG_SESSION_OPENING, /* runs can be started; they begin when the interpreter is ready */
	BRIG_SESSION_IDLE,
	BRIG_SESSION_BUSY, /* a run is under way: another one is refused */
	BRIG_SESSION_GONE,
};

/*
 * Used fields of the request: language, policy, limits (for the cell, and the defaults of its
 * runs), env, files, mounts, tenant, start, consent, id. -ENOTSUP: the language has no sessions.
 */
BRIG_API int brig_session_open(struct brig_context *context, const struct brig_request *request,
			       struct brig_session **ret, struct brig_error *error);
/*
 * One run. Used fields: code, args, stdin_data, files, out, limits (wall, cpu, stdout, stderr),
 * want_value, id and those about output; the session determines all others, which are ignored.
 * The handle is like any other. Cancelling, or the end of its time, interrupts the code first; the
 * session ends only if the code does not stop within a second. -EBUSY: a run is under way. -ESTALE:
 * the session is gone. Freeing a run that is under way interrupts it as well. Files are written in
 * the first steps, then the code begins: if one cannot be written, the run fails.
 */
BRIG_API int brig_session_start(struct brig_session *session, const struct brig_request *request,
				struct brig_run **ret, struct brig_error *error);
/* The current run ends, with status "cancelled"; its state stays. -ESRCH: there is none. */
BRIG_API int brig_session_interrupt(struct brig_session *session);
/* Readable when it needs attention; during a run the run's own descriptor includes it. */
BRIG_API int brig_session_fd(const struct brig_session *session);
/* Never blocks. 0: it lives; 1: it is gone, now or before. */
BRIG_API int brig_session_step(struct brig_session *session);
BRIG_API enum brig_session_state brig_session_state(const struct brig_session *session);
/* Why it is gone, one line; "" as long as it is not. */
BRIG_API const char *brig_session_reason(const struct brig_session *session);
/* Kills the cell without waiting for its end. brig_session_reason() will return `reason`. */
BRIG_API void brig_session_end(struct brig_session *session, const char *reason);
/* Ends it, waits until nothing is left of it, and frees it. A run's handle stays valid. */
BRIG_API void brig_session_close(struct brig_session *session);

/*
 * Files beneath /sandbox of a session, at any time. Paths follow the rules for input files. Links
 * are never followed, and only regular files are read, replaced or removed (directories too, when
 * empty).
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
/* All regular files, by path; `truncated` (may be NULL): there are more. */
BRIG_API int brig_session_list(struct brig_session *session, struct brig_session_file **ret,
			       size_t *ret_count, bool *truncated, struct brig_error *error);
BRIG_API void brig_session_files_free(struct brig_session_file *files, size_t count);

BRIG_API void brig_result_free(struct brig_result *result);
/* The result object of the documentation, one line of JSON; free() it. NULL: out of memory. */
BRIG_API char *brig_result_json(const struct brig_result *result);
/* {"error":{...}} for a run that could not start. */
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
