/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy: the permissions and limits of a cell. One JSON file with comments each; see
 * docs/policy.md. Operator's ceiling > named policy > request: each level only tightens the one
 * above.
 */
#ifndef BRIG_POLICY_POLICY_H
#define BRIG_POLICY_POLICY_H

#include "base/error.h"
#include "base/limits.h"
#include "base/strlist.h"
#include "kernel/filter/filter.h"
#include "kernel/layers.h"
#include "net/rule.h"
#include "policy/candidates.h"
#include "policy/launcher/launcher.h"
#include "policy/machine/machine.h"
#include "run/events.h"
#include "run/spec/daemon_settings.h"
#include "run/spec/spec.h"
#include "run/spec/vm_settings.h"

enum auto_run {
	AUTO_RUN_YES, /* may run without consent */
	AUTO_RUN_ASK, /* only with a person's consent (request.consent) */
	AUTO_RUN_NEVER,
};
#define AUTO_RUNS 3
extern const char *const auto_run_names[AUTO_RUNS];

enum output_action {
	OUTPUT_END, /* the run ends with output_limit */
	OUTPUT_CUT, /* the rest is discarded, the run continues */
};

/* How Python code is checked before it runs, loosest first: see docs/guard.md. */
enum guard_mode { GUARD_OFF, GUARD_IMPORTS, GUARD_STRICT };
#define GUARD_MODES 3
extern const char *const guard_mode_names[GUARD_MODES];

/* Code with at least the first score needs consent, with at least the second it is refused. */
struct policy_risk {
	unsigned ask, refuse; /* 1 to 100; 0: never */
};

struct policy_guard {
	enum guard_mode mode;
	bool own_modules;       /* `modules` was given: else each mode has its own list */
	struct strlist modules; /* that may be imported */
	uint64_t operations;    /* 0: not counted */
	uint64_t recursion;     /* 0: the interpreter's default */
};

/*
 * The events of a run that are recorded in addition to refusals, and those that end it: see
 * docs/monitoring.md.
 */
struct policy_monitor {
	struct strlist calls; /* names: allowed, and recorded */
	struct strlist files; /* patterns of absolute paths: recorded when they are opened */
	/* `denials_max` is another name for denied_calls. */
	struct event_limits end_after;
};

enum caller_mounts { CALLER_MOUNTS_NONE, CALLER_MOUNTS_RO, CALLER_MOUNTS_RW };
#define CALLER_MOUNTS 3
extern const char *const caller_mounts_names[CALLER_MOUNTS];

/* A directory that the operator allows by name: `--ro NAME`, mounted at /mnt/NAME. */
struct policy_mount {
	char name[65];
	char *path; /* owned, absolute */
	bool writable;
};

/* A virtualenv that the operator allows by name: `--venv NAME`. */
struct policy_venv {
	char name[65];
	char *path; /* owned, absolute */
};

/* The hosts that a caller on this host may request beyond the policy's list. */
enum caller_network { CALLER_NETWORK_NONE, CALLER_NETWORK_PUBLIC, CALLER_NETWORK_LOCAL };

/* A header that the gate adds to requests to a host. */
struct policy_credential {
	char name[NET_NAME_MAX + 1];
	char header[64];
	char *file;        /* owned, absolute: contains the value */
	bool opened;       /* within TLS, which the gate opens for it; else in clear */
	char *authorities; /* owned, absolute: trusted authorities; NULL: the host's */
};

struct policy_network {
	struct net_rule *allow; /* owned */
	char **reasons;         /* owned, one for each: its reason, or NULL */
	size_t allow_count;
	bool reasons_required;
	enum caller_network caller;
	uint64_t connections; /* at a time */
	uint64_t connections_total;
	uint64_t rate;                         /* new ones in a second */
	struct policy_credential *credentials; /* owned */
	size_t credentials_count;
};

struct policy {
	char name[65];
	char hash[65]; /* sha256 of the file's text */
	char *description;
	struct policy_candidate candidates[PROVIDERS_MAX]; /* strongest first */
	size_t candidates_count;
	/* The one that is used: the first that can be, until the host has decided. */
	const struct provider *provider;
	char *oci_runtime;           /* owned: its name or absolute path; NULL: the first found */
	char *gvisor_runtime;        /* owned: likewise, of the provider gvisor */
	const char *gvisor_platform; /* a name of a table; NULL: the runtime chooses */
	struct vm_settings vm;       /* settings of virtual machines */
	char vm_monitor[65];         /* as written; "": qemu */
	struct machine machine;      /* of that name, if a provider needs it */
	struct daemon_settings docker, podman;
	char launcher_name[65];   /* as written; "": none */
	struct launcher launcher; /* of that name, if the provider needs it */
	char *wasm_engine;        /* owned: absolute path; NULL: the usual place */
	enum auto_run auto_run;
	struct policy_risk risk;
	layer_set may_miss;

	struct brig_limits limits;         /* of a run that requests none */
	struct brig_limits ceiling;        /* the most that a run may request */
	struct brig_limits compile_limits; /* for the compiler's own cell */
	enum output_action on_output_limit;

	uint64_t files_in_bytes; /* all input files together */
	uint64_t files_in_count;
	uint64_t files_out_bytes;
	uint64_t files_out_count;

	enum caller_mounts caller_mounts;
	struct policy_mount *mounts; /* owned */
	size_t mounts_count;
	struct policy_venv *venvs; /* owned */
	size_t venvs_count;
	char *venv; /* owned: a name of `venvs` or an absolute path, for Python; NULL: none */

	struct strlist env_set; /* NAME=VALUE */
	struct strlist
		env_allow; /* names or prefix* that a request may set; "*" all but the dangerous */
	struct strlist runtimes; /* names; empty: all */
	struct policy_network network;
	bool network_given; /* there is a key for it, whatever it says */
	struct policy_guard guard;
	struct policy_monitor monitor;
	bool exec_writable; /* files in writable directories may be executed */
	bool terminal;      /* a request may have a terminal */

	struct strlist syscalls; /* "@basic", "@process", "-mount", "kill:ptrace", as written */
	struct filter filter;    /* the resulting table */
	char extends[65];        /* the name of the policy that it extends; or "" */
};

/* The sources of policies: operator's directory first, then built-in ones. */
struct policy_source {
	const char *config_dir; /* contains policies/; may be NULL */
	/* knows the owners of the files; NULL: checked directly */
	const struct broker *broker;
	const struct policy_given *given; /* found before all others; NULL: none */
	struct policy_trace *trace;       /* receives the texts that are read; NULL: not wanted */
};

/* A policy that is in no directory. */
struct policy_given {
	const char *name;
	const char *place; /* for messages */
	const char *text;
	size_t size;
};

int policy_load(const struct policy_source *source, const char *name, struct policy **ret,
		struct brig_error *err);
int policy_parse(const char *name, const char *text, size_t size, struct policy **ret,
		 struct brig_error *err);
void policy_free(struct policy *policy);
/* Names of all policies that can be loaded. */
int policy_names(const struct policy_source *source, struct strlist *ret, struct brig_error *err);

/*
 * The request's limits within the policy's: unset ones as in the policy, above its ceiling an
 * error.
 */
int policy_limits(const struct policy *policy, const struct brig_limits *wanted,
		  struct brig_limits *ret, struct brig_error *err);
/*
 * The rules of a run: those of the policy, or those of them that the request selects. `own`: within
 * network.caller, it may request more. Returns how many, 0 for none; or -errno.
 */
int policy_network_rules(const struct policy *policy, const char *const *wanted, bool own,
			 struct net_rule ret[NET_RULES_MAX], struct brig_error *err);
void policy_network_done(struct policy_network *network);
/* The same, and limits that are not requested are at most those of `most`; 0: no such bound. */
int policy_limits_within(const struct policy *policy, const struct brig_limits *wanted,
			 const struct brig_limits *most, struct brig_limits *ret,
			 struct brig_error *err);
/* Clamps requested limits to the allowed range: not below the least, not above both maxima. */
void policy_limits_clamp(const struct policy *policy, const struct brig_limits *most,
			 struct brig_limits *limits);
/* The mode of a request (NULL: the policy's), which may be stricter but not looser. */
int policy_guard_mode(const struct policy *policy, const char *wanted, enum guard_mode *ret,
		      struct brig_error *err);
/*
 * The layers that a cell of this provider may lack. A list may be meant for another provider of the
 * policy: one that never has an essential layer.
 */
layer_set policy_may_miss(const struct policy *policy, const struct provider *provider);
bool policy_env_allowed(const struct policy *policy, const char *name);
/* The entry of env.allow that lets a request set it; -1: none. */
int policy_env_entry(const struct policy *policy, const char *name);
/* It changes which code an interpreter or loader runs: only its exact name allows it. */
bool policy_env_dangerous(const char *name);
bool policy_runtime_allowed(const struct policy *policy, const char *runtime);
/* The path of a virtualenv that it lists; NULL: it does not. */
const char *policy_venv_path(const struct policy *policy, const char *name);

/* Builds the table from group names and single calls (data/syscalls/). */
int syscalls_resolve(const struct strlist *wanted, struct filter *ret, struct brig_error *err);
#endif
