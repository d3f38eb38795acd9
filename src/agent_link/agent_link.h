/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stream to the agent of a cell, as the warden sees it. The run reads and writes pipes, as with
 * any provider; the other ends of the pipes are here.
 */
#ifndef BRIG_AGENT_LINK_AGENT_LINK_H
#define BRIG_AGENT_LINK_AGENT_LINK_H

#include "agent_link/own_tmpfs.h"
#include "agent_link/return_time.h"
#include "agent_link/returned.h"
#include "base/files/fdpass_bytes.h"
#include "framed/report.h"
#include "run/run_internal.h"

/* The events of a link, as the provider numbers them from `first_event` on. */
enum agent_link_event {
	AGENT_LINK_STREAM,
	AGENT_LINK_INPUT,
	AGENT_LINK_STDOUT,
	AGENT_LINK_STDERR,
	AGENT_LINK_CHANNEL, /* of a driver */
	AGENT_LINK_NETWORK, /* the line of the cell's gate */
	AGENT_LINK_PLACE,   /* these two only if files are returned */
	AGENT_LINK_TIMER,
	AGENT_LINK_EVENTS,
};

/* The differences between the cells; all zero: an agent beside brig, on one kernel. */
struct agent_options {
	/* The cell shares no file system with brig: the agent returns the files. */
	bool returns;
	/* Bytes a second in which files must come, at least; 0: as usual (return_time.h). */
	uint64_t return_rate;
	/* The agent is root of a virtual machine: it sets its clock, and reseeds its generator. */
	bool clock, entropy;
	/* The gate's addresses are assigned in the cell: its kernel has no routes of type local. */
	bool assigns;
	/* The agent is root: it mounts the writable tmpfs on /sandbox, /tmp and /dev/shm. */
	bool mounts;
	/* The agent is root: the program has these ids, and no capabilities. 0: the agent's own */
	uint32_t user, group;
	/* So it is in cells for which it assigns addresses, if there is an id for the program. */
	bool separates;
	/* Reads from the stream, as recv() with MSG_DONTWAIT, or -errno; NULL: that. */
	ssize_t (*receive)(struct run *run, void *at, size_t size);
	/*
	 * Takes the listener of the program's filter, once, before the program begins: 0 or -errno.
	 * NULL: none is wanted, or the stream is no Unix socket of this kernel.
	 */
	int (*listener)(struct run *run, int fd);
};

/* The frames of an assignment are sent in this order. */
enum assign_phase {
	ASSIGN_NOTHING, /* the agent is not ready */
	ASSIGN_CLOCK,
	ASSIGN_FIRST = ASSIGN_CLOCK,
	ASSIGN_ENTROPY,
	ASSIGN_WORK,
	ASSIGN_IDS,
	ASSIGN_DIRECTORY,
	ASSIGN_ARGUMENTS,
	ASSIGN_VARIABLES,
	ASSIGN_LIMITS,
	ASSIGN_LANDLOCK,
	ASSIGN_PLACES,
	ASSIGN_FILTER,
	ASSIGN_LISTEN,
	ASSIGN_ADDRESSES,
	ASSIGN_PORTS,
	ASSIGN_SCRIPT, /* these four only for an interpreter that waits */
	ASSIGN_WAITING_ARGUMENTS,
	ASSIGN_WAITING_VARIABLES,
	ASSIGN_WAIT,
	ASSIGN_FILES,
	ASSIGN_VALUE,
	ASSIGN_CHANNEL,
	ASSIGN_RETURN,
	ASSIGN_START,
	ASSIGN_INPUT, /* the program runs, or will soon */
};

/* The part that is sent now; the first two together: a cell in which no interpreter waits. */
enum assign_part {
	ASSIGN_AHEAD = 1, /* that does not depend on the request */
	ASSIGN_RUN = 2,   /* the request */
	ASSIGN_HOLD = 4,  /* for an interpreter that waits between the two */
};

struct agent_link {
	int fd; /* owned: a non-blocking stream socket; -1: closed */
	unsigned first_event;
	/*
	 * The agent is ready, or its interpreter waits: the provider's last work before the
	 * program. 1: the assignment is sent; 0: not before agent_link_begin(); -errno.
	 */
	int (*on_ready)(struct run *run);
	struct agent_options options;
	struct report_reader reports;

	/* receiving */
	unsigned char *in; /* owned: one frame */
	size_t in_have;
	size_t piece_at;           /* bytes of its data that the run's pipe has taken */
	bool blocked;              /* that pipe is full */
	bool ended;                /* nothing more is received */
	struct plain_socket plain; /* once no descriptor is wanted */
	int passed;                /* owned: a descriptor that came with the frame; -1: none */
	bool listened;             /* the listener was taken: no more descriptors are */
	int output[2];             /* owned: the writing ends of the run's pipes */

	/* sending */
	unsigned char *out; /* owned: one frame */
	size_t out_at, out_size;
	enum assign_phase phase;
	unsigned parts;  /* of enum assign_part */
	bool holds;      /* an interpreter waits, or was told to */
	bool assigned;   /* the agent may start the program */
	size_t index;    /* within the phase */
	uint64_t offset; /* within the item */
	bool begun;      /* the file of this index exists */
	int signal;      /* to send; 0: none */
	unsigned marks;  /* to send */
	int input;       /* owned: the reading end of the run's pipe; -1: closed */
	/* owned: the inner end of a session's channel, whose other end is the session's; or -1 */
	int channel;
	int network;           /* owned: the line of the cell's gate; -1: none, or it is gone */
	bool network_next;     /* its turn, of the streams to the agent */
	enum value_file value; /* the memory file that the program gets */
	bool more;             /* the last turn ended before the work did */
	uint32_t listening;    /* the events of `fd` in the set; 0: it is not in there */

	/* files that the agent returns: link_files.c */
	struct own_tmpfs place;
	struct returned files;
	int timer;  /* owned: the agent may have had its time; -1 */
	bool asked; /* the program was told to end */
	struct return_time time;

	int error; /* sending the assignment failed: errno; 0: it did not */
	enum frame_step error_step;
};

/* One that is not open, and can be closed. */
#define AGENT_LINK_CLOSED                                                                          \
	{                                                                                          \
		.fd = -1, .input = -1, .channel = -1, .network = -1, .output = { -1, -1 },         \
		.place = OWN_TMPFS_NONE, .files = { .root = -1, .file = -1 }, .timer = -1,         \
		.passed = -1                                                                       \
	}

/*
 * Takes the socket and the run's inner ends of the streams, and adds all to the run's set.
 * `options` may be NULL.
 */
int agent_link_open(struct agent_link *link, struct run *run, int fd, unsigned first_event,
		    int (*on_ready)(struct run *run), const struct agent_options *options);
void agent_link_close(struct agent_link *link);
/*
 * Before the assignment: the agent forwards the cell's connections on this line of its gate
 * (net/gate_messages.h). Takes it. 0 or -errno.
 */
int agent_link_network(struct agent_link *link, struct run *run, int line);
/* Adds its descriptors to the run's new set. */
int agent_link_listen(struct agent_link *link, struct run *run);
/* One of its descriptors is ready. 0, or -errno: the run must not go on. */
int agent_link_handle(struct agent_link *link, struct run *run, unsigned event);
/* Has an agent that is ready start the interpreter that the spec says, before its request. */
int agent_link_hold(struct agent_link *link, struct run *run);
/* It waits, and has no request. */
bool agent_link_is_waiting(const struct agent_link *link);
/* Is the assignment being sent, or was it? */
bool agent_link_has_begun(const struct agent_link *link);
/* Sends the assignment to an agent that is ready. */
int agent_link_begin(struct agent_link *link, struct run *run);
/* Sends a signal to the program, now or as soon as it has begun. */
int agent_link_signal(struct agent_link *link, struct run *run, int signal);
/* The next run of a session begins: output from before is dropped. */
int agent_link_mark(struct agent_link *link, struct run *run);
/*
 * For a provider's kill(), where files are returned. True: the program was told to end, or has
 * ended, and its files come; the cell must not be killed yet. It is called again when the agent
 * has had its time, and then returns false.
 */
bool agent_link_finishing(struct agent_link *link, struct run *run);
/* The cell has ended: takes what is left in the stream. */
void agent_link_drain(struct agent_link *link, struct run *run);
/* The program was never started: fills in the reason. 0: none is known. */
int agent_link_error(const struct agent_link *link, struct brig_error *err);

/* --- within agent_link ------------------------------------------------------------------------ */

/* Takes some of what the agent has sent: link_receive.c. */
int link_receive(struct agent_link *link, struct run *run);
/* The program's descriptor 3 is known: the assignment is sent. */
int link_begin(struct agent_link *link, const struct run *run);
/* The value of the program has come: link_value.c. */
int value_take(const struct agent_link *link, struct run *run, size_t size);

/* The returned files: link_files.c. */
int files_begin(struct agent_link *link, struct run *run);
void files_done(struct agent_link *link);
/* Is there no place for them yet? */
bool files_missing(const struct agent_link *link);
int files_have_place(struct agent_link *link, struct run *run);
/* The program has ended: they come next... */
int files_come(struct agent_link *link, struct run *run);
/* ...or not: the agent has had its time. */
int files_late(struct agent_link *link, struct run *run);
void files_complete(struct agent_link *link, struct run *run);
/* The result says so if they are missing. */
void files_note(struct agent_link *link, struct run *run);

/* The network: link_network.c. Passes a record on. 1: the gate has it; 0: later; -errno. */
int network_pass(struct agent_link *link, size_t size);
/* Waits until the gate takes records again; after that time it gets none any more. */
void network_await(struct agent_link *link, uint64_t deadline_ns);
/* Receives a record of at most `room` bytes; 0: none is there now. */
size_t network_read(struct agent_link *link, unsigned char *at, size_t room);

/* Puts the next frame into link->out. 1: there is one; 0: not now; -errno. See assign.c. */
int assign_next(struct agent_link *link, const struct spec *spec);
/* The listener of the filter: listener.c. Bytes, and perhaps a descriptor with them; -errno. */
ssize_t listener_receive(struct agent_link *link, const struct spec *spec, size_t size);
/* The frame LISTENER is complete. 0 or -errno. */
int listener_take(struct agent_link *link, struct run *run);
/* It must come before the program begins. */
bool listener_is_due(const struct agent_link *link, const struct spec *spec);
#endif
