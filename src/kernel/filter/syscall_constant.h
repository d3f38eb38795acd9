/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of symbolic constants: the meaning of a value depends on its argument. */
#ifndef BRIG_KERNEL_FILTER_SYSCALL_CONSTANT_H
#define BRIG_KERNEL_FILTER_SYSCALL_CONSTANT_H

#include <stdint.h>

enum constant_set {
	CONSTANT_FAMILY,
	CONSTANT_SOCKTYPE,
	CONSTANT_PROTOCOL,
	CONSTANT_LEVEL,
	CONSTANT_NETLINK,
	CONSTANT_OPT_NETLINK,
	CONSTANT_OPT_SOCKET,
	CONSTANT_OPT_TCP,
	CONSTANT_OPT_IP,
	CONSTANT_OPT_IPV6,
	CONSTANT_CLONE,
	CONSTANT_MASK,
	CONSTANT_OPEN,
	CONSTANT_FILETYPE,
	CONSTANT_MODE,
	CONSTANT_FCNTL,
	CONSTANT_IOCTL,
	CONSTANT_MADVISE,
	CONSTANT_FADVICE,
	CONSTANT_MAP,
	CONSTANT_MEMFD,
	CONSTANT_SHM,
	CONSTANT_SCHED,
	CONSTANT_SECCOMP,
	CONSTANT_SECCOMP_FLAG,
	CONSTANT_ARCH,
	CONSTANT_PRCTL,
	CONSTANT_AMBIENT,
	CONSTANT_MOUNT,
	CONSTANT_UMOUNT,
	CONSTANT_PTRACE,
	CONSTANT_KEYCTL,
	CONSTANT_BPF,
	CONSTANT_PERSONALITY,
	CONSTANT_PRIO,
	CONSTANT_RLIMIT,
	CONSTANT_RENAME,
	CONSTANT_SETS_COUNT,
};

struct constant {
	char name[36]; /* an array: a pointer would be relocated at every start */
	uint32_t value;
	enum constant_set set;
};
extern const struct constant constant_table[]; /* sorted by name */
extern const unsigned constant_table_count;

/* The name of a value of that set, or NULL. */
const char *constant_name(enum constant_set set, uint32_t value);
#endif
