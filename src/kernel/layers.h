/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of a cell, by name: policies may waive them, doctor probes them, results list them. */
#ifndef BRIG_KERNEL_LAYERS_H
#define BRIG_KERNEL_LAYERS_H

#include <stdint.h>

enum layer {
	LAYER_USERNS, /* two user namespaces: set-up and payload */
	LAYER_PIDNS,
	LAYER_MNTNS,
	LAYER_NETNS,
	LAYER_IPCNS,
	LAYER_UTSNS,
	LAYER_CGROUPNS,
	LAYER_TIMENS,
	LAYER_ROOTFS,   /* own root by pivot_root, read-only */
	LAYER_OVERLAY,  /* private view of shared files: no lock or inotify channel */
	LAYER_PROC,     /* own /proc, only processes, hidden pids */
	LAYER_UIDRANGE, /* uids of its own, shared with no other cell (root only) */
	LAYER_CAPS,     /* no capability in any set, securebits locked */
	LAYER_NNP,      /* no_new_privs */
	LAYER_LANDLOCK,
	LAYER_SECCOMP,
	LAYER_NOTIFY, /* refused system calls are recorded */
	LAYER_KEYRING,
	LAYER_CGROUP_MEMORY,
	LAYER_CGROUP_PIDS,
	LAYER_CGROUP_CPU,
	LAYER_COUNT,
};

typedef uint32_t layer_set;
#define LAYER_BIT(l) ((layer_set)1 << (l))
/* The layers that a control group gives. */
#define LAYERS_CGROUP                                                                              \
	(LAYER_BIT(LAYER_CGROUP_MEMORY) | LAYER_BIT(LAYER_CGROUP_PIDS) |                           \
	 LAYER_BIT(LAYER_CGROUP_CPU))

struct layer_info {
	const char *name;  /* "userns" */
	const char *about; /* what it does */
	const char *loss;  /* the consequence of its absence */
};
extern const struct layer_info layer_table[LAYER_COUNT];

int layer_by_name(const char *name); /* enum layer, or -1 */
/* "userns pidns ..." */
void layer_list(layer_set set, char *text, unsigned size);
#endif
