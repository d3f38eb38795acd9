/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Raw system calls that return -errno. Between fork and exec brig calls nothing else: no malloc,
 * no stdio, no locale, so a cell can be started from any thread of any host program.
 */
#ifndef BRIG_KERNEL_SYS_H
#define BRIG_KERNEL_SYS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* glibc's wrapper sets errno; this keeps the kernel's own convention. */
#define sys_result(call)                                                                           \
	__extension__({                                                                            \
		long sys_r_ = (call);                                                              \
		sys_r_ < 0 ? -errno : (int)sys_r_;                                                 \
	})

/* Calls the kernel directly, errno untouched: for code that shares memory with another process. */
static inline long sys_raw(long number, long a, long b, long c)
{
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
}

/* The same with up to five arguments. */
static inline long sys_raw5(long number, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return result;
}

static inline int sys_clone3(struct clone_args *args, size_t size)
{
	return sys_result(syscall(SYS_clone3, args, size));
}

static inline int sys_pidfd_open(pid_t pid, unsigned flags)
{
	return sys_result(syscall(SYS_pidfd_open, pid, flags));
}

static inline int sys_pidfd_send_signal(int pidfd, int signal)
{
	return sys_result(syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0));
}

static inline int sys_openat2(int dir, const char *path, struct open_how *how)
{
	return sys_result(syscall(SYS_openat2, dir, path, how, sizeof(*how)));
}

static inline int sys_open_tree(int dir, const char *path, unsigned flags)
{
	return sys_result(syscall(SYS_open_tree, dir, path, flags));
}

static inline int sys_move_mount(int from, const char *from_path, int to, const char *to_path,
				 unsigned flags)
{
	return sys_result(syscall(SYS_move_mount, from, from_path, to, to_path, flags));
}

static inline int sys_mount_setattr(int dir, const char *path, unsigned flags,
				    struct mount_attr *attr)
{
	return sys_result(syscall(SYS_mount_setattr, dir, path, flags, attr, sizeof(*attr)));
}

static inline int sys_fsopen(const char *type)
{
	return sys_result(syscall(SYS_fsopen, type, FSOPEN_CLOEXEC));
}

static inline int sys_fsconfig(int fs, unsigned command, const char *key, const char *value)
{
	return sys_result(syscall(SYS_fsconfig, fs, command, key, value, 0));
}

static inline int sys_fsmount(int fs, unsigned attributes)
{
	return sys_result(syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attributes));
}

static inline int sys_pivot_root(const char *new_root, const char *put_old)
{
	return sys_result(syscall(SYS_pivot_root, new_root, put_old));
}

static inline int sys_close_range(unsigned first, unsigned last, unsigned flags)
{
	return sys_result(syscall(SYS_close_range, first, last, flags));
}

static inline int sys_seccomp(unsigned operation, unsigned flags, const void *args)
{
	return sys_result(syscall(SYS_seccomp, operation, flags, args));
}

static inline int sys_landlock_create_ruleset(const void *attr, size_t size, unsigned flags)
{
	return sys_result(syscall(SYS_landlock_create_ruleset, attr, size, flags));
}

static inline int sys_landlock_add_rule(int ruleset, unsigned type, const void *attr)
{
	return sys_result(syscall(SYS_landlock_add_rule, ruleset, type, attr, 0));
}

static inline int sys_landlock_restrict_self(int ruleset)
{
	return sys_result(syscall(SYS_landlock_restrict_self, ruleset, 0));
}

static inline int sys_keyctl_join_session(void)
{
	return sys_result(syscall(SYS_keyctl, 1 /* KEYCTL_JOIN_SESSION_KEYRING */, NULL));
}
#endif
