/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that decides what a cell looks like, gathered before the plan is made. The plan is a
 * pure function of this: no look at the host happens after it.
 */
#ifndef BRIG_RUN_SPEC_H
#define BRIG_RUN_SPEC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <brig/brig.h>

#include "kernel/filter/filter.h"
#include "kernel/layers.h"
#include "net/rule.h"
#include "provider/provider.h"
#include "run/closure.h"

struct spec_input {
	const char *name;    /* beneath /sandbox */
	const void *data;    /* NULL: from fd */
	struct block *block; /* a reference: what the data lies in; NULL: it is owned by itself */
	uint64_t size;
	int fd; /* regular file, read from its start */
	mode_t mode;
};

struct spec_mount {
	const char *name; /* beneath /mnt */
	const char *path; /* on the host: to find `fd` again from inside */
	int fd;           /* O_PATH of the directory */
	int tree;         /* its id-mapped clone, detached, made anew for every try; -1: none */
	bool writable;
};

/* The list of authorities, in the cell. */
#define SPEC_CERTIFICATES "/etc/ssl/certs/ca-certificates.crt"
#define SPEC_AUTHORITY    "/etc/ssl/brig-cell.pem"

struct spec {
	const struct provider *provider;
	layer_set layers; /* those that this cell will have */

	uid_t caller_uid; /* brig's own effective ids: what an ordinary user's cell maps to */
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
	int devices;      /* it, as a detached mount: made anew for every try */
	const char *const *argv;
	const char *const *envp;
	const char *workdir; /* local provider: host directory to start in; else NULL */

	const struct bpf_program *filter; /* NULL: none */
	/* The filter lets a program have a listener of its own, if ours were gone: it must stay. */
	bool keeps_listener;
	bool parks; /* it lets a program end by saying that it is done: native/done.h */
	int landlock_abi;
	unsigned cpus;      /* how many the cell is told of */
	bool join_by_write; /* v1 cgroup: the child writes itself in */
	/* Made ahead: the cell waits, sealed, for an order with what is the request's own. */
	bool held;
	bool cloned; /* from a template: the program goes on in its interpreter, without exec */
	/*
	 * Made ahead where the interpreter cannot be cloned: it is started at once, with a script
	 * of ours that waits in it for the order.
	 */
	bool prestarted;
	bool valued; /* cold: a driver runs the program, and leaves its value on descriptor 3 */
	/* What leads to the cell's gate; no ports: it has none, and no network. */
	const uint16_t *gate_ports;
	size_t gate_ports_count;
	const struct net_prefix *gate_routes; /* addresses that connections may be made to */
	size_t gate_routes_count;
	int gate;                 /* where the gate waits for its sockets: anew for every try */
	const char *certificates; /* the host's list of authorities, for TLS; NULL: none */
	/*
	 * Where TLS is opened by the gate: the hosts, the cell's own authority, and a list with the
	 * host's authorities and that one. NULL: nowhere.
	 */
	const char *opened;
	const char *authority, *bundle;
	size_t authority_size, bundle_size;
	const char *driver; /* the script: where it is, beneath the root; NULL: none */
	const char *driver_text;
	size_t driver_size;
};
#endif
