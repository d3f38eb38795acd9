/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between a `brig run` and the user's warm service, over a SOCK_SEQPACKET socket. The
 * client sends one request, then signals; the service sends replies. Both are the same program file
 * (the service compares), so the layout needs no version.
 */
#ifndef BRIG_THIN_WARM_MESSAGE_H
#define BRIG_THIN_WARM_MESSAGE_H

#include <stdint.h>

/* Below $XDG_RUNTIME_DIR, else below /run/user/UID. */
#define WARM_DIRECTORY "brig"
#define WARM_SOCKET    "warm.sock"
/* The user's switch: "off" makes every run cold, "wait" gives a busy host time to answer. */
#define WARM_VARIABLE "BRIG_WARM"

/*
 * Both sides hold a secret: in the name of an empty file that is open, in the service with this
 * number, in the client with one that it tells. The kernel shows that name only to those who may
 * trace its holder: so a process behind Landlock or another security module, with fewer
 * capabilities or in another user namespace cannot tell it. The client sends the service's secret
 * with each request; the service sends the client's before it gets anything.
 */
#define WARM_PROOF_FD   10
#define WARM_PROOF_NAME "brig-warm-"
#define WARM_PROOF_LINK "/memfd:" WARM_PROOF_NAME
#define WARM_PROOF_SIZE 32 /* hexadecimal digits */

enum warm_op { WARM_GREET = 1, WARM_RUN, WARM_STATUS, WARM_STOP, WARM_SIGNAL };

#define WARM_MAGIC 0x6d726177u
/* A longer request is not sent: its run is cold. */
#define WARM_REQUEST_MAX (128u << 10)

/*
 * Followed by the words of the command line and then the environment, each with its NUL. With
 * WARM_RUN come WARM_FDS descriptors: the working directory, stdin, stdout, stderr.
 */
struct warm_request {
	uint32_t magic;
	uint32_t op;
	/*
	 * Of WARM_GREET: the number of the client's file. Of WARM_SIGNAL: the signal. To a worker:
	 * the umask of the client.
	 */
	uint32_t value;
	uint32_t argc, envc;
	uint32_t personality;
	uint64_t ignored; /* to a worker: the signals that the client ignores */
	char proof[WARM_PROOF_SIZE];
};
#define WARM_FDS 4

enum warm_answer {
	/*
	 * The answer to WARM_GREET; `text` is the client's secret. Nothing else is sent to a
	 * service that does not say it: it may be a trap from within a sandbox; and descriptors in
	 * the queue of one that hangs would keep the client's streams open.
	 */
	WARM_HELLO = 1,
	/* Run it yourself: nothing was done. `text` is the reason. */
	WARM_COLD,
	/* The run is the service's from here on. */
	WARM_TAKEN,
	/* It ended, with this exit status. */
	WARM_ENDED,
	/* Its process was ended by this signal. */
	WARM_KILLED,
	/* A line of `brig warm status`. */
	WARM_TEXT,
};

struct warm_reply {
	uint32_t answer;
	int32_t value;
	char text[184];
};
#endif
