/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control line between the supervisor and a role: messages of one byte on a SOCK_SEQPACKET
 * pair, some with a descriptor. When the supervisor's end closes, the role ends; the service does
 * not use signals for its roles.
 */
#ifndef BRIG_ROLE_CONTROL_H
#define BRIG_ROLE_CONTROL_H

enum control_message {
	/* to a role */
	CONTROL_PING = 'a',   /* expects CONTROL_PONG */
	CONTROL_DRAIN = 'd',  /* to the front: accept no new requests, finish the current ones */
	CONTROL_TOKENS = 't', /* to front and warden, with a sealed memory file: the new tokens */
	CONTROL_CERTIFICATE = 'c', /* to the front, likewise: in the format of FD_FRONT_TLS */
	CONTROL_QUIT = 'q',
	/* to the supervisor */
	CONTROL_READY = 'R',
	CONTROL_PONG = 'A',
	CONTROL_DRAINED = 'D',
	CONTROL_RELEASED = 'L', /* the queue is no longer held */
	CONTROL_ACCEPTED = 'T', /* the update that was sent is in force */
	CONTROL_REFUSED = 'X',  /* the update is invalid: the old values stay */
};

/* Descriptors of a role, from 3 on. Those behind the control line depend on the role. */
enum role_fd {
	FD_CONFIG = 3, /* a sealed memory file, written by config_write() */
	FD_CONTROL,
	FD_FIRST,

	FD_FRONT_WARDEN = FD_FIRST,
	FD_FRONT_LEDGER,
	FD_FRONT_TOKENS,    /* a sealed memory file; empty: there are no tokens */
	FD_FRONT_TLS,       /* likewise: certificate, NUL, key; empty: TCP is not encrypted */
	FD_FRONT_LOCK,      /* never used: holds the lock while the front listens */
	FD_FRONT_LISTENERS, /* one for each listener of the configuration */

	FD_WARDEN_FRONT = FD_FIRST,
	FD_WARDEN_LOCK,
	FD_WARDEN_TOKENS, /* the same file as the front's */
	FD_WARDEN_BROKER, /* only as root: see `broker` in the configuration */

	FD_LEDGER_FRONT = FD_FIRST,
	FD_LEDGER_DIRECTORY,
	FD_LEDGER_LOCK,

	FD_BROKER_WARDEN = FD_FIRST,
	FD_BROKER_LOCK,
};

#define ROLE_ARGUMENT "--role" /* the second argument of a role's command line */
#define ROLE_PREFIX   "brig-"  /* the first one, followed by the role's name */
#endif
