/* SPDX-License-Identifier: Apache-2.0 */
/* The table of layers. */
#include "kernel/layers.h"

#include <stdbool.h>
#include <string.h>

const struct layer_info layer_table[LAYER_COUNT] = {
	[LAYER_USERNS] = { "userns", "two user namespaces: one to set up, one for the program",
			   "no cell can be built without root, and read-only mounts could be "
			   "undone" },
	[LAYER_PIDNS] = { "pidns", "sees and signals its own processes only",
			  "the program could see and signal other processes of its user" },
	[LAYER_MNTNS] = { "mntns", "its own table of mounts",
			  "the program would see the host's file systems" },
	[LAYER_NETNS] = { "netns", "its own network: a loopback and nothing else",
			  "the program could reach the host's network" },
	[LAYER_IPCNS] = { "ipcns", "its own System V IPC and message queues",
			  "shared memory and queues would be shared with the host" },
	[LAYER_UTSNS] = { "utsns", "a fixed host name", "the host's name would be visible" },
	[LAYER_CGROUPNS] = { "cgroupns", "its cgroup looks like the root",
			     "the host's cgroup paths would be visible" },
	[LAYER_TIMENS] = { "timens", "its own boot time", "the host's uptime is visible" },
	[LAYER_ROOTFS] = { "rootfs", "a root of its own, read-only, with the runtime's files only",
			   "the program would see the host's files" },
	[LAYER_OVERLAY] = { "overlay", "a private view of shared files",
			    "two cells can signal each other by locks and inotify on shared "
			    "files" },
	[LAYER_PROC] = { "proc", "its own /proc, with processes only",
			 "facts about the host in /proc would be visible" },
	[LAYER_UIDRANGE] = { "uidrange", "user ids that no other cell has",
			     "cells share the caller's user id and its per-user limits" },
	[LAYER_CAPS] = { "caps", "no capability in any set",
			 "the program would be privileged within its namespaces" },
	[LAYER_NNP] = { "nnp", "no program can raise its privileges",
			"setuid programs would take effect" },
	[LAYER_LANDLOCK] = { "landlock", "a second wall around files, sockets and signals",
			     "files and abstract sockets are guarded by the namespaces alone" },
	[LAYER_SECCOMP] = { "seccomp", "only the system calls on the policy's list",
			    "the whole kernel would be open to attack" },
	[LAYER_NOTIFY] = { "notify", "refused system calls are recorded",
			   "a refused call fails without a line in the verdict that says which" },
	[LAYER_KEYRING] = { "keyring", "an empty session keyring of its own",
			    "the caller's session keyring stays attached, though out of reach" },
	[LAYER_CGROUP_MEMORY] = { "cgroup-memory", "memory limited for the cell as a whole",
				  "memory is limited per process and by watching" },
	[LAYER_CGROUP_PIDS] = { "cgroup-pids", "processes limited for the cell as a whole",
				"processes are limited per user id and by watching" },
	[LAYER_CGROUP_CPU] = { "cgroup-cpu", "a share of the processors",
			       "a cell can use every processor until its time is up" },
};

int layer_by_name(const char *name)
{
	for (int i = 0; i < LAYER_COUNT; i++) {
		if (strcmp(layer_table[i].name, name) == 0) {
			return i;
		}
	}
	return -1;
}

void layer_list(layer_set set, char *text, unsigned size)
{
	unsigned used = 0;

	if (size == 0) {
		return;
	}
	text[0] = '\0';
	for (int i = 0; i < LAYER_COUNT; i++) {
		if (!(set & LAYER_BIT(i))) {
			continue;
		}

		unsigned length = (unsigned)strlen(layer_table[i].name);
		bool blank = used > 0;

		/* A name that does not fit is omitted: a part of it would be wrong. */
		if (length + blank + 1 > size - used) {
			return;
		}
		if (blank) {
			text[used++] = ' ';
		}
		memcpy(text + used, layer_table[i].name, length + 1);
		used += length;
	}
}
