/* SPDX-License-Identifier: Apache-2.0 */
/* The channel between the warden and a cell's init: see wire.h. */
#include "native/messages/wire.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#include "base/files/fdpass.h"

int wire_send(int socket, const struct wire_record *record, const int *fds, unsigned fds_count)
{
	struct iovec part = { (void *)(uintptr_t)record, sizeof(*record) };

	if (fds_count > WIRE_FDS_MAX) {
		return -EINVAL;
	}
	ssize_t n = fdpass_send(socket, &part, 1, fds, fds_count, 0);
	return n < 0 ? (int)n : n == (ssize_t)sizeof(*record) ? 0 : -EIO;
}

static void close_all(const int *fds, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		close(fds[i]);
	}
}

int wire_receive(int socket, struct wire_record *record, int fds[WIRE_FDS_MAX], unsigned *fds_count)
{
	/* Room for one more than allowed, to distinguish too many fds from a full table. */
	union {
		char bytes[CMSG_SPACE(sizeof(int) * (WIRE_FDS_MAX + 1))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { record, sizeof(*record) };
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t n;

	*fds_count = 0;
	do {
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n < 0) {
		/* The peer died with data of ours unread: treated as end of file. */
		return errno == ECONNRESET ? 0 : -errno;
	}
	unsigned came = (unsigned)fdpass_take(&message, fds, WIRE_FDS_MAX);
	if (n == 0 && came == 0) {
		return 0;
	}
	bool whole = n == (ssize_t)sizeof(*record) && !(message.msg_flags & MSG_TRUNC);
	bool lost = (message.msg_flags & MSG_CTRUNC) != 0;
	if (!whole || came > WIRE_FDS_MAX || lost) {
		close_all(fds, came < WIRE_FDS_MAX ? came : WIRE_FDS_MAX);
		/* A valid record whose fds were dropped: our own table is full. */
		return whole && lost && came <= WIRE_FDS_MAX ? -EMFILE : -EPROTO;
	}
	*fds_count = came;
	return 1;
}

/* The records allowed in each state, their number of fds, and the next state. */
static const struct wire_rule {
	enum wire_state from;
	enum wire_kind kind;
	unsigned fds;
	enum wire_state to;
} wire_rules[] = {
	{ WIRE_SETTING_UP, WIRE_HANDLES, 3, WIRE_HAVE_HANDLES },
	{ WIRE_SETTING_UP, WIRE_HANDLES, 4, WIRE_HAVE_HANDLES },
	{ WIRE_SETTING_UP, WIRE_FAILED, 0, WIRE_ENDED },
	{ WIRE_SETTING_UP, WIRE_STARTED, 0, WIRE_RUNNING },
	{ WIRE_HAVE_HANDLES, WIRE_FAILED, 0, WIRE_ENDED },
	{ WIRE_HAVE_HANDLES, WIRE_LISTENER, 1, WIRE_HAVE_LISTENER },
	{ WIRE_HAVE_HANDLES, WIRE_STARTED, 0, WIRE_RUNNING },
	{ WIRE_HAVE_HANDLES, WIRE_HELD, 0, WIRE_WAITING },
	{ WIRE_HAVE_LISTENER, WIRE_FAILED, 0, WIRE_ENDED },
	{ WIRE_HAVE_LISTENER, WIRE_HELD, 0, WIRE_WAITING },
	{ WIRE_WAITING, WIRE_FAILED, 0, WIRE_ENDED },
	{ WIRE_WAITING, WIRE_STARTED, 0, WIRE_RUNNING },
	{ WIRE_HAVE_LISTENER, WIRE_STARTED, 0, WIRE_RUNNING },
	{ WIRE_RUNNING, WIRE_PROGRAM, 1, WIRE_RUNNING },
	{ WIRE_RUNNING, WIRE_EXITED, 0, WIRE_ENDED },
};

int wire_check(enum wire_state *state, const struct wire_record *record, unsigned fds_count)
{
	for (unsigned i = 0; i < sizeof(wire_rules) / sizeof(wire_rules[0]); i++) {
		const struct wire_rule *rule = &wire_rules[i];
		if (rule->from == *state && (uint32_t)rule->kind == record->kind &&
		    rule->fds == fds_count) {
			*state = rule->to;
			return 0;
		}
	}
	return -EPROTO;
}
