/* SPDX-License-Identifier: Apache-2.0 */
/*
 * S2 to S7: the calls named by the arguments, each with arguments that do nothing even for root:
 * a wrong descriptor, pointer, flag or magic number.
 */
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "say.h"

#define BAD  ((long)-1)
#define SELF ((long)-2) /* own process number */

static char room[64];

/* Numbers from the kernel's table; the C library may be older than some of them. */
static const struct {
	const char *name;
	long number, args[6];
} calls[] = {
	{ "unshare", 272, { 0 } },
	{ "setns", 308, { BAD, 0 } },
	{ "mount", 165, { 0, (long)"/brig-none", 0, 0, 0 } },
	{ "umount2", 166, { (long)"/brig-none", 0 } },
	{ "pivot_root", 155, { (long)"/brig-none", (long)"/brig-none" } },
	{ "chroot", 161, { (long)"/brig-none" } },
	{ "open_tree", 428, { BAD, (long)"brig-none", 0 } },
	{ "open_tree_attr", 467, { BAD, (long)"brig-none", 0, 0, 0 } },
	{ "move_mount", 429, { BAD, (long)"brig-none", BAD, (long)"brig-none", 0 } },
	{ "fsopen", 430, { 0, 0 } },
	{ "fsconfig", 431, { BAD, 99, 0, 0, 0 } },
	{ "fsmount", 432, { BAD, 0, 0 } },
	{ "fspick", 433, { BAD, (long)"brig-none", 0 } },
	{ "mount_setattr", 442, { BAD, (long)"brig-none", 0, (long)room, 32 } },
	{ "io_uring_setup", 425, { 0, 0 } },
	{ "io_uring_enter", 426, { BAD, 0, 0, 0, 0, 0 } },
	{ "io_uring_register", 427, { BAD, 0, 0, 0 } },
	{ "io_setup", 206, { 0, 0 } },
	{ "io_submit", 209, { 0, 0, 0 } },
	{ "bpf", 321, { BAD, 0, 0 } },
	{ "perf_event_open", 298, { 0, 0, BAD, BAD, 0 } },
	{ "userfaultfd", 323, { 0x7ffffffe } },
	{ "fanotify_init", 300, { 0x7ffffffe, 0 } },
	{ "fanotify_mark", 301, { BAD, 0, 0, BAD, 0 } },
	{ "kexec_load", 246, { 0, 1L << 40, 0, 0 } },
	{ "kexec_file_load", 320, { BAD, BAD, 0, 0, 0x7fffffff } },
	{ "init_module", 175, { 0, 0, 0 } },
	{ "finit_module", 313, { BAD, 0, 0x7fffffff } },
	{ "delete_module", 176, { (long)"brig-none", O_NONBLOCK } },
	{ "swapon", 167, { (long)"/brig-none", 0 } },
	{ "swapoff", 168, { (long)"/brig-none" } },
	{ "reboot", 169, { 0, 0, 0, 0 } },
	{ "acct", 163, { (long)"/brig-none" } },
	{ "quotactl", 179, { BAD, 0, 0, 0 } },
	{ "quotactl_fd", 443, { BAD, 0, 0, 0 } },
	{ "syslog", 103, { 99, 0, 0 } },
	{ "iopl", 172, { 99 } },
	{ "ioperm", 173, { 0x80, 1, 0 } },
	{ "clock_settime", 227, { 99, 0 } },
	{ "clock_adjtime", 305, { 0, 0 } },
	{ "settimeofday", 164, { 1, 0 } },
	{ "adjtimex", 159, { 0 } },
	{ "keyctl", 250, { 9999, 0, 0, 0, 0 } },
	{ "add_key", 248, { 0, 0, 0, 0, 0 } },
	{ "request_key", 249, { 0, 0, 0, 0 } },
	{ "name_to_handle_at", 303, { BAD, (long)"brig-none", 0, 0, 0 } },
	{ "open_by_handle_at", 304, { BAD, 0, 0 } },
	{ "kcmp", 312, { SELF, SELF, 99, 0, 0 } },
	{ "process_vm_readv", 310, { SELF, 0, 0, 0, 0, 0 } },
	{ "process_vm_writev", 311, { SELF, 0, 0, 0, 0, 0 } },
	{ "pidfd_getfd", 438, { BAD, 0, 0 } },
	{ "process_madvise", 440, { BAD, 0, 0, 0, 0 } },
	{ "process_mrelease", 448, { BAD, 0 } },
	{ "move_pages", 279, { 0, 0, 0, 0, 0, 0 } },
	{ "migrate_pages", 256, { 0, 0, 0, 0 } },
	{ "modify_ldt", 154, { 0, (long)room, 0 } },
	{ "personality", 135, { 0x0040000 } },
	{ "ptrace", 101, { 9999, 0, 0, 0 } },
	{ "memfd_secret", 447, { 0x7fffffff } },
	{ "vmsplice", 278, { BAD, 0, 0, 0 } },
};

static void make(const char *name, long number, const long *args)
{
	long a[6];

	for (int i = 0; i < 6; i++) {
		a[i] = args[i] == SELF ? getpid() : args[i];
	}
	try(name, syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]));
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		for (size_t j = 0; j < sizeof(calls) / sizeof(calls[0]); j++) {
			if (strcmp(calls[j].name, argv[i]) == 0) {
				make(argv[i], calls[j].number, calls[j].args);
			}
		}
	}
}
