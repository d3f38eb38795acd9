/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a command on a host that lacks a feature: without WORD[,WORD...] COMMAND ARGUMENTS...
 *
 * A filter answers the calls in the table like a kernel that does not have them, or a host that
 * forbids them. It applies to everything that the command starts.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define ANY           (-1)
#define RULE_STEPS    6

#define PROC_FLAGS    (MS_NOSUID | MS_NODEV | MS_NOEXEC)
#define OVERLAY_FLAGS (MS_RDONLY | MS_NOSUID | MS_NODEV)

/* A call is refused if (arguments[argument] & mask) == value. */
static const struct rule {
	const char *word;
	int call;
	int argument;
	uint32_t mask, value;
	int errnum;
} rules[] = {
	{ "landlock", SYS_landlock_create_ruleset, ANY, 0, 0, ENOSYS },
	{ "landlock", SYS_landlock_restrict_self, ANY, 0, 0, ENOSYS },
	{ "landlock-late", SYS_landlock_restrict_self, ANY, 0, 0, EPERM },
	{ "clone3", SYS_clone3, ANY, 0, 0, ENOSYS },
	{ "openat2", SYS_openat2, ANY, 0, 0, ENOSYS },
	{ "notify", SYS_seccomp, 1, SECCOMP_FILTER_FLAG_NEW_LISTENER,
	  SECCOMP_FILTER_FLAG_NEW_LISTENER, EINVAL },
	{ "timens", SYS_unshare, 0, CLONE_NEWTIME, CLONE_NEWTIME, EINVAL },
	{ "overlay", SYS_mount, 3, ~0u, OVERLAY_FLAGS, ENODEV },
	{ "keyring", SYS_keyctl, ANY, 0, 0, EPERM },
	{ "no-keyrings", SYS_keyctl, ANY, 0, 0, ENOSYS },
	/* A filter cannot read the arguments of clone3: without it the old call is made. */
	{ "userns", SYS_clone3, ANY, 0, 0, ENOSYS },
	{ "userns", SYS_clone, 0, CLONE_NEWUSER, CLONE_NEWUSER, EPERM },
	{ "inner-userns", SYS_unshare, 0, CLONE_NEWUSER, CLONE_NEWUSER, EPERM },
	{ "pidns", SYS_clone3, ANY, 0, 0, ENOSYS },
	{ "pidns", SYS_clone, 0, CLONE_NEWPID, CLONE_NEWPID, EINVAL },
	{ "mntns", SYS_clone3, ANY, 0, 0, ENOSYS },
	{ "mntns", SYS_clone, 0, CLONE_NEWNS, CLONE_NEWNS, EINVAL },
	{ "ipcns", SYS_clone3, ANY, 0, 0, ENOSYS },
	{ "ipcns", SYS_clone, 0, CLONE_NEWIPC, CLONE_NEWIPC, EINVAL },
	{ "utsns", SYS_clone3, ANY, 0, 0, ENOSYS },
	{ "utsns", SYS_clone, 0, CLONE_NEWUTS, CLONE_NEWUTS, EINVAL },
	{ "netns", SYS_unshare, 0, CLONE_NEWNET, CLONE_NEWNET, EINVAL },
	{ "cgroupns", SYS_unshare, 0, CLONE_NEWCGROUP, CLONE_NEWCGROUP, EINVAL },
	{ "rootfs", SYS_pivot_root, ANY, 0, 0, EPERM },
	{ "mount-api", SYS_fsopen, ANY, 0, 0, ENOSYS },
	{ "mount-flags", SYS_mount_setattr, ANY, 0, 0, ENOSYS },
	{ "proc", SYS_mount, 3, ~0u, PROC_FLAGS, EPERM },
	{ "seccomp", SYS_seccomp, ANY, 0, 0, ENOSYS },
	{ "caps", SYS_capset, ANY, 0, 0, EPERM },
	{ "bounding", SYS_prctl, 0, ~0u, PR_CAPBSET_DROP, EPERM },
	{ "securebits", SYS_prctl, 0, ~0u, PR_SET_SECUREBITS, EPERM },
	{ "nnp", SYS_prctl, 0, ~0u, PR_SET_NO_NEW_PRIVS, EINVAL },
	{ "close-range", SYS_close_range, ANY, 0, 0, ENOSYS },
	{ "io-uring", SYS_io_uring_setup, ANY, 0, 0, EPERM },
	{ "no-io-uring", SYS_io_uring_setup, ANY, 0, 0, ENOSYS },
	{ "pinned-pages", SYS_io_uring_register, ANY, 0, 0, ENOMEM },
	{ "rseq", SYS_rseq, ANY, 0, 0, ENOSYS },
};

static int chosen(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0')) {
			return 1;
		}
	}
	return 0;
}

/* At most RULE_STEPS instructions; returns how many. */
static unsigned add_rule(struct sock_filter *code, const struct rule *rule)
{
	struct sock_filter refuse =
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)rule->errnum);
	unsigned n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	if (rule->argument == ANY) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							 (uint32_t)rule->call, 0, 1);
		code[n++] = refuse;
		return n;
	}
	uint32_t low = offsetof(struct seccomp_data, args) + 8 * (uint32_t)rule->argument;
	code[n++] =
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)rule->call, 0, 4);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, rule->mask);
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rule->value, 0, 1);
	code[n++] = refuse;
	return n;
}

int main(int argc, char **argv)
{
	struct sock_filter code[LENGTH(rules) * RULE_STEPS + 1];
	struct sock_fprog program = { .filter = code };

	if (argc < 3) {
		fprintf(stderr, "usage: without WORD[,WORD...] COMMAND...\n");
		return 99;
	}
	for (size_t i = 0; i < LENGTH(rules); i++) {
		if (chosen(argv[1], rules[i].word)) {
			program.len += (unsigned short)add_rule(code + program.len, &rules[i]);
		}
	}
	if (program.len == 0) {
		fprintf(stderr, "without: nothing known in '%s'\n", argv[1]);
		return 99;
	}
	code[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (geteuid() != 0) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	}
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0) {
		perror("without: seccomp");
		return 99;
	}
	execv(argv[2], argv + 2);
	perror(argv[2]);
	return 99;
}
