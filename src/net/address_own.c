/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects addresses of this host. Such an address is local, however public it looks: a service
 * there may rely on a firewall against access from elsewhere. The kernel's routing table knows
 * every address of the host; the source address of a connection would show only the first one of
 * each network. The table is asked each time, because addresses change.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "net/address.h"

#define ANSWERS_MAX 4 /* a late answer to an earlier request is skipped */

struct route_question {
	struct nlmsghdr head;
	struct rtmsg route;
	struct rtattr destination;
	uint8_t bytes[16];
};

int net_routes_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	return fd < 0 ? -errno : fd;
}

static int ask(int routes, const struct net_address *address, uint32_t number)
{
	size_t size = address->family == 4 ? 4 : 16;
	struct route_question question = {
		.head = { .nlmsg_type = RTM_GETROUTE,
			  .nlmsg_flags = NLM_F_REQUEST,
			  .nlmsg_seq = number },
		.route = { .rtm_family = address->family == 4 ? AF_INET : AF_INET6,
			   .rtm_dst_len = (unsigned char)(size * 8) },
		.destination = { .rta_type = RTA_DST, .rta_len = (unsigned short)RTA_LENGTH(size) },
	};

	memcpy(question.bytes, address->bytes, size);
	question.head.nlmsg_len = (uint32_t)(offsetof(struct route_question, bytes) + size);
	ssize_t n = send(routes, &question, question.head.nlmsg_len, MSG_DONTWAIT | MSG_NOSIGNAL);
	return n < 0 ? -errno : 0;
}

/* The type of the route (RTN_...), or -errno; -EAGAIN: this answers another request. */
static int read_answer(const void *data, size_t size, uint32_t number)
{
	struct nlmsghdr head;
	struct nlmsgerr failure;
	struct rtmsg route;

	if (size < sizeof(head)) {
		return -EBADMSG;
	}
	memcpy(&head, data, sizeof(head));
	if (head.nlmsg_seq != number) {
		return -EAGAIN;
	}
	const char *body = (const char *)data + NLMSG_HDRLEN;
	if (head.nlmsg_type == NLMSG_ERROR && size >= NLMSG_HDRLEN + sizeof(failure)) {
		memcpy(&failure, body, sizeof(failure));
		return failure.error < 0 ? failure.error : -EBADMSG;
	}
	if (head.nlmsg_type != RTM_NEWROUTE || size < NLMSG_HDRLEN + sizeof(route)) {
		return -EBADMSG;
	}
	memcpy(&route, body, sizeof(route));
	return route.rtm_type;
}

/* The kernel answers during the send call: there is no need to wait. */
static int route_type(int routes, const struct net_address *address)
{
	uint32_t number = (uint32_t)clock_now_ns(); /* differs from that of the request before */
	char data[1024];
	int r = ask(routes, address, number);

	if (r < 0) {
		return r;
	}
	for (int i = 0; i < ANSWERS_MAX; i++) {
		ssize_t n = recv(routes, data, sizeof(data), MSG_DONTWAIT);
		if (n < 0) {
			return -errno;
		}
		r = read_answer(data, (size_t)n, number);
		if (r != -EAGAIN) {
			return r;
		}
	}
	return -EBADMSG;
}

bool net_address_is_own(int routes, const struct net_address *address)
{
	switch (route_type(routes, address)) {
	case RTN_UNICAST:
	/* No route: the connection will fail, and the kernel reports why. */
	case -ENETUNREACH:
	case -EHOSTUNREACH:
	case -ENETDOWN:
	case -EACCES: /* "prohibit" */
	case -EINVAL: /* "blackhole" */
		return false;
	default:
		/* Local, broadcast, anycast; or unknown, which does not count as public. */
		return true;
	}
}
