/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that decides how a cell is built, gathered before the plan is made. The plan is a pure
 * function of this: the host is not inspected after it.
 */
#ifndef BRIG_RUN_SPEC_SPEC_H
#define BRIG_RUN_SPEC_SPEC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <brig/brig.h>

#include "kernel/filter/filter.h"
#include "kernel/layers.h"
#include "net/rule.h"
#include "provider/provider.h"
#include "run/spec/cell_kind.h"
#include "run/spec/closure.h"

struct daemon_settings;
struct launcher;
struct vm_settings;

struct spec_input {
	const char *name; /* beneath /sandbox */
	const void *data; /* NULL: from fd */
	/* a reference to the block with the data; NULL: the data is owned itself */
	struct block *block;
	uint64_t size;
	int fd; /* regular file, read from its start */
	mode_t mode;
};

struct spec_mount {
	const char *name; /* beneath /mnt */
	const char *path; /* on the host: used to open `fd` again from inside */
	int fd;           /* O_PATH of the directory */
	int tree;         /* its id-mapped clone, detached, made anew for every attempt; -1: none */
	bool writable;
};

/* A file of the operator that the cell sees, read-only, at a path of its own. */
struct spec_bind {
	const char *source; /* absolute path on the host */
	const char *target; /* beneath the root */
};
#define SPEC_BINDS_MAX 2

/* The paths of the authorities' certificates in the cell. */
#define SPEC_CERTIFICATES "/etc/ssl/certs/ca-certificates.crt"
#define SPEC_AUTHORITY    "/etc/ssl/brig-cell.pem"

/* An interpreter that is started before the request is known, and waits for it. */
struct spec_waiting {
	const char *const *argv;
	const char *name; /* of the script beneath /sandbox that waits in it; removed then */
	const char *text; /* of that script */
	size_t size;
};

struct spec {
	const struct provider *provider;
	layer_set layers; /* the layers of this cell */

	uid_t caller_uid; /* brig's own effective ids: the cell of an ordinary user maps to them */
	gid_t caller_gid;
	bool ranged; /* ids of its own: outer 0 and 1 map to first_id and first_id + 1 */
	uint32_t first_id;

	struct brig_limits limits;
	bool exec_writable;
	bool watch_memory;    /* no memory cgroup: RLIMIT_DATA and sampling instead */
	bool watch_processes; /* no pids cgroup: RLIMIT_NPROC instead */

	const struct closure *closure;
	const struct spec_input *inputs;
	size_t inputs_count;
	const struct spec_mount *mounts;
	size_t mounts_count;
	bool own_devices; /* a /dev of the cell's own; else the host's nodes are bound */
	int devices;      /* that /dev, as a detached mount: made anew for every attempt */
	const char *const *argv;
	const char *const *envp;
	const char *oci_runtime;         /* oci provider: its name or path; NULL: the first found */
	const char *gvisor_runtime;      /* gvisor provider: likewise */
	const char *gvisor_platform;     /* its name; NULL: the runtime chooses */
	const struct launcher *launcher; /* launcher provider: its file */
	const struct vm_settings *vm;    /* vm provider: NULL: the usual ones */
	const struct daemon_settings *docker, *podman; /* their providers: NULL: the usual ones */
	const char *cache_dir; /* for files that cells share; NULL: there is none */
	const char *workdir;   /* local provider: host directory to start in; else NULL */

	const struct bpf_program *filter; /* NULL: none */
	/*
	 * The filter would let a program install its own listener if ours were gone: ours must stay
	 * open.
	 */
	bool keeps_listener;
	bool parks; /* the filter lets a program report that it is done: native/calls/done_call.h */
	int landlock_abi;
	unsigned cpus;      /* how many the cell sees */
	bool join_by_write; /* v1 cgroup: the child writes itself in */
	enum cell_kind kind;
	/* The ports of the cell's gate; without ports the cell has no gate and no network. */
	const uint16_t *gate_ports;
	size_t gate_ports_count;
	const struct net_prefix *gate_routes; /* addresses to which connections are allowed */
	size_t gate_routes_count;
	int gate;                 /* where the gate waits for its sockets: anew for every attempt */
	const char *certificates; /* the host's list of authorities, for TLS; NULL: none */
	/*
	 * For TLS that the gate terminates: the hosts, the cell's own authority, and a list with
	 * the host's authorities and that one. NULL: none.
	 */
	const char *opened;
	const char *authority, *bundle;
	size_t authority_size, bundle_size;
	const struct spec_waiting *waiting; /* in a held cell; NULL: nothing but its agent waits */
	const char *driver; /* the driver script's path beneath the root; NULL: none */
	const char *driver_text;
	size_t driver_size;
	/* A program of brig's own, executed instead: its path beneath the root; NULL: none. */
	const char *prober;
	const char *prober_image;
	size_t prober_size;
	struct spec_bind binds[SPEC_BINDS_MAX];
	size_t binds_count;
	const char *wasm_engine; /* wasm provider: the policy's path of the engine; NULL: none */
};

/* The id of the program, as it sees it. */
#define SPEC_PROGRAM_ID 1000u

/* Is there one for the program alone, and a root beside it that assigns addresses? */
static inline bool spec_separates(const struct spec *spec)
{
	return spec->ranged && spec->gate_ports_count;
}

static inline const struct cell_traits *spec_traits(const struct spec *spec)
{
	return &cell_traits[spec->kind];
}
#endif
