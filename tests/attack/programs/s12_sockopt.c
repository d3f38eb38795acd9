/* SPDX-License-Identifier: Apache-2.0 */
/* S12: socket options that reach parts of the kernel which no ordinary program needs. */
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "say.h"

int main(void)
{
	struct ip_mreqn join = { .imr_multiaddr.s_addr = htonl(0xe0000001), .imr_ifindex = 1 };
	struct ipv6_mreq join6 = { .ipv6mr_interface = 1 };
	struct sock_filter code = { .code = BPF_RET | BPF_K, .k = 0xffff };
	struct sock_fprog filter = { .len = 1, .filter = &code };
	int tcp = socket(AF_INET, SOCK_STREAM, 0), udp = socket(AF_INET, SOCK_DGRAM, 0);
	int udp6 = socket(AF_INET6, SOCK_DGRAM, 0), one = 1;
	socklen_t size = sizeof(join);

	join6.ipv6mr_multiaddr.s6_addr[0] = 0xff;
	join6.ipv6mr_multiaddr.s6_addr[1] = 0x01;
	join6.ipv6mr_multiaddr.s6_addr[15] = 0x42;
	try("nodelay", setsockopt(tcp, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)));
	try("ulp", setsockopt(tcp, IPPROTO_TCP, TCP_ULP, "tls", 4));
	try("ulp-high", syscall(SYS_setsockopt, tcp, IPPROTO_TCP | (1UL << 32),
				TCP_ULP | (1UL << 32), "tls", 4));
	try("multicast", setsockopt(udp, IPPROTO_IP, IP_ADD_MEMBERSHIP, &join, sizeof(join)));
	try("multicast-ttl", setsockopt(udp, IPPROTO_IP, IP_MULTICAST_TTL, &one, sizeof(one)));
	try("multicast6",
	    setsockopt(udp6, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &join6, sizeof(join6)));
	try("mcast-group", setsockopt(udp, IPPROTO_IP, MCAST_JOIN_GROUP, &join, 1));
	try("iptables-set", setsockopt(udp, IPPROTO_IP, 64, &one, sizeof(one)));
	try("iptables-get", getsockopt(udp, IPPROTO_IP, 64, &join, &size));
	try("ip6tables-set", setsockopt(udp6, IPPROTO_IPV6, 64, &one, sizeof(one)));
	try("attach-filter",
	    setsockopt(udp, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)));
	try("attach-bpf", setsockopt(udp, SOL_SOCKET, SO_ATTACH_BPF, &one, sizeof(one)));
	try("tls", setsockopt(tcp, 282, 1, &one, sizeof(one)));
}
