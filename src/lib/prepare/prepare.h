/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a request to a spec: reads the policy and the runtime, checks the request against them,
 * opens what it names, and decides the layers. After this no more questions are asked of the host.
 */
#ifndef BRIG_LIB_PREPARE_PREPARE_H
#define BRIG_LIB_PREPARE_PREPARE_H

#include "base/buf.h"
#include "base/strlist.h"
#include "lib/context.h"
#include "lib/guard/guard.h"
#include "native/monitor.h"
#include "net/gate_messages.h"
#include "run/run.h"
#include "run/spec.h"

/* What is being prepared: the run itself, the compiler's cell before it, or a session's cell. */
enum purpose { PURPOSE_RUN, PURPOSE_COMPILE, PURPOSE_SESSION };

/* Whom the gate trusts where it opens TLS: see prepare_trust.c. */
struct prepared_trust {
	const char *name; /* the policy's */
	struct buf text;
};

/* What a run's gate is started with. */
struct prepared_gate {
	struct net_rule rules[NET_RULES_MAX];
	size_t rules_count;
	uint16_t ports[NET_PORTS_MAX];
	size_t ports_count;
	struct net_prefix routes[NET_RULES_MAX + 1];
	size_t routes_count;
	/* Owned; a mapping that children see empty: the cell's init begins as a copy of us. */
	struct gate_credential *credentials;
	size_t credentials_count;
	bool opens; /* TLS to some hosts */
	struct prepared_trust trusts[GATE_CREDENTIALS_MAX];
	size_t trusts_count;
	bool trusts_host;             /* for those without, what the host trusts */
	struct buf opened;            /* those hosts, for people */
	struct buf bundle, authority; /* what the cell's programs trust; the newest of it */
	size_t bundle_host;           /* what of it is the host's */
	int ids;                      /* owned: holds its id; -1: none */
	uint32_t id;                  /* whom it runs as, as root */
};
void prepared_gate_free(struct prepared_gate *gate);
/* Does the run reach this host, by TLS that is to be opened? */
bool prepared_gate_opens(const struct prepared_gate *gate, const struct policy_credential *from);

struct prepared {
	struct block *const *shared; /* the context's: what the request's files may lie in now */
	struct brig_limits most; /* that the caller may have, by its token; 0: as the policy says */
	enum purpose purpose;
	bool borrowed;           /* policy, runtime, closure and filter are a pool's */
	struct policy *policy;   /* owned */
	struct runtime *runtime; /* owned; NULL for a bare command */
	struct closure closure;
	struct bpf_program filter;
	const struct call_watch *watch; /* borrowed; NULL: nobody */
	bool terminal;                  /* the program has one */
	struct monitor monitor;         /* what the policy wants to know */
	struct strlist argv, env;
	struct spec_input *inputs; /* owned: names, data, fds */
	size_t inputs_count;
	struct spec_mount *mounts; /* owned: names, fds */
	size_t mounts_count;
	char *code; /* owned: the source; NULL for a bare command */
	size_t code_size;
	struct runtime_source_name source;
	struct strlist cold_argv; /* when a cold start needs another one than a waiting cell */
	struct guard guard;
	char *driver;               /* owned: path in the cell of what waits there; NULL: none */
	int ids;                    /* owned: holds the cell's id range; -1: none */
	char *workdir;              /* owned: local provider's directory on the host; NULL: none */
	int workdir_fd;             /* owned; -1: none */
	struct prepared_gate *gate; /* owned; NULL: no network */
	struct spec spec;
};

int prepare(struct brig_context *context, const struct brig_request *request, enum purpose purpose,
	    struct prepared *ret, struct brig_error *err);
/*
 * The request's own part, on top of what a pool has prepared for all requests like it. Nothing is
 * asked of the host but what the request names. The pool must outlive it, unless it is thawed.
 */
int prepare_request(const struct prepared *base, const struct brig_request *request,
		    struct prepared *ret, struct brig_error *err);
/* The same for a session, on top of a pool of clones. */
int prepare_session_request(const struct prepared *base, const struct brig_request *request,
			    struct prepared *ret, struct brig_error *err);
/*
 * For a pool: cells whose interpreter is started ahead, by a script that then waits in it. What
 * such a cell has from its start are the limits that this request asks for.
 */
int prepare_driver(struct prepared *prepared, const struct brig_request *request,
		   struct brig_error *err);
/* Makes it fit for a cold start after all: identity of its own. */
int prepare_cold(struct prepared *prepared, struct brig_error *err);
void prepared_done(struct prepared *prepared);
/* Adds a file; takes ownership of data (may be NULL) and fd (may be -1), also on failure. */
int prepared_add_input(struct prepared *prepared, const char *name, void *data, uint64_t size,
		       int fd, mode_t mode, struct brig_error *err);
/* The data of the one that was added last, with none, lies in that block. */
void prepared_share_input(struct prepared *prepared, const void *data, struct block *block);

/* Takes a layer away, with all that hangs on it. -errno with the reason when the policy forbids. */
int prepare_without(struct prepared *prepared, enum layer layer, struct brig_error *err);

/* Makes what a cell uses up: device nodes, id-mapped mounts. Before every start. */
int prepare_trees(struct brig_context *context, struct prepared *prepared, struct brig_error *err);

/* Parts of it, one file each. */
int prepare_check_out(const char *const *out, struct brig_error *err);
/* Are so many input files, of so many bytes together, within the policy and the disk? */
int prepare_check_inputs(const struct prepared *prepared, size_t count, uint64_t bytes,
			 struct brig_error *err);
/* The caller's block that the data lies in, which stays: no copy is needed. NULL: it does not. */
struct block *prepare_shared_block(const struct prepared *prepared,
				   const struct brig_file_in *file);
int prepare_check(const struct brig_request *request, enum purpose purpose, struct brig_error *err);
int prepare_consent(const struct policy *policy, const struct brig_request *request,
		    struct brig_error *err);
int prepare_limits(const struct brig_request *request, struct prepared *prepared,
		   struct brig_error *err);
void prepare_cpus(struct spec *spec);
/* Whom the cell runs as: an id range of its own where there is one. */
int prepare_identity(struct prepared *prepared, struct brig_error *err);
/* What is started: the program alone, by a script that hands out its value, or a session's. */
int prepare_argv(const struct brig_request *request, struct prepared *prepared,
		 struct brig_error *err);
bool prepare_wants_value(const struct brig_request *request, const struct prepared *prepared);
int prepare_valued(const struct brig_request *request, struct prepared *prepared,
		   struct strlist *ret, struct brig_error *err);
int prepare_session(const struct brig_request *request, struct prepared *prepared,
		    struct brig_error *err);
/* Puts that script into the cell; one of those above has named it. */
void prepared_set_driver(struct prepared *prepared, const char *name);
/* What the spec points to; again after every change. */
void prepared_connect(struct prepared *prepared);
int prepare_code(struct brig_context *context, const struct brig_request *request,
		 struct prepared *prepared, struct brig_error *err);
/* The source text alone. */
int prepare_source(const struct brig_request *request, struct prepared *prepared,
		   struct brig_error *err);
int prepare_command(struct brig_context *context, const struct brig_request *request,
		    struct prepared *prepared, struct brig_error *err);
int prepare_inputs(const struct brig_request *request, struct prepared *prepared,
		   struct brig_error *err);
/* What a directory is called beneath /mnt. */
const char *prepare_mount_name(const struct brig_mount *mount);
/* No directory of brig's own may be written: prepare_protected.c. */
int prepare_check_protected(const struct brig_context *context, struct spec_mount *mount,
			    struct brig_error *err);
int prepare_mounts(const struct brig_context *context, const struct brig_request *request,
		   struct prepared *prepared, struct brig_error *err);
/* Who may be reached; last of what the limits depend on. */
int prepare_network(const struct brig_request *request, struct prepared *prepared,
		    struct brig_error *err);
/* What opened TLS is held against; and, once the gate has made it, the cell's own authority. */
int prepare_trust(struct prepared *prepared, struct brig_error *err);
int prepared_gate_trust(struct prepared *prepared, const char *authority, struct brig_error *err);
/* Starts the gate, before every start of a cell that has one: gate_start.c. */
int gate_start(struct brig_context *context, struct prepared *prepared, struct gate_process *ret,
	       struct brig_error *err);
void gate_stop(struct gate_process *gate);
int prepare_env(const struct brig_request *request, struct prepared *prepared,
		struct brig_error *err);
/* The filter, compiled for the layers that there are; again when they change. */
int prepare_filter(struct prepared *prepared, struct brig_error *err);
/* May the program have a terminal? */
int prepare_terminal(struct prepared *p, struct brig_error *err);
int prepare_layers(struct brig_context *context, struct prepared *prepared, struct brig_error *err);
#endif
