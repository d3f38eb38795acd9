/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames: the messages between brig and its agent, over one byte stream in each direction. Nothing
 * but bytes is exchanged, so the agent may be behind another kernel; except for LISTENER, which
 * brig asks for only where the stream is a Unix socket of the same kernel.
 *
 *	1 byte kind, 3 bytes zero, 4 bytes length of the data, then the data
 *
 * All numbers are little-endian.
 */
#ifndef BRIG_FRAMED_FRAME_H
#define BRIG_FRAMED_FRAME_H

#include <stddef.h>
#include <stdint.h>

#define FRAME_HEAD_BYTES 8u
/* The longest argument that the kernel takes (MAX_ARG_STRLEN), so that each fits in one frame. */
#define FRAME_DATA_MAX 131072u
/* Standard input that the agent has not yet passed on: it keeps at most this. */
#define FRAME_INPUT_WINDOW 65536u
/* The longest path of a returned file, and the longest target of a link. */
#define FRAME_PATH_MAX   1023u
#define FRAME_TARGET_MAX 4095u
/* The largest memory file of a value. */
#define FRAME_VALUE_MAX 81920u
#define FRAME_VERSION   4u
/*
 * The agent's first argument, where something between the two drops what it has not yet passed on
 * to brig as soon as it cannot pass on to the agent: it stays after its last frame, until its
 * stream ends.
 */
#define FRAME_AGENT_STAYS "--stay"
/* A record of net/cell_stream.h. */
#define FRAME_RECORD_LEAST 8u
#define FRAME_RECORD_MOST  (8u + 32768u)

enum frame_kind {
	/* to the agent: for one that is root of its kernel or its container; only if brig asks */
	FRAME_CLOCK,   /* u64 nanoseconds: the time of day */
	FRAME_ENTROPY, /* random bytes, for the kernel's generator */
	FRAME_WORK,    /* struct frame_work: mounts the tmpfs with the places that can be written */
	FRAME_IDS,     /* u32 user, u32 group: the program's, which also has no capabilities */
	/* to the agent: the assignment */
	FRAME_DIRECTORY,  /* where the program starts, and where its files are put */
	FRAME_ARGUMENT,   /* one each, in order; the first is the path of the program */
	FRAME_VARIABLE,   /* one each: NAME=VALUE */
	FRAME_LIMIT,      /* u32 resource, u64 value: of each process */
	FRAME_FILTER,     /* a part of the system call filter: instructions of 8 bytes */
	FRAME_FILE,       /* u32 mode, then the name, relative to the directory; new, empty */
	FRAME_FILE_DATA,  /* the next bytes of that file */
	FRAME_RETURN,     /* struct frame_bounds: the files are returned at the end, up to these */
	FRAME_VALUE_FILE, /* u32 size, u32 sealed: descriptor 3 is a memory file, for VALUE */
	FRAME_CHANNEL,    /* u32 in, u32 out: descriptors of a driver; equal: one socket */
	FRAME_START,      /* the program begins */
	FRAME_INPUT,      /* the next bytes of standard input, within the window */
	FRAME_INPUT_END,  /* there are no more */
	FRAME_TO_DRIVER,  /* the next bytes of the channel, within a window of the same size */
	FRAME_TO_DRIVER_END, /* there are no more */
	FRAME_MARK,          /* the next run of a session: output up to here belongs to none */
	FRAME_SIGNAL,        /* u32: to the program and its process group */
	/* from the agent */
	FRAME_READY,         /* u32 version: it takes an assignment */
	FRAME_STARTED,       /* the program has begun */
	FRAME_STDOUT,        /* the next bytes of its output */
	FRAME_STDERR,        /* likewise */
	FRAME_INPUT_TAKEN,   /* u32: so many bytes of input were passed on */
	FRAME_INPUT_CLOSED,  /* the program reads no more input */
	FRAME_FROM_DRIVER,   /* the next bytes of the channel, after the output before them */
	FRAME_DRIVER_TAKEN,  /* u32: so many bytes of the channel were passed on */
	FRAME_DRIVER_CLOSED, /* the driver reads no more of it */
	FRAME_MARKED,        /* the answer: output before this was not of the next run */
	FRAME_VALUE,         /* u32 seals, then the memory file without the zeros at its end */
	FRAME_DISK,          /* struct frame_disk, before EXITED, if files are returned */
	FRAME_EXITED,        /* struct frame_exit: the last frame, unless files are returned */
	FRAME_FAILED,        /* u32 step, u32 errno: the program could not begin; the last frame */
	/* from the agent, after EXITED: the files, a directory before what is in it */
	FRAME_OUT_DIRECTORY, /* path, relative to the directory */
	FRAME_OUT_LINK,      /* u32 length of the path, path, target: a symbolic link */
	FRAME_OUT_NAME,      /* likewise, with the path of a file: another name of it */
	FRAME_OUT_FILE,      /* u32 mode, u64 size, path: a regular file without data */
	FRAME_OUT_DATA,      /* u64 offset, data of that file: in order, holes left out */
	FRAME_OUT_END,       /* struct frame_left: the last frame */
	/* where the cell has the host's kernel; to the agent, before the start: */
	FRAME_LANDLOCK, /* u32 version of the kernel's interface: files are restricted to... */
	FRAME_PLACE,    /* ...these: u32 enum frame_place, then the path; one each */
	FRAME_LISTEN,   /* the filter has a listener, which brig gets */
	/* ...and from the agent: */
	FRAME_LISTENER, /* of the filter: a descriptor comes with it (SCM_RIGHTS) */
	/*
	 * Instead of START, and before the assignment is known: the arguments and variables are
	 * those of an interpreter, which is started with all its walls, and waits. The data is the
	 * name of the file that it runs meanwhile, which is removed.
	 */
	FRAME_WAIT,
	FRAME_WAITING, /* from the agent: it waits, and takes the rest of an assignment */
	/* where the cell's network is the agent's: before the start: */
	FRAME_ADDRESS, /* struct frame_address: connections there are the gate's... */
	FRAME_PORT,    /* ...to this port, u32: the agent listens; one each */
	/* ...and after it: */
	FRAME_FROM_GATE, /* to the agent: a record of net/cell_stream.h */
	FRAME_TO_GATE,   /* from the agent: likewise */
	FRAME_KINDS,
};

struct frame_info {
	const char *name;
	uint32_t least, most; /* bytes of data */
};
extern const struct frame_info frame_table[FRAME_KINDS];

/* The parts of a start that can fail in the agent. */
enum frame_step {
	FRAME_STEP_ASSIGNMENT,
	FRAME_STEP_FILE,
	FRAME_STEP_SPAWN,
	FRAME_STEP_STDIO,
	FRAME_STEP_DIRECTORY,
	FRAME_STEP_LIMIT,
	FRAME_STEP_FILTER,
	FRAME_STEP_EXEC,
	FRAME_STEP_CLOCK,
	FRAME_STEP_ENTROPY,
	FRAME_STEP_WORK,
	FRAME_STEP_IDS,
	FRAME_STEP_LANDLOCK,
	FRAME_STEP_WAIT,
	FRAME_STEP_NETWORK,
	FRAME_STEP_RETURN, /* of the warden's: the place for the files that come back */
	FRAME_STEPS,
};

/* The use of a place for Landlock. */
enum frame_place {
	FRAME_PLACE_READ,
	FRAME_PLACE_WRITE,
	FRAME_PLACE_DEVICE, /* existing files can be written, there are no new ones */
	FRAME_PLACES,
};

#define FRAME_LIMIT_BYTES 12u
#define FRAME_EXIT_BYTES  24u
struct frame_exit {
	uint32_t code;   /* CLD_EXITED, CLD_KILLED, CLD_DUMPED */
	uint32_t status; /* exit status, or signal */
	uint64_t cpu_ns; /* of all processes that were waited for */
	uint64_t memory_peak_bytes;
};

/* How much the program can write: its limits. */
#define FRAME_BOUNDS_BYTES 16u
struct frame_bounds {
	uint64_t bytes, inodes;
};

/* The writable tmpfs: on /sandbox, /tmp and /dev/shm. */
#define FRAME_WORK_BYTES 28u
struct frame_work {
	struct frame_bounds bounds;
	uint32_t exec;        /* 1: files in /sandbox and /tmp can be executed */
	uint32_t user, group; /* the owner */
};

/* The most that was used since the program began, by samples. */
#define FRAME_DISK_BYTES  20u
#define FRAME_DISK_FULL   1u
#define FRAME_INODES_FULL 2u
struct frame_disk {
	struct frame_bounds peak;
	uint32_t full;
};

/* The entries that were not returned. */
#define FRAME_LEFT_BYTES 16u
struct frame_left {
	uint32_t odd_names, too_deep, too_many, over;
};

/* A range of addresses of the cell's own loopback. */
#define FRAME_ADDRESS_BYTES 22u
struct frame_address {
	uint32_t assigned; /* 1: the first of them is assigned; 0: a route of type local */
	uint8_t family;    /* 4, 6 */
	uint8_t bits;
	uint8_t bytes[16];
};

struct frame_head {
	enum frame_kind kind;
	uint32_t size;
};

void frame_put_u32(unsigned char *at, uint32_t value);
void frame_put_u64(unsigned char *at, uint64_t value);
uint32_t frame_get_u32(const unsigned char *at);
uint64_t frame_get_u64(const unsigned char *at);

void frame_put_head(unsigned char at[FRAME_HEAD_BYTES], enum frame_kind kind, uint32_t size);
/* -EPROTO: no such kind, a size that the kind cannot have, or bytes that must be zero. */
int frame_get_head(const unsigned char at[FRAME_HEAD_BYTES], struct frame_head *ret);
void frame_put_exit(unsigned char at[FRAME_EXIT_BYTES], const struct frame_exit *value);
void frame_put_bounds(unsigned char at[FRAME_BOUNDS_BYTES], const struct frame_bounds *value);
void frame_get_bounds(const unsigned char at[FRAME_BOUNDS_BYTES], struct frame_bounds *ret);
void frame_put_work(unsigned char at[FRAME_WORK_BYTES], const struct frame_work *value);
void frame_get_work(const unsigned char at[FRAME_WORK_BYTES], struct frame_work *ret);
void frame_put_disk(unsigned char at[FRAME_DISK_BYTES], const struct frame_disk *value);
void frame_get_disk(const unsigned char at[FRAME_DISK_BYTES], struct frame_disk *ret);
void frame_put_left(unsigned char at[FRAME_LEFT_BYTES], const struct frame_left *value);
void frame_get_left(const unsigned char at[FRAME_LEFT_BYTES], struct frame_left *ret);
void frame_put_address(unsigned char at[FRAME_ADDRESS_BYTES], const struct frame_address *value);
/* 0, or -EPROTO: no such family, or more bits than it has. */
int frame_get_address(const unsigned char at[FRAME_ADDRESS_BYTES], struct frame_address *ret);
void frame_get_exit(const unsigned char at[FRAME_EXIT_BYTES], struct frame_exit *ret);
#endif
