/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses of the gate, on the loopback of the agent's own network: the names of hosts have
 * made-up ones. One message to the kernel each, by the same rules as in a native cell.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/cleanup.h"

#define LOOPBACK 1 /* the first interface of every network */

struct message {
	struct nlmsghdr head;
	unsigned char rest[128];
	size_t size;
};

static void add(struct message *message, const void *data, size_t size)
{
	memcpy(message->rest + message->size, data, size);
	message->size += NLMSG_ALIGN(size);
}

static void add_attribute(struct message *message, unsigned short type, const void *data,
			  size_t size)
{
	const struct rtattr head = { .rta_len = (unsigned short)RTA_LENGTH(size),
				     .rta_type = type };

	memcpy(message->rest + message->size, &head, sizeof(head));
	memcpy(message->rest + message->size + RTA_LENGTH(0), data, size);
	message->size += RTA_SPACE(size);
}

/* A kernel that makes the whole range of an address of its loopback local. */
static void make_address(const struct frame_address *range, struct message *message)
{
	const struct ifaddrmsg body = { .ifa_family = range->family == 4 ? AF_INET : AF_INET6,
					.ifa_prefixlen = range->bits,
					.ifa_index = LOOPBACK };
	size_t width = range->family == 4 ? 4 : 16;

	message->head.nlmsg_type = RTM_NEWADDR;
	add(message, &body, sizeof(body));
	add_attribute(message, IFA_LOCAL, range->bytes, width);
	add_attribute(message, IFA_ADDRESS, range->bytes, width);
}

static void make_route(const struct frame_address *range, struct message *message)
{
	const struct rtmsg body = { .rtm_family = range->family == 4 ? AF_INET : AF_INET6,
				    .rtm_dst_len = range->bits,
				    .rtm_table = RT_TABLE_LOCAL,
				    .rtm_protocol = RTPROT_STATIC,
				    .rtm_scope = RT_SCOPE_HOST,
				    .rtm_type = RTN_LOCAL };
	const int by = LOOPBACK;

	message->head.nlmsg_type = RTM_NEWROUTE;
	add(message, &body, sizeof(body));
	add_attribute(message, RTA_DST, range->bytes, range->family == 4 ? 4 : 16);
	add_attribute(message, RTA_OIF, &by, sizeof(by));
}

static int ask(struct message *message)
{
	_Alignas(struct nlmsghdr) char answer[512] = { 0 };
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	struct nlmsghdr *head = (struct nlmsghdr *)answer;

	message->head.nlmsg_len = (uint32_t)(sizeof(message->head) + message->size);
	message->head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE;
	if (fd < 0 || send(fd, &message->head, message->head.nlmsg_len, 0) < 0) {
		return -errno;
	}
	ssize_t n = recv(fd, answer, sizeof(answer), 0);
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr)) || head->nlmsg_type != NLMSG_ERROR) {
		return n < 0 ? -errno : -EIO;
	}
	return ((const struct nlmsgerr *)NLMSG_DATA(head))->error;
}

static int bring_up(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0 ? -errno : 0;
}

int network_address(struct agent *agent, const unsigned char *data, size_t size)
{
	struct frame_address range;
	struct message message = { 0 };
	int r = frame_get_address(data, &range);

	(void)agent;
	(void)size;
	if (r == 0 && !range.assigned) {
		r = bring_up();
	}
	if (r < 0) {
		return r;
	}
	(range.assigned ? make_address : make_route)(&range, &message);
	r = ask(&message);
	/* Two rules may name the same range; and a kernel without IPv6 reaches none of it. */
	bool without = range.family == 6 && (r == -EAFNOSUPPORT || r == -EOPNOTSUPP);
	return r == -EEXIST || without ? 0 : r;
}
