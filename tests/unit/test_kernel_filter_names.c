/* SPDX-License-Identifier: Apache-2.0 */
/* Names, constants, descriptions and layers: our tables against those of other projects. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
/* after the four that it needs */
#include <cmocka.h>

#include "base/cleanup.h"
#include "kernel/filter/filter.h"
#include "kernel/filter/syscall_constant.h"
#include "kernel/layers.h"

/* libseccomp has its own table, made independently. */
static void test_names_agree_with_libseccomp(void **state)
{
	unsigned known = 0;

	(void)state;
	for (unsigned i = 0; i < FILTER_CALLS_MAX; i++) {
		const char *ours = syscall_name(i);
		char *theirs = seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, (int)i);

		if (theirs) {
			assert_non_null(ours);
			assert_string_equal(ours, theirs);
			known++;
		}
		if (ours) {
			int number = seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, ours);

			assert_true(number == (int)i || number == __NR_SCMP_ERROR);
			assert_int_equal(syscall_number(ours), i);
		}
		free(theirs);
	}
	print_message("%u names agree with libseccomp\n", known);
	assert_true(known > 350);
}

static void test_unknown_names(void **state)
{
	static const char *const names[] = { "", "rea", "readd", "READ", " read", "_", "zzz", "0" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(syscall_number(names[i]), -1);
	}
	assert_null(syscall_name(1000000));
	assert_null(syscall_name(400)); /* a hole of the table */
	assert_string_equal(syscall_name(0), "read");
	assert_int_equal(syscall_number("fchmodat2"), 452);
}

static void test_constants_are_sorted(void **state)
{
	(void)state;
	for (unsigned i = 1; i < constant_table_count; i++) {
		assert_true(strcmp(constant_table[i - 1].name, constant_table[i].name) < 0);
	}
	for (unsigned i = 0; i < constant_table_count; i++) {
		uint64_t value;

		assert_int_equal(syscall_constant(constant_table[i].name, &value), 0);
		assert_int_equal(value, constant_table[i].value);
	}
}

#define SAME(name)                                                                                 \
	{                                                                                          \
#name, (uint32_t)(name)                                                            \
	}

static void test_constants_agree_with_headers(void **state)
{
	static const struct {
		const char *name;
		uint32_t value;
	} headers[] = {
		SAME(AF_UNIX),
		SAME(AF_INET),
		SAME(AF_INET6),
		SAME(AF_NETLINK),
		SAME(AF_PACKET),
		SAME(AF_ALG),
		SAME(AF_VSOCK),
		SAME(AF_XDP),
		SAME(AF_KEY),
		SAME(SOCK_STREAM),
		SAME(SOCK_DGRAM),
		SAME(SOCK_RAW),
		SAME(SOCK_SEQPACKET),
		SAME(SOCK_PACKET),
		SAME(IPPROTO_TCP),
		SAME(IPPROTO_UDP),
		SAME(IPPROTO_IPV6),
		SAME(IPPROTO_MPTCP),
		SAME(SOL_SOCKET),
		SAME(SOL_NETLINK),
		SAME(SOL_TLS),
		SAME(SO_REUSEADDR),
		SAME(SO_REUSEPORT),
		SAME(SO_LINGER),
		SAME(SO_PASSCRED),
		SAME(SO_ATTACH_FILTER),
		SAME(SO_ATTACH_BPF),
		SAME(SO_RCVLOWAT),
		SAME(SO_PRIORITY),
		SAME(TCP_NODELAY),
		SAME(TCP_ULP),
		SAME(TCP_QUICKACK),
		SAME(TCP_USER_TIMEOUT),
		SAME(TCP_FASTOPEN),
		SAME(TCP_KEEPCNT),
		SAME(TCP_ZEROCOPY_RECEIVE),
		SAME(IP_TOS),
		SAME(IP_TTL),
		SAME(IP_RECVERR),
		SAME(IP_MTU_DISCOVER),
		SAME(IP_ADD_MEMBERSHIP),
		SAME(IP_FREEBIND),
		SAME(IP_MULTICAST_IF),
		SAME(MCAST_JOIN_GROUP),
		SAME(IPV6_V6ONLY),
		SAME(IPV6_UNICAST_HOPS),
		SAME(IPV6_MULTICAST_IF),
		SAME(IPV6_TCLASS),
		SAME(IPV6_RECVPKTINFO),
		SAME(IPV6_DONTFRAG),
		SAME(CLONE_NEWNS),
		SAME(CLONE_NEWUSER),
		SAME(CLONE_NEWPID),
		SAME(CLONE_NEWNET),
		SAME(CLONE_NEWUTS),
		SAME(CLONE_NEWIPC),
		SAME(CLONE_NEWCGROUP),
		SAME(CLONE_NEWTIME),
		SAME(CLONE_THREAD),
		SAME(CLONE_PIDFD),
		SAME(O_CREAT),
		SAME(S_IFMT),
		SAME(S_IFREG),
		SAME(S_IFIFO),
		SAME(S_IFSOCK),
		SAME(S_IFCHR),
		SAME(S_IFBLK),
		SAME(S_ISUID),
		SAME(S_ISGID),
		SAME(F_SETLEASE),
		SAME(F_NOTIFY),
		SAME(TIOCSTI),
		SAME(TIOCLINUX),
		SAME(TIOCSETD),
		SAME(TIOCCONS),
		SAME(FIOASYNC),
		SAME(FIOCLEX),
		SAME(FIONBIO),
		SAME(FIONCLEX),
		SAME(FIONREAD),
		SAME(TCGETS),
		SAME(TIOCGPGRP),
		SAME(TIOCGWINSZ),
		SAME(TIOCOUTQ),
		SAME(SIOCATMARK),
		SAME(SIOCGIFNAME),
		SAME(SIOCGIFCONF),
		SAME(SIOCGIFFLAGS),
		SAME(SIOCGIFADDR),
		SAME(SIOCGIFDSTADDR),
		SAME(SIOCGIFBRDADDR),
		SAME(SIOCGIFNETMASK),
		SAME(SIOCGIFMTU),
		SAME(SIOCGIFHWADDR),
		SAME(SIOCGIFINDEX),
		SAME(F_SETPIPE_SZ),
		SAME(POSIX_FADV_DONTNEED),
		SAME(MADV_MERGEABLE),
		SAME(MADV_HWPOISON),
		SAME(MAP_HUGETLB),
		SAME(MFD_HUGETLB),
		SAME(SHM_HUGETLB),
		SAME(SCHED_FIFO),
		SAME(SCHED_RR),
		SAME(SCHED_BATCH),
		SAME(SCHED_IDLE),
		SAME(PR_SET_NAME),
		SAME(PR_SET_MM),
		SAME(PR_SET_NO_NEW_PRIVS),
		SAME(PR_SET_SECCOMP),
		SAME(PR_SET_PDEATHSIG),
		SAME(PR_SET_DUMPABLE),
		SAME(PR_CAP_AMBIENT),
		SAME(PR_SET_VMA),
		SAME(PR_SCHED_CORE),
		SAME(PR_SET_SECUREBITS),
		SAME(PR_CAPBSET_DROP),
		SAME(PR_SET_THP_DISABLE),
		SAME(PR_SET_SYSCALL_USER_DISPATCH),
		SAME(MS_BIND),
		SAME(MS_MOVE),
		SAME(MS_REMOUNT),
		SAME(MNT_DETACH),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
		uint64_t value = 0;

		if (syscall_constant(headers[i].name, &value) < 0 || value != headers[i].value) {
			fail_msg("%s: %#x here, %#x in the headers", headers[i].name,
				 (unsigned)value, headers[i].value);
		}
	}

	uint64_t any = 0;

	assert_int_equal(syscall_constant("CLONE_NEW_ANY", &any), 0);
	assert_int_equal(any, CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
				      CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET);
	assert_int_equal(syscall_constant("O_TMPFILE_BIT", &any), 0);
	assert_int_equal(any, O_TMPFILE & ~O_DIRECTORY);
	assert_int_equal(syscall_constant("AF_NOSUCH", &any), -1);
	assert_int_equal(syscall_constant("", &any), -1);
}

static void test_descriptions(void **state)
{
	static const struct {
		const char *call;
		uint64_t args[6];
		const char *text;
	} cases[] = {
		{ "socket", { 38, 5, 0 }, "socket(AF_ALG, SOCK_SEQPACKET, 0)" },
		{ "socket", { 2, 3 | SOCK_CLOEXEC, 1 }, "socket(AF_INET, SOCK_RAW, IPPROTO_ICMP)" },
		{ "socket", { 16, 3, 12 }, "socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER)" },
		{ "socket", { 99, 1, 0 }, "socket(99, SOCK_STREAM, 0)" },
		{ "clone", { 0x10000011, 0 }, "clone(CLONE_NEWUSER|0x11, ...)" },
		{ "unshare", { 0x10020000 }, "unshare(CLONE_NEWNS|CLONE_NEWUSER)" },
		{ "unshare", { 0 }, "unshare(0)" },
		{ "setsockopt",
		  { 3, 6, 31, 0x1234, 4 },
		  "setsockopt(3, IPPROTO_TCP, TCP_ULP, ..., 4)" },
		{ "setsockopt",
		  { 3, 0, 35, 0, 8 },
		  "setsockopt(3, IPPROTO_IP, IP_ADD_MEMBERSHIP, ..., 8)" },
		{ "mknod", { 0, 060600, 0x700 }, "mknod(..., S_IFBLK|0600, 0x700)" },
		{ "chmod", { 0, 04755 }, "chmod(..., 04755)" },
		{ "ioctl", { 0, 0xffffffff00005412, 0 }, "ioctl(0, TIOCSTI, 0)" },
		{ "mount",
		  { 1, 2, 3, 0x1000 | 0x20, 0 },
		  "mount(..., ..., ..., MS_BIND|MS_REMOUNT, ...)" },
		{ "ptrace", { 16, 1, 0, 0 }, "ptrace(PTRACE_ATTACH, 1, ..., ...)" },
		{ "prlimit64", { 1, 7, 0, 0 }, "prlimit64(1, RLIMIT_NOFILE, ..., ...)" },
		{ "reboot", { 1 }, "reboot(...)" },
		{ "setuid", { 0 }, "setuid(0)" },
		{ "personality", { 0x40000 }, "personality(ADDR_NO_RANDOMIZE)" },
	};
	char text[160];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		syscall_describe((unsigned)syscall_number(cases[i].call), cases[i].args, text,
				 sizeof(text));
		assert_string_equal(text, cases[i].text);
	}
	syscall_describe(5000, cases[0].args, text, sizeof(text));
	assert_string_equal(text, "system call 5000");
}

/* Any size, any arguments: always terminated, never beyond the end. */
static void test_description_sizes(void **state)
{
	uint64_t all[6] = { ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull };

	(void)state;
	for (unsigned call = 0; call < 480; call++) {
		for (size_t size = 0; size < 40; size++) {
			char text[48];

			memset(text, 'x', sizeof(text));
			syscall_describe(call, all, text, size);
			assert_int_equal(text[size], 'x');
			assert_true(size == 0 || memchr(text, '\0', size) != NULL);
		}
	}
}

static void test_layers(void **state)
{
	char text[512];

	(void)state;
	for (int i = 0; i < LAYER_COUNT; i++) {
		assert_non_null(layer_table[i].name);
		assert_non_null(layer_table[i].about);
		assert_non_null(layer_table[i].loss);
		assert_int_equal(layer_by_name(layer_table[i].name), i);
	}
	assert_int_equal(layer_by_name("nosuch"), -1);
	layer_list(LAYER_BIT(LAYER_USERNS) | LAYER_BIT(LAYER_CGROUP_CPU), text, sizeof(text));
	assert_string_equal(text, "userns cgroup-cpu");
	layer_list(0, text, sizeof(text));
	assert_string_equal(text, "");
	layer_list(LAYER_BIT(LAYER_USERNS) | LAYER_BIT(LAYER_PIDNS), text, 10);
	assert_string_equal(text, "userns");
	layer_list((1u << LAYER_COUNT) - 1, text, sizeof(text));
	assert_true(strlen(text) < 256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_agree_with_libseccomp),
		cmocka_unit_test(test_unknown_names),
		cmocka_unit_test(test_constants_are_sorted),
		cmocka_unit_test(test_constants_agree_with_headers),
		cmocka_unit_test(test_descriptions),
		cmocka_unit_test(test_description_sizes),
		cmocka_unit_test(test_layers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
