/*
 * Who runs code for HTTP and MCP: calls, each with a tenant, answered by callbacks on the loop's
 * thread. Two kinds of engine: `local` has libbrig in this process (brig mcp, and the warden's
 * role), `remote` sends the same calls to a warden in another process. Whoever uses an engine does
 * not know which it is.
 */
#ifndef BRIG_ENGINE_ENGINE_H
#define BRIG_ENGINE_ENGINE_H

#include <brig/brig.h>

#include "loop/loop.h"

enum engine_op {
	ENGINE_EXECUTE = 1,  /* -> the result object (JSON) */
	ENGINE_SESSION_OPEN, /* -> the session object (JSON) */
	ENGINE_SESSION_GET,
	ENGINE_SESSION_LIST, /* -> {"sessions":[...]} of the tenant */
	ENGINE_SESSION_CLOSE,
	ENGINE_SESSION_INTERRUPT, /* the run that is under way ends; the state stays */
	/*
	 * Another session like it, with copies of its files and of what its interpreter can tell
	 * -> the new session's object, and "forked_from", "carried":[name...],
	 * "left":[{"name","why"}...], "files":{"copied":N,"left":[{"path","why"}...]}
	 */
	ENGINE_SESSION_FORK,
	ENGINE_FILE_LIST, /* -> {"files":[{path,size,modified}...]} of a session */
	ENGINE_FILE_GET,  /* -> the bytes themselves */
	ENGINE_FILE_PUT,
	ENGINE_FILE_DELETE,
	ENGINE_RUNTIMES,     /* -> {"runtimes":[...]} as `brig runtimes --json` */
	ENGINE_POLICIES,     /* -> {"policies":[...]} */
	ENGINE_POLICY_CHECK, /* would `run` be allowed? -> what it would get, without running */
	/*
	 * -> {"ended":[{"tenant","id","reason","runs"}...]} of whatever tenant, as soon as there are
	 * any: for whoever keeps the records, one call at a time. Each is told once.
	 */
	ENGINE_SESSION_ENDED,
	ENGINE_STATS, /* -> counts for /metrics and /v1/health: pools, cells, sessions, memory */
	ENGINE_OPS,
};

/*
 * The session object: {"id","language","policy","state":"idle|busy|gone","created_at",
 * "expires_at","idle_timeout_ms","runs","reason"}; "reason" says why a session is gone, for as
 * long as its tombstone is kept (an hour).
 */

struct engine_call {
	enum engine_op op;
	const char *tenant;  /* never NULL: nothing of another tenant can be named */
	const char *caller;  /* who asks, for the records; stays on this side; or NULL */
	const char *session; /* id, for session and file calls and for runs in a session; or NULL */
	const char *path;    /* of a file, beneath /sandbox */
	const void *data;    /* its content, for ENGINE_FILE_PUT */
	size_t size;
	uint64_t idle_ns; /* of a session to open: closed after so long without a run; 0: default */
	uint64_t life_ns; /* and after so long in any case */
	/*
	 * Of a run (all but file, command, mounts, feed, callbacks) or of a session to open
	 * (language, policy, limits, env, files).
	 */
	struct brig_request run;
	/*
	 * Of a run in a session: the policies that whoever asks may use, NULL-terminated; NULL:
	 * any. The session may have been opened by somebody who may use others.
	 */
	const char *const *policies;
	bool stream; /* `output` is wanted; else it is in the result alone */

	/*
	 * Exactly one of end and fail comes, once, later than engine_start() returns. Pointers are
	 * good for the call only.
	 */
	void (*output)(void *user, int stream, const void *data, size_t size);
	void (*end)(void *user, const char *data, size_t size);
	/* error->code tells what kind; errnum ENOENT: no such session or file (of this tenant). */
	void (*fail)(void *user, const struct brig_error *error);
	void *user;
};

struct engine;
struct engine_run; /* one call under way */

struct engine_class {
	int (*start)(struct engine *engine, const struct engine_call *call, struct engine_run **ret,
		     struct brig_error *error);
	/* The cell is killed; `end` still comes, with status "cancelled". */
	void (*cancel)(struct engine_run *run);
	/* As cancel, and no callback comes any more: the asker is gone. */
	void (*forget)(struct engine_run *run);
	/* Holds the program's output back, or lets it come again: back-pressure. */
	void (*pause)(struct engine_run *run, bool paused);
	void (*free)(struct engine *engine);
};

struct engine {
	const struct engine_class *class;
};

/* What a call says is copied. The handle is good until end, fail or forget. */
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

struct engine_options {
	struct brig_context_options context;
	unsigned sessions_max;        /* 0: 256 */
	unsigned sessions_per_tenant; /* 0: 32 */
	uint64_t idle_ns; /* default and ceiling of idle leases; 0: 10 minutes, 1 hour */
	uint64_t idle_max_ns;
	uint64_t life_max_ns;        /* 0: 24 hours */
	const struct broker *broker; /* who does what only root may; NULL: nobody, or we can */
};

/* In this process. */
int engine_local_new(struct loop *loop, const struct engine_options *options, struct engine **ret,
		     struct brig_error *error);
/* Cells for such runs of the tenant's are made ahead from now on, if they are at all. */
void engine_local_warm(struct engine *engine, const char *tenant, const struct brig_request *like);
/*
 * In the process at the other end of a role's socket, which it takes over. `gone`: that process has
 * died. Nobody knows how far its calls came, so neither end nor fail comes any more, also not of
 * those that are started now; handles stay good until they are forgotten or the engine is freed.
 */
int engine_remote_new(struct loop *loop, int socket, void (*gone)(void *user, const char *why),
		      void *user, struct engine **ret);
/* That other end: answers calls by an engine of its own. */
struct engine_service;
int engine_service_new(struct loop *loop, int socket, struct engine *engine,
		       void (*gone)(void *user, const char *why), void *user,
		       struct engine_service **ret);
void engine_service_free(struct engine_service *service);
#endif
