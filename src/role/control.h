/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line between the supervisor and a role: words of one byte on a SOCK_SEQPACKET pair, some of
 * them with a descriptor. When the supervisor's end closes, the role ends; nothing else of the
 * service reaches a role by signal.
 */
#ifndef BRIG_ROLE_CONTROL_H
#define BRIG_ROLE_CONTROL_H

enum control_message {
	/* to a role */
	CONTROL_PING = 'a',   /* are you there? */
	CONTROL_DRAIN = 'd',  /* the front: take nothing new, answer what is under way */
	CONTROL_TOKENS = 't', /* front, warden, with a sealed memory file: these hold from now on */
	CONTROL_CERTIFICATE = 'c', /* the front, the same: as FD_FRONT_TLS has it */
	CONTROL_QUIT = 'q',
	/* to the supervisor */
	CONTROL_READY = 'R',
	CONTROL_PONG = 'A',
	CONTROL_DRAINED = 'D',
	CONTROL_RELEASED = 'L', /* the queue is held no more */
	CONTROL_ACCEPTED = 'T', /* what came with the word holds */
	CONTROL_REFUSED = 'X',  /* it is wrong: the old stays */
};

/* Descriptors of a role, from 3 on. What is behind the control line depends on the role. */
enum role_fd {
	FD_CONFIG = 3, /* a sealed memory file, as config_write() makes it */
	FD_CONTROL,
	FD_FIRST,

	FD_FRONT_WARDEN = FD_FIRST,
	FD_FRONT_LEDGER,
	FD_FRONT_TOKENS,    /* a sealed memory file; empty: there are none */
	FD_FRONT_TLS,       /* the same: certificate, NUL, key; empty: TCP is in clear */
	FD_FRONT_LOCK,      /* never used: who waits for it knows that we listen no more */
	FD_FRONT_LISTENERS, /* as many as the configuration says */

	FD_WARDEN_FRONT = FD_FIRST,
	FD_WARDEN_LOCK,
	FD_WARDEN_TOKENS, /* the same as the front's */
	FD_WARDEN_BROKER, /* as root only: see config's `broker` */

	FD_LEDGER_FRONT = FD_FIRST,
	FD_LEDGER_DIRECTORY,
	FD_LEDGER_LOCK,

	FD_BROKER_WARDEN = FD_FIRST,
	FD_BROKER_LOCK,
};

#define ROLE_ARGUMENT "--role" /* the second word of a role's command line */
#define ROLE_PREFIX   "brig-"  /* the first, with the role's name behind it */
#endif
