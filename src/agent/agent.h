/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's state, and its parts: see main.c. */
#ifndef BRIG_AGENT_AGENT_H
#define BRIG_AGENT_AGENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "agent/network.h"
#include "framed/frame.h"
#include "kernel/landlock.h"

#define AGENT_OUTPUT_BYTES 65536u /* one piece of output */
/* The frames of the network in one turn: with output, they take half of the stream each. */
#define AGENT_NETWORK_BYTES (2 * (FRAME_HEAD_BYTES + FRAME_RECORD_MOST))
/* The limits that bound what an assignment may take. */
#define AGENT_LIMITS_MAX 32u
#define AGENT_TEXTS_MAX  65536u
#define AGENT_PLACES_MAX 64u
#define AGENT_FILTER_MAX (4096u * 8u) /* BPF_MAXINSNS */
/*
 * The agent's descriptors are above these: the program's process shares our table until it begins,
 * and a driver has numbers up to 31. The limit on open files applies to it before its last steps,
 * whose descriptors need numbers below the lowest possible limit.
 */
#define AGENT_ROOM_FDS 32

enum agent_state {
	AGENT_WAITING, /* for its assignment */
	AGENT_HOLDING, /* for an interpreter that starts... */
	AGENT_HOLDS,   /* ...and that waits for an assignment */
	AGENT_RUNNING,
	AGENT_DRAINING,  /* the program has ended; its last output is passed on */
	AGENT_RETURNING, /* its files are returned */
	AGENT_OVER,      /* the last frame is being sent */
};

struct agent_texts {
	char **items; /* NULL-terminated */
	size_t count;
};

struct agent_limit {
	int resource;
	uint64_t value;
};

/* The streams that are passed on to brig. */
enum agent_output { AGENT_STDOUT, AGENT_STDERR, AGENT_FROM_DRIVER, AGENT_OUTPUTS };

/* A stream that is passed on to the program. */
struct agent_feed {
	int fd; /* -1: closed */
	unsigned char pending[FRAME_INPUT_WINDOW];
	size_t at, size;
	bool end;       /* nothing comes after it */
	uint32_t taken; /* not yet reported */
};

struct agent {
	enum agent_state state;
	int in, out; /* the stream: both may be one socket */

	unsigned char frame[FRAME_HEAD_BYTES + FRAME_DATA_MAX]; /* being received */
	size_t have;
	/* Frames to send: one piece of output at a time, some of the network, and small ones. */
	unsigned char outbox[AGENT_NETWORK_BYTES + FRAME_HEAD_BYTES + FRAME_VALUE_MAX + 256];
	size_t out_at, out_size;

	char *directory;
	struct agent_texts arguments, variables;
	struct agent_limit limits[AGENT_LIMITS_MAX];
	size_t limits_count;
	unsigned char filter[AGENT_FILTER_MAX];
	size_t filter_size;
	int landlock; /* the version of the kernel's interface; 0: it is not used */
	struct landlock_place places[AGENT_PLACES_MAX];
	size_t places_count;
	bool listens;      /* the filter has a listener, which is passed to brig */
	int file;          /* being received; -1: none */
	char *script;      /* owned: the file of an interpreter that waits; NULL: none */
	uint64_t spent_ns; /* its processor time before the program */
	bool has_ids;      /* of the program's own: */
	uid_t user;
	gid_t group;
	bool stays;   /* after its last frame: see FRAME_AGENT_STAYS */
	bool returns; /* the files, at the end: */
	struct frame_bounds bounds;

	pid_t program;
	int signals; /* signalfd: SIGCHLD */
	int output[AGENT_OUTPUTS];
	bool second;    /* of the first two is read first next time */
	bool marked;    /* the driver has written; the output before that comes first: */
	int before[2];  /* so many bytes */
	size_t drained; /* bytes after the program's end */
	struct agent_feed input, to_driver;
	struct agent_network network;
	uint32_t marks;      /* not yet answered */
	uint32_t value_size; /* of the memory file; 0: none */
	bool value_sealed;   /* by the agent */
	int value;           /* that file; -1: none */
	uint32_t channel[2]; /* the driver's numbers: in, out; 0: there is no driver */
	struct frame_exit end;
	bool alone; /* no other process is left */
	struct frame_bounds disk_base;
	struct frame_disk disk;
	uint64_t sample_ns;          /* the time of the next sample */
	struct files_out *out_files; /* owned; NULL: not begun */
};

/* Queues a frame; there is room for it, by the rules of the loop. */
void agent_send(struct agent *agent, enum frame_kind kind, const void *data, uint32_t size);
/* The program cannot begin: the last frame. */
void agent_fail(struct agent *agent, enum frame_step step, int errnum);

/* A child has ended: end.c. */
void agent_reap(struct agent *agent);
/* Ends the agent, and everything with it. */
_Noreturn void agent_leave(const struct agent *agent);
/* After the last frame: at once, or when the stream ends. */
_Noreturn void agent_finish(const struct agent *agent);

/* Moves a descriptor above those of the program's process. It, or -1. */
int agent_lift(int fd);
/* A frame of the assignment: assignment.c. 0, or -errno with the step that failed. */
int assignment_take(struct agent *agent, const struct frame_head *head, const unsigned char *data,
		    enum frame_step *step);
/* Starts the program: program.c. Likewise. */
int program_start(struct agent *agent, enum frame_step *step);
/* Starts an interpreter that waits: waiting.c. 0, or -errno with the step that failed. */
int waiting_start(struct agent *agent, const unsigned char *name, size_t size,
		  enum frame_step *step);
/* It has said that it waits, or its end is closed. */
void waiting_hear(struct agent *agent);
/* It becomes the program. Likewise. */
int waiting_go(struct agent *agent, enum frame_step *step);
/* In the program's process: limits, Landlock, the filter with its listener: seal.c. Likewise. */
int program_seal(const struct agent *agent, int *listener, enum frame_step *step);
/* The program's streams: relay.c. */
void relay_add(struct agent_feed *feed, const unsigned char *data, size_t size);
void relay_write(struct agent *agent);
/* Drops the output that is there now: it belongs to no run. */
void relay_mark(struct agent *agent);
/* Queues the reports about all of that. */
void relay_report(struct agent *agent);
/* True: a piece of output was queued. */
bool relay_read(struct agent *agent);
/* Sends what the program has left in its memory file: value.c. */
int value_make(struct agent *agent);
void value_send(struct agent *agent);
/* The use of the writable places: disk.c. Nothing is done unless files are returned. */
void disk_begin(struct agent *agent);
void disk_sample(struct agent *agent);
/* Queues frames with the files, until the outbox is full: files_out.c. */
void files_out_send(struct agent *agent);
/* For an agent that is root: own_kernel.c. 0 or -errno. */
int own_clock(struct agent *agent, const unsigned char *data, size_t size);
int own_entropy(struct agent *agent, const unsigned char *data, size_t size);
int own_work(struct agent *agent, const unsigned char *data, size_t size);
/*
 * The program, which has the agent's id, must not own these directories. No capability is left
 * but CAP_NET_ADMIN, if the agent assigns addresses. 0 or -errno.
 */
int own_places(char *const *paths);
#endif
