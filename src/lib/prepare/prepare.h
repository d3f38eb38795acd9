/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a request to a spec: reads the policy and the runtime, checks the request against them,
 * opens the files that it names, and decides the layers. After this the host is not queried again.
 */
#ifndef BRIG_LIB_PREPARE_PREPARE_H
#define BRIG_LIB_PREPARE_PREPARE_H

#include "base/bytes/buf.h"
#include "base/strlist.h"
#include "lib/context.h"
#include "lib/guard/guard.h"
#include "native/calls/monitor.h"
#include "net/gate_messages.h"
#include "run/run.h"
#include "run/spec/spec.h"
#include "runtime/venv/venv.h"

/*
 * The cell that is prepared: the run's own, the compiler's before it, a session's, or one that
 * translates a WebAssembly interpreter to native code.
 */
enum purpose { PURPOSE_RUN, PURPOSE_COMPILE, PURPOSE_SESSION, PURPOSE_TRANSLATE };

/* The certificate authorities that the gate trusts where it opens TLS: see prepare_trust.c. */
struct prepared_trust {
	const char *name; /* the policy's */
	struct buf text;
};

/* The configuration of a run's gate. */
struct prepared_gate {
	struct net_rule rules[NET_RULES_MAX];
	size_t rules_count;
	uint16_t ports[NET_PORTS_MAX];
	size_t ports_count;
	struct net_prefix routes[NET_RULES_MAX + 1];
	size_t routes_count;
	/* Owned; a mapping that is empty in children: the cell's init starts as a copy of us. */
	struct gate_credential *credentials;
	size_t credentials_count;
	bool opens; /* TLS to some hosts */
	struct prepared_trust trusts[GATE_CREDENTIALS_MAX];
	size_t trusts_count;
	bool trusts_host;             /* hosts without their own use the list of this host */
	struct buf opened;            /* those hosts, as text for people */
	struct buf bundle, authority; /* trusted by the cell's programs; the cell's own part */
	size_t bundle_host;           /* bytes of it that are the host's list */
	int ids;                      /* owned: holds its id; -1: none */
	uint32_t id;                  /* its user id, when brig runs as root */
};
void prepared_gate_free(struct prepared_gate *gate);
/* May the run reach this host, by TLS that the gate opens? */
bool prepared_gate_opens(const struct prepared_gate *gate, const struct policy_credential *from);

struct prepared {
	struct block *const *shared; /* the context's: may hold the request's files now */
	struct brig_limits most;     /* the maximum of the caller's token; 0: the policy's */
	enum purpose purpose;
	bool borrowed;           /* policy, runtime, venv, closure and filter belong to a pool */
	struct policy *policy;   /* owned */
	struct runtime *runtime; /* owned; NULL for a bare command */
	struct venv *venv;       /* owned; NULL: none */
	struct closure closure;
	struct bpf_program filter;
	const struct call_watch *watch; /* borrowed; NULL: calls are not watched */
	bool terminal;                  /* the program has a terminal */
	struct monitor monitor;         /* the calls and files that the policy monitors */
	struct strlist argv, env;
	struct spec_input *inputs; /* owned: names, data, fds */
	size_t inputs_count;
	struct spec_mount *mounts; /* owned: names, fds */
	size_t mounts_count;
	char *code; /* owned: the source; NULL for a bare command */
	size_t code_size;
	struct runtime_source_name source;
	struct strlist
		cold_argv; /* when a cold start needs an argv that differs from a waiting cell's */
	struct guard guard;
	/* An interpreter that waits in a held cell: its argv and its script are owned. */
	struct prepared_waiting {
		struct spec_waiting spec;
		struct strlist argv;
		struct buf text;
	} waiting;
	char *driver;               /* owned: path of the driver in the cell; NULL: none */
	char *engine;               /* owned: wasm provider's engine on the host; NULL: none */
	char *prepared_module;      /* owned: the native code of its interpreter; NULL: none */
	int ids;                    /* owned: holds the cell's id range; -1: none */
	char *workdir;              /* owned: local provider's directory on the host; NULL: none */
	int workdir_fd;             /* owned; -1: none */
	struct prepared_gate *gate; /* owned; NULL: no network */
	struct spec spec;
};

int prepare(struct brig_context *context, const struct brig_request *request, enum purpose purpose,
	    struct prepared *ret, struct brig_error *err);
/*
 * The request's own part, on top of the base that a pool has prepared for all requests like it. On
 * the host only the files that the request names are opened. The pool must outlive it.
 */
int prepare_request(const struct prepared *base, const struct brig_request *request,
		    struct prepared *ret, struct brig_error *err);
/* The same for a session, on top of a pool of clones. */
int prepare_session_request(const struct prepared *base, const struct brig_request *request,
			    struct prepared *ret, struct brig_error *err);
/*
 * For a pool: cells whose interpreter is started ahead, with a script that waits for a program.
 * Such a cell has the limits of this request from its start.
 */
int prepare_driver(struct prepared *prepared, const struct brig_request *request,
		   struct brig_error *err);
/*
 * For a pool of cells with an agent: their interpreter is started ahead, if its runtime can wait.
 * It depends on nothing but the policy and the runtime.
 */
int prepare_waiting(struct prepared *prepared, const struct brig_request *request,
		    struct brig_error *err);
/* Changes it for a cold start, because no warm cell could be used: it gets its own identity. */
int prepare_cold(struct prepared *prepared, struct brig_error *err);
void prepared_done(struct prepared *prepared);
/* Adds a file; takes ownership of data (may be NULL) and fd (may be -1), also on failure. */
int prepared_add_input(struct prepared *prepared, const char *name, void *data, uint64_t size,
		       int fd, mode_t mode, struct brig_error *err);
/* The data of the input that was added last, without any, is in that block. */
void prepared_share_input(struct prepared *prepared, const void *data, struct block *block);

/* Removes a layer, and all that depends on it. -errno: the policy requires the layer. */
int prepare_without(struct prepared *prepared, enum layer layer, struct brig_error *err);

/* Makes what one cell consumes: device nodes, id-mapped mounts. Before every start. */
int prepare_trees(struct brig_context *context, struct prepared *prepared, struct brig_error *err);

/* The remedy for a request that needs an ability that its provider does not have. */
#define PROVIDER_REMEDY "use a policy with provider \"native\", such as default"

/* Parts of it, one file each. */
/* The request's id, or a new one. -EINVAL: it is not valid. */
int prepare_id(const struct brig_request *request, char id[27], struct brig_error *err);
int prepare_check_out(const char *const *out, struct brig_error *err);
/* Are this many input files, with this many bytes in all, within the policy and the disk? */
int prepare_check_inputs(const struct prepared *prepared, size_t count, uint64_t bytes,
			 struct brig_error *err);
/* The caller's block that holds the data, so that no copy is needed. NULL: it is in no block. */
struct block *prepare_shared_block(const struct prepared *prepared,
				   const struct brig_file_in *file);
int prepare_check(const struct brig_request *request, enum purpose purpose, struct brig_error *err);
int prepare_consent(const struct policy *policy, const struct brig_request *request,
		    struct brig_error *err);
int prepare_limits(const struct brig_request *request, struct prepared *prepared,
		   struct brig_error *err);
void prepare_cpus(struct spec *spec);
/* The user ids of the cell: a range of its own where there is one. */
int prepare_identity(struct prepared *prepared, struct brig_error *err);
/* The command line: of the program alone, of a driver that reports its value, or of a session. */
int prepare_argv(const struct brig_request *request, struct prepared *prepared,
		 struct brig_error *err);
bool prepare_wants_value(const struct brig_request *request, const struct prepared *prepared);
int prepare_valued(const struct brig_request *request, struct prepared *prepared,
		   struct strlist *ret, struct brig_error *err);
int prepare_session(const struct brig_request *request, struct prepared *prepared,
		    struct brig_error *err);
/* Puts the driver into the cell; one of the functions above has named it. */
void prepared_set_driver(struct prepared *prepared, const char *name);
/* Sets the pointers of the spec; call it again after every change. */
void prepared_connect(struct prepared *prepared);
int prepare_code(struct brig_context *context, const struct brig_request *request,
		 struct prepared *prepared, struct brig_error *err);
/* The source text alone. */
int prepare_source(const struct brig_request *request, struct prepared *prepared,
		   struct brig_error *err);
int prepare_command(struct brig_context *context, const struct brig_request *request,
		    struct prepared *prepared, struct brig_error *err);
/* Removes a path of a closure that the cell has elsewhere. */
void prepare_drop_item(struct closure *closure, const char *path);
/* A cell for a WASI program: prepare_wasm.c. Others are not changed. */
bool prepare_is_wasm(const struct prepared *prepared);
int prepare_wasm(struct brig_context *context, struct prepared *prepared, struct brig_error *err);
/* Its interpreters are looked for beside the engine first. */
int prepare_wasm_program(struct prepared *prepared, struct brig_error *err);
int prepare_inputs(const struct brig_request *request, struct prepared *prepared,
		   struct brig_error *err);
/* The name of a directory beneath /mnt. */
const char *prepare_mount_name(const struct brig_mount *mount);
/* Refuses to let a program write to brig's own directories: prepare_protected.c. */
int prepare_check_protected(const struct brig_context *context, struct spec_mount *mount,
			    struct brig_error *err);
/* Is brig's configuration, cache or audit file in the path, or the path in it? Names it. */
bool prepare_overlaps_own(const struct brig_context *context, const char *path, const char **what,
			  char **ret_where);
/*
 * Finds and checks the virtualenv of a program in Python, or of a command: prepare_venv.c. Then
 * its interpreter is the runtime's program.
 */
int prepare_venv(const struct brig_context *context, const struct brig_request *request,
		 struct prepared *prepared, struct brig_error *err);
/* The user of the cell is known: can it read the virtualenv? */
int prepare_venv_readable(const struct brig_request *request, struct prepared *prepared,
			  struct brig_error *err);
int prepare_mounts(const struct brig_context *context, const struct brig_request *request,
		   struct prepared *prepared, struct brig_error *err);
/* The network rules and the gate's configuration; after prepare_layers(). */
int prepare_network(const struct brig_request *request, struct prepared *prepared,
		    struct brig_error *err);
/* The authorities for opened TLS; and, once the gate has made it, the cell's own authority. */
int prepare_trust(struct prepared *prepared, struct brig_error *err);
int prepared_gate_trust(struct prepared *prepared, const char *authority, struct brig_error *err);
/* Starts the gate, before every start of a cell that has one: gate_start.c. */
int gate_start(struct brig_context *context, struct prepared *prepared, struct gate_process *ret,
	       struct brig_error *err);
void gate_stop(struct gate_process *gate);
int prepare_wasm_request(struct prepared *prepared, struct brig_error *err);
int prepare_env(const struct brig_request *request, struct prepared *prepared,
		struct brig_error *err);
/* Compiles the filter for the present layers; call it again when they change. */
int prepare_filter(struct prepared *prepared, struct brig_error *err);
/* May the program have a terminal? */
int prepare_terminal(struct prepared *p, struct brig_error *err);
int prepare_layers(struct brig_context *context, struct prepared *prepared, struct brig_error *err);
#endif
