/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs code for HTTP and MCP: calls, each with a tenant, answered by callbacks on the loop's
 * thread. There are two kinds of engine: `local` has libbrig in this process (brig mcp, and the
 * warden's role), `remote` sends the same calls to a warden in another process. The caller of an
 * engine does not know which kind it is.
 */
#ifndef BRIG_ENGINE_ENGINE_H
#define BRIG_ENGINE_ENGINE_H

#include <brig/brig.h>

#include "base/outcome.h"
#include "loop/loop.h"

enum engine_op {
	ENGINE_EXECUTE = 1,  /* -> the result object (JSON), behind its outcome for `result` */
	ENGINE_SESSION_OPEN, /* -> the session object (JSON) */
	ENGINE_SESSION_GET,
	ENGINE_SESSION_LIST, /* -> {"sessions":[...]} of the tenant */
	ENGINE_SESSION_CLOSE,
	ENGINE_SESSION_INTERRUPT, /* the current run ends; the state stays */
	/*
	 * Opens a copy of a session, with copies of its files and of the state that its interpreter
	 * can save -> the new session's object, and "forked_from", "carried":[name...],
	 * "left":[{"name","why"}...], "files":{"copied":N,"left":[{"path","why"}...]}
	 */
	ENGINE_SESSION_FORK,
	/*
	 * Of a session, by path -> {"files":[{path,size,modified,executable}...],"truncated"};
	 * those behind `path`, if there is one
	 */
	ENGINE_FILE_LIST,
	ENGINE_FILE_GET, /* -> the bytes themselves */
	ENGINE_FILE_PUT,
	ENGINE_FILE_DELETE,
	ENGINE_RUNTIMES,     /* -> {"runtimes":[...]} as `brig runtimes --json` */
	ENGINE_POLICIES,     /* -> {"policies":[...]} */
	ENGINE_POLICY_CHECK, /* would `run` be allowed? -> its settings, without running */
	/*
	 * -> {"ended":[{"tenant","id","reason","runs"}...],
	 *     "used":[{"tenant","caller","cpu_ms"}...]}
	 * of whatever tenant, as soon as there are any: for the records of the front, one call
	 * at a time. Each is told once. `used` is what no result tells of: sessions between their
	 * runs, forks, runs that failed or that nobody waited for.
	 */
	ENGINE_SESSION_ENDED,
	ENGINE_STATS, /* -> counts for /metrics and /v1/health: pools, cells, sessions, memory */
	ENGINE_OPS,
};

/*
 * The session object: {"id","language","policy","state":"idle|busy|gone","created_at",
 * "expires_at","idle_timeout_ms","runs","reason"}; "reason" is why a session is gone, for as long
 * as its tombstone is kept (an hour).
 */

struct engine_call {
	enum engine_op op;
	const char *tenant;  /* never NULL: objects of another tenant cannot be named */
	const char *caller;  /* for the records and for charging; or NULL */
	const char *id;      /* of a run; no other call under way has it; NULL: one is made */
	const char *proof;   /* of a caller who gives a person's consent: the token; or NULL */
	const char *session; /* id, for session and file calls and for runs in a session; or NULL */
	const char *path;    /* of a file, beneath /sandbox */
	const void *data;    /* its content, for ENGINE_FILE_PUT */
	size_t size;
	struct block *block; /* contains long values (data, code, input, files); or NULL */
	uint64_t list_max;   /* the most items of a list; 0: all */
	uint64_t idle_ns;    /* of a session to open: the time without a run; 0: default */
	uint64_t life_ns;    /* and its longest life */
	/*
	 * Of a run (all but file, command, feed, callbacks; mounts are the policy's own) or of a
	 * session to open (language, policy, limits, env, files, mounts).
	 */
	struct brig_request run;
	/*
	 * For a run in a session: the policies that the caller may use, NULL-terminated; NULL: any.
	 * The session may have been opened by a caller who may use others.
	 */
	const char *const *policies;
	bool stream; /* `output` is called; else the output is only in the result */
	bool unseen; /* the result is not reported; only for the engine's own calls, on this side */

	/*
	 * Exactly one of end, result and fail is called, once, after engine_start() has returned.
	 * Pointers are valid during the call only.
	 */
	void (*output)(void *user, int stream, const void *data, size_t size);
	void (*end)(void *user, const char *data, size_t size);
	/*
	 * For a run: called instead of `end`, if it is set. The block, which may be kept, is an
	 * outcome with its JSON (base/outcome.h): it has been checked.
	 */
	void (*result)(void *user, struct block *result);
	/*
	 * Called instead of `end`, for callers that accept an answer as a memory file; or NULL. A
	 * block from another process must be checked (block_map()), and is not owned by the callee.
	 */
	void (*end_block)(void *user, int block);
	/* error->code is the kind; errnum ENOENT: session or file not found (for this tenant). */
	void (*fail)(void *user, const struct brig_error *error);
	void *user;
};

struct engine;
struct engine_run; /* one call under way */

struct engine_class {
	int (*start)(struct engine *engine, const struct engine_call *call, struct engine_run **ret,
		     struct brig_error *error);
	/* Kills the cell; `end` is still called, with status "cancelled". */
	void (*cancel)(struct engine_run *run);
	/* Like cancel, but no callback is called any more: the client is gone. */
	void (*forget)(struct engine_run *run);
	/* Holds the program's output back, or lets it come again: back-pressure. */
	void (*pause)(struct engine_run *run, bool paused);
	/* Suspends work on large answers, or resumes it: nothing reads them now. Or NULL. */
	void (*hold)(struct engine *engine, bool held);
	void (*free)(struct engine *engine);
};

struct engine {
	const struct engine_class *class;
};

/* The call is copied. The handle is valid until end, fail or forget. */
static inline int engine_start(struct engine *engine, const struct engine_call *call,
			       struct engine_run **ret, struct brig_error *error)
{
	return engine->class->start(engine, call, ret, error);
}

struct engine_run_head {
	struct engine *engine; /* every engine's struct engine_run begins with this */
};

static inline void engine_cancel(struct engine_run *run)
{
	((struct engine_run_head *)(void *)run)->engine->class->cancel(run);
}

static inline void engine_forget(struct engine_run *run)
{
	((struct engine_run_head *)(void *)run)->engine->class->forget(run);
}

static inline void engine_pause(struct engine_run *run, bool paused)
{
	((struct engine_run_head *)(void *)run)->engine->class->pause(run, paused);
}

static inline void engine_free(struct engine *engine)
{
	if (engine) {
		engine->class->free(engine);
	}
}

struct engine_begun {
	const char *id;      /* of the run; NULL: none, it is a session */
	const char *session; /* that is opened, or that the run is in; or NULL */
	const char *tenant, *cell;
};

struct engine_options {
	struct brig_context_options context;
	unsigned sessions_max;        /* 0: 256 */
	unsigned sessions_per_tenant; /* 0: 32 */
	uint64_t idle_ns; /* default and maximum of idle leases; 0: 10 minutes, 1 hour */
	uint64_t idle_max_ns;
	uint64_t life_max_ns;        /* 0: 24 hours */
	const struct broker *broker; /* for acts that need root; NULL: none, or not needed */
	/*
	 * Called when a run or session begins, for the log: the name of its cell, in that of the
	 * control group, is another one than its id if the cell existed before. NULL: not called.
	 */
	void (*begun)(const struct engine_begun *begun);
};

/* Sets those that are 0; those of cells made ahead only if they are used. */
void engine_options_complete(struct engine_options *options);
void engine_warm_complete(struct brig_warm_options *options);
/* In this process. */
int engine_local_new(struct loop *loop, const struct engine_options *options, struct engine **ret,
		     struct brig_error *error);
/* From now on, cells for such runs of the tenant are made ahead, if warm cells are enabled. */
void engine_local_warm(struct engine *engine, const char *tenant, const struct brig_request *like);
/*
 * The engine is in the process at the other end of a role's socket, which it owns. `gone`: that
 * process has died. The state of its calls is unknown, so neither end nor fail is called any more,
 * also not for calls that are started now; handles stay valid until they are forgotten or the
 * engine is freed.
 */
int engine_remote_new(struct loop *loop, int socket, void (*gone)(void *user, const char *why),
		      void *user, struct engine **ret);
/* The other end: answers calls with an engine of its own. */
struct engine_service;
int engine_service_new(struct loop *loop, int socket, struct engine *engine,
		       void (*gone)(void *user, const char *why), void *user,
		       struct engine_service **ret);
/*
 * Decides which callers may give a person's consent, which allows policies without isolation: the
 * front's claim is not enough. Without this function no caller may.
 */
void engine_service_consent(struct engine_service *service,
			    bool (*may)(void *user, const struct engine_call *call), void *user);
void engine_service_free(struct engine_service *service);
#endif
