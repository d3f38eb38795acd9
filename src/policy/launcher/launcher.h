/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A launcher: a program that starts another one behind walls (bubblewrap, nsjail), as a data file
 * describes it. The operator's files have precedence over the built-in ones; a caller can supply
 * none.
 */
#ifndef BRIG_POLICY_LAUNCHER_LAUNCHER_H
#define BRIG_POLICY_LAUNCHER_LAUNCHER_H

#include "base/bytes/buf.h"
#include "base/error.h"
#include "base/strlist.h"
#include "kernel/layers.h"
#include "policy/words.h"

/*
 * The layers that a launcher can have: each is checked from outside before a program begins. The
 * rest is brig's own, or cannot be checked.
 */
#define LAUNCHER_LAYERS                                                                            \
	(LAYER_BIT(LAYER_USERNS) | LAYER_BIT(LAYER_PIDNS) | LAYER_BIT(LAYER_MNTNS) |               \
	 LAYER_BIT(LAYER_NETNS) | LAYER_BIT(LAYER_IPCNS) | LAYER_BIT(LAYER_UTSNS) |                \
	 LAYER_BIT(LAYER_CGROUPNS) | LAYER_BIT(LAYER_TIMENS) | LAYER_BIT(LAYER_ROOTFS) |           \
	 LAYER_BIT(LAYER_CAPS))
/* Without these there are no walls. */
#define LAUNCHER_LEAST                                                                             \
	(LAYER_BIT(LAYER_USERNS) | LAYER_BIT(LAYER_PIDNS) | LAYER_BIT(LAYER_MNTNS) |               \
	 LAYER_BIT(LAYER_NETNS) | LAYER_BIT(LAYER_ROOTFS) | LAYER_BIT(LAYER_CAPS))

struct launcher {
	char name[65];
	char *description; /* owned; may be NULL */
	char *program;     /* owned: its name, or its absolute path */
	char *package;     /* owned: that has it, for the repair; may be NULL */
	char *tried;       /* owned: the version with which it was tried; NULL: never */
	layer_set layers;
	struct strlist arguments; /* with {words} */
	struct strlist probe;     /* the arguments of a trial... */
	uint64_t probe_status;    /* ...and its exit status */
};
void launcher_done(struct launcher *launcher);

/* The {words} of an argument. */
enum launcher_word {
	LAUNCHER_ROOT,  /* the directory that becomes the root of the cell */
	LAUNCHER_AGENT, /* the program to start: a path in the cell */
	LAUNCHER_UID,   /* the program's ids in the cell */
	LAUNCHER_GID,
	LAUNCHER_HOSTNAME,
	LAUNCHER_WORDS,
};

extern const struct words launcher_words;
/* Appends the arguments with the words replaced. 0 or -ENOMEM. */
int launcher_expand(const struct launcher *launcher, const char *const values[LAUNCHER_WORDS],
		    struct strlist *ret);

/* Parses a file's text; `place` is for messages. */
int launcher_parse(const char *name, const char *place, const char *text, size_t size,
		   struct launcher *ret, struct brig_error *err);
/* A built-in one. 0, -ENOENT, or an error. */
int launcher_built_in(const char *name, struct launcher *ret, struct brig_error *err);

struct json_doc;
struct policy;
struct policy_source;
struct policy_text;
struct sha256;
/* The file of a name: the operator's, or the built-in one. 1, 0 (not found) or negative. */
int launcher_find(const struct policy_source *source, const char *name, struct policy_text *ret,
		  struct brig_error *err);
/*
 * The launcher of a policy, if it may use one: the file is a part of the policy, and of its hash,
 * which is chained then. `doc` is the policy's own text.
 */
int launcher_apply(const struct policy_source *source, const struct json_doc *doc,
		   struct policy *policy, struct sha256 *hash, bool *chained,
		   struct brig_error *err);
/* The names of built-in ones, in order. */
int launcher_names(struct strlist *ret);
#endif
