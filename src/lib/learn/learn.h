/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learns a policy: records the calls of a program in its cell, and proposes the smallest policy
 * that allows them.
 *
 * The program may be hostile. Texts from its memory (paths, names) are not trustworthy: they are
 * bounded, made harmless before they are printed, and never make the proposal allow anything. The
 * proposal follows from the registers of the calls, by the rules of the policy that it was learned
 * under.
 */
#ifndef BRIG_LIB_LEARN_LEARN_H
#define BRIG_LIB_LEARN_LEARN_H

#include "base/json/json_out.h"
#include "native/calls/watched_call.h"
#include "policy/policy.h"

#define LEARN_PATHS_MAX 2048 /* different paths; further ones are only counted */
#define LEARN_NAMES_MAX 64   /* hosts and addresses */
#define LEARN_FIRST_MAX 160

/* The use of one call. */
struct learn_call {
	uint64_t allowed;
	uint64_t answered; /* with an errno, as the policy answers probes */
	uint64_t refused;
	char group[16];                     /* "@basic": the group of its rules; or "policy" */
	char reason[FILTER_REASON_MAX];     /* of the rule that allowed it first */
	char first[LEARN_FIRST_MAX];        /* the object of that call */
	char denial[FILTER_REASON_MAX];     /* the reason of the first refusal */
	char denied_first[LEARN_FIRST_MAX]; /* the object of that call */
	bool kept;                          /* an earlier policy allows it: see learn_extend() */
};

#define LEARN_NARROWED  7 /* calls whose arguments the proposal names */
#define LEARN_ARGUMENTS 2

/* The values that one argument had. */
struct learn_values {
	uint32_t items[FILTER_VALUES_MAX];
	unsigned count;
	bool any; /* too many to name, or an earlier policy names none */
};

struct learn_path {
	char *path; /* owned */
	uint64_t hash;
	unsigned uses; /* of enum watched_use */
	uint64_t count;
	bool absent; /* not in the cell at the first use */
};

struct learn {
	struct call_watch watch;
	struct learn_call calls[FILTER_CALLS_MAX];
	struct learn_values values[LEARN_NARROWED][LEARN_ARGUMENTS];
	struct learn_path *paths; /* owned; in the order of their first use */
	size_t paths_count;
	uint64_t paths_untold;
	struct strlist names;     /* hosts that were looked up */
	struct strlist addresses; /* "192.0.2.1:80", "unix:/run/x" */
	bool exec_writable;       /* ran, or mapped, code from a writable directory */
	uint64_t children;        /* created processes and threads */
	unsigned runs;

	/* Of all runs together: peaks, and connections through the gate. */
	struct brig_usage peak;
	uint64_t stdout_bytes, stderr_bytes;
	uint64_t files_count, files_bytes;
	struct strlist reached; /* "host:port", allowed */
	struct strlist missed;  /* the same, refused, with the verdict */
};

/* The origin of a proposal, for its comments and the settings of the request. */
struct learn_origin {
	const char *program;           /* one line: the command */
	const char *base;              /* the policy that it was learned under */
	const struct policy *under;    /* the same, loaded */
	const struct policy *extended; /* an earlier proposal; NULL: none */
	const struct brig_request *request;
	const struct brig_result *result; /* of the last run */
	bool compiled;                    /* the language has a compiler, in a cell of its own */
	uint64_t least_memory_bytes;      /* the runtime's minimum; 0: not known */
	uint64_t least_processes;
};

void learn_init(struct learn *learn);
void learn_done(struct learn *learn);
/* The run has ended. 0 or -ENOMEM. */
int learn_take_result(struct learn *learn, const struct brig_result *result);
/* Only the connections, allowed and refused. 0 or -ENOMEM. */
int learn_take_connections(struct learn *learn, const struct brig_result *result);
/* Keeps everything that an earlier policy allows. */
void learn_extend(struct learn *learn, const struct policy *earlier);

/* The whole policy, with comments. 0 or -ENOMEM. */
int learn_propose(const struct learn *learn, const struct learn_origin *origin, struct buf *ret);
/* The record alone, as members of an open JSON object. */
void learn_json(const struct learn *learn, struct json_out *json);

/* --- parts ---------------------------------------------------------------------------------- */

/* A call whose arguments decide its purpose. */
struct learn_narrowing {
	const char *call;
	struct {
		uint8_t index;
		uint32_t mask; /* 0: there is no such argument */
		int set;       /* enum constant_set */
	} arguments[LEARN_ARGUMENTS];
};
extern const struct learn_narrowing learn_narrowings[LEARN_NARROWED];

/* Records the files that the call names. `about`: its object, for `first`, or "". */
void learn_paths_note(struct learn *learn, const struct watched_call *call, char *about,
		      size_t size);
/* The same for the hosts and addresses that it wants to reach. */
void learn_network_note(struct learn *learn, const struct watched_call *call, char *about,
			size_t size);
/* Entries of "syscalls", one in a line, within the policy `under`. 0 or -ENOMEM. */
int learn_print_syscalls(const struct learn *learn, const struct policy *under, struct buf *out);
/* The used amounts as limits, with a margin. */
void learn_print_limits(const struct learn *learn, const struct learn_origin *origin,
			struct buf *out);
/* Mounts, and, as comments, the files that it used. */
void learn_print_files(const struct learn *learn, const struct learn_origin *origin,
		       struct buf *out);
void learn_print_network(const struct learn *learn, const struct learn_origin *origin,
			 struct buf *out);
/* Printable ASCII only: no line break can end a comment. */
void learn_print_plain(struct buf *out, const char *text);
/* A JSON text, in its quotes. */
void learn_print_quoted(struct buf *out, const char *text);
#endif
