/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The holder: the process around a program of another project that builds a cell (an OCI runtime, a
 * launcher), and everything that this program starts.
 *
 * It is root of a user namespace of its own and pid 1 of a pid namespace. It makes a file system
 * that only it and its children see: the host's directories, read-only, and one of brig's with the
 * root of the cell and the writable tmpfs. In there it starts the tool, which starts brig's agent.
 * Everything dies with the holder, whose control socket tells it when the warden is gone, and
 * nothing is left on the host: not even the tool's state, which is on the holder's tmpfs.
 */
#ifndef BRIG_HOLDER_HOLDER_H
#define BRIG_HOLDER_HOLDER_H

#include "kernel/cgroup/cgroup.h"
#include "native/plan/plan.h"

/* The paths of a holder's file system. */
#define HOLDER_DIR     ".brig"
#define HOLDER_ROOT    HOLDER_DIR "/root"
#define HOLDER_WORK    HOLDER_DIR "/work"
#define HOLDER_MOUNTS  HOLDER_DIR "/mnt"
#define HOLDER_EMPTY   HOLDER_DIR "/empty" /* the upper layer of overlays */
#define HOLDER_STATE   HOLDER_DIR "/state"
#define HOLDER_BUNDLE  HOLDER_DIR "/bundle"
#define HOLDER_SHARED  HOLDER_DIR "/shared"
#define HOLDER_AGENT   "brig-agent" /* in the root of the cell */
#define HOLDER_TOP_MAX 128          /* entries of the host's root directory */

/*
 * The messages. The warden sends one byte: the holder may begin. When the agent is ready, it sends,
 * once, the process id of the agent (int32_t): the holder does its work in the agent's namespaces
 * (holder_enter.c). Anything else, and the end of the stream, ends the holder.
 */

/* --- messages of the holder to the warden ----------------------------------------------------- */

enum holder_kind {
	HOLDER_HANDLES = 1, /* with two descriptors: /sandbox, and /proc */
	HOLDER_TOOL,        /* the tool is done; `value` is its wait status */
	HOLDER_FAILED,      /* a step of the holder's failed */
	HOLDER_ENTERED,     /* the answer to the request; errnum: the step `value` failed */
};

/* The steps of a holder that can fail. */
enum holder_step {
	HOLDER_STEP_PROCESS,
	HOLDER_STEP_IDENTITY,
	HOLDER_STEP_KEYRING,
	HOLDER_STEP_ROOT,
	HOLDER_STEP_SKELETON,
	HOLDER_STEP_WORK,
	HOLDER_STEP_MOUNT,
	HOLDER_STEP_OVERLAY,
	HOLDER_STEP_TIME,
	HOLDER_STEP_CGROUP,
	HOLDER_STEP_TOOL,
	HOLDER_STEP_PROC,
	HOLDER_STEP_NETWORK,
	HOLDER_STEPS,
};

/* The namespaces of a process, in the order of holder_namespaces. */
#define HOLDER_NAMESPACES 8
extern const char *const holder_namespaces[HOLDER_NAMESPACES]; /* "user" */

/* For comparison with the agent's: what the holder has, and what it has made. */
struct holder_identity {
	uint64_t namespaces[HOLDER_NAMESPACES]; /* inode numbers; 0: this kernel has none */
	uint64_t device;                        /* of the next two */
	uint64_t root, agent;                   /* inode numbers */
};

struct holder_message {
	uint32_t kind;  /* enum holder_kind */
	uint32_t value; /* FAILED, ENTERED: enum holder_step; TOOL: the status */
	int32_t errnum;
	uint32_t blocks, inodes; /* HANDLES: used before the program begins */
	struct holder_identity identity;
};
#define HOLDER_FDS 2

/* An entry of the host's root directory. */
struct holder_top {
	char name[512];   /* the path, without its first slash */
	char target[256]; /* of a link; "": it is a directory */
};

/*
 * Files that the warden opens for the tool, which has them as descriptors 3 and up, and its log
 * after them. Where the holder has the rights of the files' owner, it opens those with a name
 * again, beneath a read-only mount of their directory: through a descriptor of the host's mount,
 * the tool could change them.
 */
#define HOLDER_FILES_MAX 6
struct holder_files {
	int fds[HOLDER_FILES_MAX]; /* owned */
	const char
		*names[HOLDER_FILES_MAX]; /* beneath the directory; NULL: the descriptor is used */
	size_t count;
	const char *directory; /* on the host; NULL: no file has a name */
};

/* The holder's input, made before the clone. */
struct holder_start {
	const struct spec *spec;
	const struct plan *plan;
	const char *bundle; /* config.json of the tool; NULL: it needs none */
	size_t bundle_size;
	uid_t owner;      /* of the writable places: the program's id, as the holder sees it */
	bool whole;       /* it makes the whole root, with all mounts; else the tool does */
	const char *tool; /* path */
	bool stays;       /* the tool's end is the cell's */
	bool alone;       /* there is no agent: the stream is not the tool's output */
	bool confined;    /* the tool has no capabilities */
	bool kvm;         /* a confined tool has /dev/kvm */
	bool urandom;     /* likewise: /dev/urandom */
	struct holder_files files;
	char *const *arguments;
	const struct holder_top *tops;
	size_t tops_count;
	char work_size[24], work_inodes[24];
	bool emulated;    /* the tool answers the calls of the program itself... */
	char meminfo[48]; /* ...and reads this instead of the host's */
	int control, stream, log;
	int join[CGROUP_JOIN_MAX]; /* v1: files to which it writes itself... */
	int join_count;
	bool join_directories; /* ...or the directories of the files */
};

/* The code of the holder, from its first instruction: holder.c. */
_Noreturn void holder_main(struct holder_start *start);
/* Makes its file system, and enters it: holder_root.c. 0, or -errno with the step. */
int holder_root(const struct holder_start *start, enum holder_step *step);
/* The parts of a confined tool: holder_confined.c. The first before the root is entered. */
int holder_confined_root(const struct holder_start *start);
int holder_confined_files(struct holder_start *start);
int holder_confine(void);
/* Overlays: holder_overlay.c. Of the host's directories, before they are bound... */
int holder_overlay_host(const struct holder_start *start);
/* ...and of a mounted directory. */
int holder_overlay(const struct holder_start *start, const char *path);
/* Mounts everything into the root of the cell: holder_whole.c. */
int holder_whole(const struct holder_start *start);
/* Enters the namespaces of the agent, for the last work: holder_enter.c. Likewise. */
int holder_enter(const struct holder_start *start, pid_t agent, enum holder_step *step);
/* "a/b", without stdio. -ENAMETOOLONG: it does not fit. */
#define HOLDER_PATH_MAX 4096
int holder_join_path(char path[HOLDER_PATH_MAX], const char *a, const char *b);
/* A clone of a shared mount is its peer, until it is told otherwise. */
int holder_attach(int tree, const char *path, uint64_t attributes);
/* 0 also if it is there. */
int holder_make_dir(const char *path, mode_t mode);
int holder_make_file(const char *path, const void *data, size_t size, mode_t mode);
#endif
