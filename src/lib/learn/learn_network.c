/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hosts that a program wants to reach: addresses that it connects to, and names in its queries
 * to a name server. Without a gate they are not answered, but the queries show what it would need.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "lib/learn/learn.h"

#define QUESTION_MAX 512
#define HEAD_BYTES   12

static void remember(struct strlist *list, const char *text)
{
	if (list->count < LEARN_NAMES_MAX && !strlist_has(list, text)) {
		/* Without memory the record is shorter: this function cannot report it. */
		(void)!strlist_add(list, text);
	}
}

/* "example.org" of a query with one name; false: it is not such a query. */
static bool question_name(const unsigned char *data, size_t size, char *ret, size_t ret_size)
{
	size_t at = HEAD_BYTES, out = 0;

	/* A standard query with one question and no answers. */
	if (size < HEAD_BYTES + 5 || (data[2] & 0xf8) != 0 || data[4] != 0 || data[5] != 1 ||
	    data[6] || data[7] || data[8] || data[9]) {
		return false;
	}
	while (at < size && data[at] != 0) {
		size_t length = data[at++];
		if (length > 63 || at + length >= size || out + length + 2 > ret_size) {
			return false;
		}
		if (out) {
			ret[out++] = '.';
		}
		for (size_t i = 0; i < length; i++) {
			unsigned char c = data[at + i];
			if (c <= ' ' || c >= 0x7f) {
				return false;
			}
			ret[out++] = (char)c;
		}
		at += length;
	}
	ret[out] = '\0';
	return out > 0 && at + 5 <= size;
}

static void note_question(struct learn *learn, const struct watched_call *call, uint64_t address,
			  uint64_t size, char *about, size_t about_size)
{
	unsigned char data[QUESTION_MAX];
	char name[NET_NAME_MAX + 1];

	if (size > sizeof(data)) {
		return;
	}
	ssize_t n = watched_read(call, address, data, (size_t)size);
	if (n == (ssize_t)size && question_name(data, (size_t)n, name, sizeof(name))) {
		remember(&learn->names, name);
		snprintf(about, about_size, "the name %s", name);
	}
}

/* Only the first piece of a message: a query has no more. */
static void note_message(struct learn *learn, const struct watched_call *call, uint64_t address,
			 char *about, size_t size)
{
	struct msghdr head;
	struct iovec piece;

	if (watched_read(call, address, &head, sizeof(head)) != sizeof(head) ||
	    head.msg_iovlen == 0 ||
	    watched_read(call, (uint64_t)(uintptr_t)head.msg_iov, &piece, sizeof(piece)) !=
		    sizeof(piece)) {
		return;
	}
	note_question(learn, call, (uint64_t)(uintptr_t)piece.iov_base, piece.iov_len, about, size);
}

static void note_address(struct learn *learn, const struct watched_call *call, char *about,
			 size_t size)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
	} to = { 0 };
	char host[INET6_ADDRSTRLEN] = "", text[sizeof(to.un.sun_path) + 64];
	size_t length = call->args[2] < sizeof(to) ? (size_t)call->args[2] : sizeof(to);

	if (length < sizeof(sa_family_t) || watched_read(call, call->args[1], &to, length) < 2) {
		return;
	}
	switch (to.any.sa_family) {
	case AF_INET:
		inet_ntop(AF_INET, &to.in.sin_addr, host, sizeof(host));
		snprintf(text, sizeof(text), "%s:%u", host, ntohs(to.in.sin_port));
		break;
	case AF_INET6:
		inet_ntop(AF_INET6, &to.in6.sin6_addr, host, sizeof(host));
		snprintf(text, sizeof(text), "[%s]:%u", host, ntohs(to.in6.sin6_port));
		break;
	case AF_UNIX:
		snprintf(text, sizeof(text), "unix:%.*s", (int)sizeof(to.un.sun_path) - 1,
			 to.un.sun_path[0] ? to.un.sun_path : to.un.sun_path + 1);
		break;
	default:
		return;
	}
	remember(&learn->addresses, text);
	snprintf(about, size, "%s", text);
}

void learn_network_note(struct learn *learn, const struct watched_call *call, char *about,
			size_t size)
{
	switch (call->number) {
	case SYS_connect:
		note_address(learn, call, about, size);
		break;
	case SYS_sendto:
		note_question(learn, call, call->args[1], call->args[2], about, size);
		break;
	case SYS_sendmsg:
	case SYS_sendmmsg: /* an array; its members begin with such a struct */
		note_message(learn, call, call->args[1], about, size);
		break;
	case SYS_socket:
	case SYS_socketpair:
	case SYS_ioctl:
	case SYS_prctl:
	case SYS_clone:
		syscall_describe(call->number, call->args, about, size);
		break;
	default:
		break;
	}
}
