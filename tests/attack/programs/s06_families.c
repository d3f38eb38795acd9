/* SPDX-License-Identifier: Apache-2.0 */
/* S6: the available sockets: every family with every type, and numbers with high bits set. */
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "say.h"

int main(void)
{
	static const struct {
		const char *name;
		int family, type, protocol;
	} known[] = {
		{ "AF_ALG", 38, SOCK_SEQPACKET, 0 },
		{ "AF_VSOCK", 40, SOCK_STREAM, 0 },
		{ "AF_PACKET", 17, SOCK_RAW, 0x0300 },
		{ "AF_KEY", 15, SOCK_RAW, 2 },
		{ "AF_XDP", 44, SOCK_RAW, 0 },
		{ "AF_RDS", 21, SOCK_SEQPACKET, 0 },
		{ "AF_TIPC", 30, SOCK_SEQPACKET, 0 },
		{ "AF_CAN", 29, SOCK_RAW, 1 },
		{ "AF_BLUETOOTH", 31, SOCK_RAW, 1 },
		{ "raw", AF_INET, SOCK_RAW, IPPROTO_ICMP },
		{ "raw6", AF_INET6, SOCK_RAW, IPPROTO_ICMPV6 },
		{ "sctp", AF_INET, SOCK_STREAM, IPPROTO_SCTP },
		{ "ping", AF_INET, SOCK_DGRAM, IPPROTO_ICMP },
		{ "udplite", AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE },
		{ "netlink-netfilter", AF_NETLINK, SOCK_RAW, 12 },
		{ "netlink-uevent", AF_NETLINK, SOCK_RAW, 15 },
		{ "netlink-audit", AF_NETLINK, SOCK_RAW, 9 },
		{ "netlink-xfrm", AF_NETLINK, SOCK_RAW, 6 },
		{ "netlink-diag", AF_NETLINK, SOCK_RAW, 4 },
		{ "netlink-generic", AF_NETLINK, SOCK_RAW, 16 },
	};
	char list[4096] = "";
	size_t at = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		int fd = (int)try(known[i].name,
				  socket(known[i].family, known[i].type, known[i].protocol));
		close(fd);
	}
	try("high-alg", syscall(SYS_socket, 38 | (1UL << 32), SOCK_SEQPACKET, 0));
	try("high-raw", syscall(SYS_socket, AF_INET, SOCK_RAW | (1UL << 32), IPPROTO_ICMP));
	try("pair-inet", socketpair(AF_INET, SOCK_STREAM, 0, (int[2]){ 0 }));
	for (int family = 0; family < 64; family++) {
		for (int type = 0; type < 16; type++) {
			int fd = socket(family, type, 0);
			if (fd >= 0 && at < sizeof(list) - 16) {
				at += (size_t)snprintf(list + at, 16, "%s%d:%d", at ? " " : "",
						       family, type);
			}
			close(fd);
		}
	}
	say("all", "%s", list);
}
