/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The channel to a session's driver: a stream socket. A run's code, arguments and input are sent;
 * "ready" is received once, and one of the other answers for each run, the last two only if it is
 * guarded:
 *
 *	run SERIAL CODE_BYTES STDIN_BYTES ARGS VALUE\n code stdin { arg \0 }...
 *	ready\n
 *	done SERIAL STATUS VALUE_BYTES\n value
 *	stopped SERIAL STATUS RECORD_BYTES\n record of the guard
 *	refused SERIAL STATUS RECORD_BYTES\n record of the guard
 *
 * In a guarded session the checker (data/guard/checker.py) has this channel, and the driver has
 * pipes to the checker: only the checker, which has run no code of any tenant, can send "refused".
 *
 * The code of a run controls its driver: every answer is checked and bounded, and can harm only the
 * session itself. Anything but the one answer that is due is -EPROTO.
 */
#ifndef BRIG_LIB_SESSION_SESSION_CHANNEL_H
#define BRIG_LIB_SESSION_SESSION_CHANNEL_H

#include <brig/brig.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes/buf.h"
#include "base/files/fdpass_bytes.h"

enum channel_state {
	CHANNEL_OPENING,  /* "ready" is expected */
	CHANNEL_IDLE,     /* nothing is */
	CHANNEL_AWAITING, /* the answer for a run is */
	CHANNEL_STATES,
};

struct channel {
	enum channel_state state; /* changed by channel_enter() */
	int fd;                   /* owned: ours, non-blocking; -1: closed */
	struct plain_socket plain;
	struct buf out; /* not yet written: from `at` on */
	size_t at;
	struct buf in;   /* the answer, as far as it was received */
	uint64_t serial; /* of the latest run */
	bool guarded;    /* the driver checks code before it runs it */
	pid_t driver;    /* in our pid namespace, from the kernel; 0: not known */
};

struct channel_answer {
	bool done;             /* else: the driver is ready */
	bool stopped, refused; /* by the guard: `value` is its record */
	int status;
	const char *value; /* in the channel, until channel_forget() */
	size_t value_size;
};

/* `inside` is the driver's end, for the cell. 0 or -errno. */
int channel_make(struct channel *channel, int *inside);
/* The same with an existing end, which it takes over, also on failure. */
int channel_adopt(struct channel *channel, int fd);
void channel_done(struct channel *channel);
/* The only way to change its state. */
void channel_enter(struct channel *channel, enum channel_state state);
/* Queues one run, while none is under way; channel_pump() writes it. 0 or -ENOMEM. */
int channel_send_run(struct channel *channel, const struct brig_request *request);
/* Writes as much as possible. 0, or -errno: the driver's end is closed. */
int channel_pump(struct channel *channel);
static inline bool channel_wants_write(const struct channel *channel)
{
	return channel->at < channel->out.size;
}
/* 1: an answer; 0: not yet; -EPIPE: closed; -EPROTO: not the expected answer. */
int channel_receive(struct channel *channel, struct channel_answer *ret);
/* The answer has been used. */
void channel_forget(struct channel *channel);
#endif
