/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages on the two sockets: the warden sends what the cell may do, the cell's init sends the
 * listening sockets.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "gate/gate.h"

#define TRUST_BYTES_MAX (2u << 20)

static bool is_text(const char *text, size_t room)
{
	const char *end = memchr(text, '\0', room);

	if (!end || end == text) {
		return false;
	}
	for (; text < end; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f) {
			return false;
		}
	}
	return true;
}

static int take_limits(struct gate *gate, const void *data)
{
	memcpy(&gate->limits, data, sizeof(gate->limits));
	gate->tokens = gate->limits.rate;
	return 0;
}

static int take_rule(struct gate *gate, const void *data)
{
	struct gate_rule order;

	memcpy(&order, data, sizeof(order));
	if (gate->rules_count == NET_RULES_MAX || !net_rule_is_sound(&order.rule)) {
		return -EPROTO;
	}
	gate->rules[gate->rules_count++] = order.rule;
	return 0;
}

static int take_credential(struct gate *gate, const void *data)
{
	struct gate_credential *list = gate->credentials;

	if (gate->credentials_count == GATE_CREDENTIALS_MAX) {
		return -EPROTO;
	}
	list = reallocarray(list, gate->credentials_count + 1, sizeof(*list));
	if (!list) {
		return -ENOMEM;
	}
	gate->credentials = list;
	struct gate_credential *order = &list[gate->credentials_count];
	memcpy(order, data, sizeof(*order));
	if (order->opened > (gate->opener ? 1u : 0u) ||
	    !is_text(order->name, sizeof(order->name)) ||
	    !is_text(order->header, sizeof(order->header)) ||
	    !is_text(order->value, sizeof(order->value))) {
		return -EPROTO;
	}
	gate->credentials_count++;
	return 0;
}

static struct trust *trust_of(struct gate *gate, const char *name)
{
	for (unsigned i = 0; i < gate->trusts_count; i++) {
		if (strcmp(gate->trusts[i].name, name) == 0) {
			return &gate->trusts[i];
		}
	}
	if (gate->trusts_count == ARRAY_SIZE(gate->trusts)) {
		return NULL;
	}
	struct trust *trust = &gate->trusts[gate->trusts_count++];
	memcpy(trust->name, name, strlen(name) + 1);
	return trust;
}

static int take_trust(struct gate *gate, const void *data)
{
	struct gate_trust order;

	memcpy(&order, data, sizeof(order));
	if (!gate->opener || order.size > sizeof(order.text) ||
	    (order.name[0] && !is_text(order.name, sizeof(order.name)))) {
		return -EPROTO;
	}
	struct trust *trust = trust_of(gate, order.name);
	if (!trust || trust->text.size + order.size > TRUST_BYTES_MAX) {
		return -EPROTO;
	}
	buf_add(&trust->text, order.text, order.size);
	return trust->text.failed ? -ENOMEM : 0;
}

static int take_begin(struct gate *gate, const void *data)
{
	(void)data;
	gate->begun = true;
	return 0;
}

static const struct {
	uint32_t kind;
	size_t size;
	bool limited; /* accepted only after the limits, which come once */
	int (*take)(struct gate *gate, const void *data);
} orders[] = {
	{ GATE_LIMITS, sizeof(struct gate_limits), false, take_limits },
	{ GATE_RULE, sizeof(struct gate_rule), true, take_rule },
	{ GATE_CREDENTIAL, sizeof(struct gate_credential), true, take_credential },
	{ GATE_TRUST, sizeof(struct gate_trust), true, take_trust },
	{ GATE_BEGIN, sizeof(struct gate_word), true, take_begin },
};

int gate_take_message(struct gate *gate, const void *data, size_t size)
{
	uint32_t kind;

	if (size < sizeof(kind)) {
		return -EPROTO;
	}
	memcpy(&kind, data, sizeof(kind));
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		if (orders[i].kind == kind) {
			bool limited = gate->limits.kind == GATE_LIMITS;
			return orders[i].size == size && orders[i].limited == limited &&
					       !gate->begun
				       ? orders[i].take(gate, data)
				       : -EPROTO;
		}
	}
	return -EPROTO;
}

/* After GATE_BEGIN nothing comes but the end. */
int gate_read_warden(struct gate *gate)
{
	union {
		struct gate_limits limits;
		struct gate_rule rule;
		struct gate_credential credential;
		struct gate_trust trust;
		struct gate_word word;
		char more[sizeof(struct gate_trust) + 1];
	} record;
	ssize_t n;

	do {
		n = recv(GATE_FD_WARDEN, &record, sizeof(record), 0);
	} while (n < 0 && errno == EINTR);
	if (n <= 0) {
		return n < 0 ? -errno : 0;
	}
	int r = gate_take_message(gate, &record, (size_t)n);
	explicit_bzero(&record, sizeof(record));
	return r < 0 ? r : 1;
}

int gate_read_cell(struct gate *gate)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * GATE_LISTENERS_MAX)];
		struct cmsghdr align;
	} control;
	struct gate_word word;
	struct iovec iov = { &word, sizeof(word) };
	struct msghdr message = { .msg_iov = &iov,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	int fds[GATE_LISTENERS_MAX];
	unsigned count = 0;
	ssize_t n = recvmsg(GATE_FD_CELL, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	if (n <= 0) {
		return n == 0 ? 0 : errno == EAGAIN || errno == EINTR ? 1 : -errno;
	}
	for (struct cmsghdr *head = CMSG_FIRSTHDR(&message); head;
	     head = CMSG_NXTHDR(&message, head)) {
		if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
			count = (unsigned)((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
			memcpy(fds, CMSG_DATA(head), count * sizeof(int));
		}
	}
	if (n == sizeof(word) && word.kind == GATE_STREAMS && count == 0 && gate->limits.streamed &&
	    !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		gate->forwarded.begun = true;
		return 1;
	}
	if (n != sizeof(word) || word.kind != GATE_LISTENERS || word.value != count ||
	    gate->limits.streamed || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) ||
	    gate->listeners_count) {
		for (unsigned i = 0; i < count; i++) {
			close(fds[i]);
		}
		return -EPROTO;
	}
	int r = gate_listen(gate, fds, count);
	return r < 0 ? r : 1;
}
