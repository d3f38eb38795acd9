/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes a refused call: "socket(AF_ALG, SOCK_SEQPACKET, 0)". Scalars only: the memory behind a
 * pointer may change while it is read, and is not recorded.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "kernel/filter/filter.h"
#include "kernel/filter/syscall_constant.h"

enum form {
	FORM_END,
	FORM_POINTER, /* not shown */
	FORM_INT,
	FORM_HEX,
	FORM_MODE,      /* octal, with the set-id bits */
	FORM_NAME,      /* one constant of a set */
	FORM_FLAGS,     /* several of a set */
	FORM_SOCK_TYPE, /* one of a set below the flags */
	FORM_PROTOCOL,  /* depends on the family before it */
	FORM_OPTION,    /* depends on the level before it */
};

struct argument {
	enum form form;
	enum constant_set set;
};

struct description {
	const char *call;
	struct argument arguments[6];
};

#define INT                                                                                        \
	{                                                                                          \
		FORM_INT, 0                                                                        \
	}
#define HEX                                                                                        \
	{                                                                                          \
		FORM_HEX, 0                                                                        \
	}
#define PTR                                                                                        \
	{                                                                                          \
		FORM_POINTER, 0                                                                    \
	}
#define MODE                                                                                       \
	{                                                                                          \
		FORM_MODE, 0                                                                       \
	}
#define NAME(s)                                                                                    \
	{                                                                                          \
		FORM_NAME, CONSTANT_##s                                                            \
	}
#define FLAGS(s)                                                                                   \
	{                                                                                          \
		FORM_FLAGS, CONSTANT_##s                                                           \
	}

static const struct description descriptions[] = {
	{ "arch_prctl", { NAME(ARCH), HEX } },
	{ "bpf", { NAME(BPF), PTR, INT } },
	{ "chmod", { PTR, MODE } },
	{ "chroot", { PTR } },
	{ "clone", { FLAGS(CLONE), PTR } },
	{ "creat", { PTR, MODE } },
	{ "fchmod", { INT, MODE } },
	{ "fchmodat", { INT, PTR, MODE } },
	{ "fchmodat2", { INT, PTR, MODE, HEX } },
	{ "fcntl", { INT, NAME(FCNTL), HEX } },
	{ "getsockopt", { INT, NAME(LEVEL), { FORM_OPTION, 0 }, PTR, PTR } },
	{ "ioctl", { INT, NAME(IOCTL), HEX } },
	{ "ioprio_set", { INT, INT, HEX } },
	{ "kcmp", { INT, INT, INT, HEX, HEX } },
	{ "keyctl", { NAME(KEYCTL), HEX, HEX, HEX, HEX } },
	{ "madvise", { PTR, INT, NAME(MADVISE) } },
	{ "memfd_create", { PTR, FLAGS(MEMFD) } },
	{ "mkdir", { PTR, MODE } },
	{ "mkdirat", { INT, PTR, MODE } },
	{ "mknod", { PTR, MODE, HEX } },
	{ "mknodat", { INT, PTR, MODE, HEX } },
	{ "mmap", { PTR, INT, HEX, FLAGS(MAP), INT, HEX } },
	{ "mount", { PTR, PTR, PTR, FLAGS(MOUNT), PTR } },
	{ "open", { PTR, HEX, MODE } },
	{ "openat", { INT, PTR, HEX, MODE } },
	{ "perf_event_open", { PTR, INT, INT, INT, HEX } },
	{ "personality", { FLAGS(PERSONALITY) } },
	{ "pidfd_getfd", { INT, INT, HEX } },
	{ "prctl", { NAME(PRCTL), HEX, HEX, HEX, HEX } },
	{ "prlimit64", { INT, NAME(RLIMIT), PTR, PTR } },
	{ "process_vm_readv", { INT, PTR, INT, PTR, INT, HEX } },
	{ "process_vm_writev", { INT, PTR, INT, PTR, INT, HEX } },
	{ "ptrace", { NAME(PTRACE), INT, PTR, PTR } },
	{ "renameat2", { INT, PTR, INT, PTR, FLAGS(RENAME) } },
	{ "sched_setaffinity", { INT, INT, PTR } },
	{ "sched_setattr", { INT, PTR, HEX } },
	{ "sched_setparam", { INT, PTR } },
	{ "sched_setscheduler", { INT, NAME(SCHED), PTR } },
	{ "seccomp", { NAME(SECCOMP), FLAGS(SECCOMP_FLAG), PTR } },
	{ "setgid", { INT } },
	{ "setgroups", { INT, PTR } },
	{ "setns", { INT, FLAGS(CLONE) } },
	{ "setpriority", { NAME(PRIO), INT, INT } },
	{ "setregid", { INT, INT } },
	{ "setresgid", { INT, INT, INT } },
	{ "setresuid", { INT, INT, INT } },
	{ "setreuid", { INT, INT } },
	{ "setsockopt", { INT, NAME(LEVEL), { FORM_OPTION, 0 }, PTR, INT } },
	{ "setuid", { INT } },
	{ "shmget", { HEX, INT, HEX } },
	{ "socket", { NAME(FAMILY), { FORM_SOCK_TYPE, 0 }, { FORM_PROTOCOL, 0 } } },
	{ "socketpair", { NAME(FAMILY), { FORM_SOCK_TYPE, 0 }, { FORM_PROTOCOL, 0 }, PTR } },
	{ "sysinfo", { PTR } },
	{ "umount2", { PTR, FLAGS(UMOUNT) } },
	{ "unshare", { FLAGS(CLONE) } },
	{ "userfaultfd", { HEX } },
};

struct text {
	char *at;
	size_t left;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int n = vsnprintf(text->at, text->left, format, args);
	va_end(args);
	if (n > 0) {
		size_t used = (size_t)n < text->left ? (size_t)n : text->left - 1;

		text->at += used;
		text->left -= used;
	}
}

static void add_name(struct text *text, enum constant_set set, uint32_t value)
{
	const char *name = constant_name(set, value);

	if (name) {
		add(text, "%s", name);
	} else {
		add(text, value > 4096 ? "0x%" PRIx32 : "%" PRIu32, value);
	}
}

static void add_flags(struct text *text, enum constant_set set, uint32_t value)
{
	const char *bar = "";

	for (unsigned i = 0; i < constant_table_count; i++) {
		const struct constant *c = &constant_table[i];

		if (c->set == set && c->value != 0 && (value & c->value) == c->value) {
			add(text, "%s%s", bar, c->name);
			bar = "|";
			value &= ~c->value;
		}
	}
	if (value != 0 || *bar == '\0') {
		add(text, value > 9 ? "%s0x%" PRIx32 : "%s%" PRIu32, bar, value);
	}
}

/* Levels are protocols, except a few of their own. */
static void add_level(struct text *text, uint32_t level)
{
	if (constant_name(CONSTANT_LEVEL, level)) {
		add_name(text, CONSTANT_LEVEL, level);
	} else {
		add_name(text, CONSTANT_PROTOCOL, level);
	}
}

static void add_option(struct text *text, uint32_t level, uint32_t option)
{
	static const struct {
		uint32_t level;
		enum constant_set set;
	} levels[] = {
		{ 0, CONSTANT_OPT_IP },    { 1, CONSTANT_OPT_SOCKET },    { 6, CONSTANT_OPT_TCP },
		{ 41, CONSTANT_OPT_IPV6 }, { 270, CONSTANT_OPT_NETLINK },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(levels); i++) {
		if (levels[i].level == level) {
			add_name(text, levels[i].set, option);
			return;
		}
	}
	add(text, "%" PRIu32, option);
}

static void add_protocol(struct text *text, uint32_t family, uint32_t protocol)
{
	if (family == 16) { /* AF_NETLINK */
		add_name(text, CONSTANT_NETLINK, protocol);
	} else if (protocol != 0 && (family == 2 || family == 10)) { /* AF_INET, AF_INET6 */
		add_name(text, CONSTANT_PROTOCOL, protocol);
	} else {
		add(text, "%" PRIu32, protocol);
	}
}

static void add_mode(struct text *text, uint32_t mode)
{
	const char *type = constant_name(CONSTANT_FILETYPE, mode & 0170000);

	if (type) {
		add(text, "%s|", type);
		mode &= 07777;
	}
	add(text, "0%" PRIo32, mode);
}

static void add_argument(struct text *text, const struct argument *argument, unsigned index,
			 const uint64_t args[6])
{
	uint32_t low = (uint32_t)args[index];

	switch (argument->form) {
	case FORM_INT:
		add(text, "%" PRId32, (int32_t)low);
		break;
	case FORM_HEX:
		add(text, args[index] > 9 ? "0x%" PRIx64 : "%" PRIu64, args[index]);
		break;
	case FORM_MODE:
		add_mode(text, low);
		break;
	case FORM_NAME:
		if (argument->set == CONSTANT_LEVEL) {
			add_level(text, low);
		} else {
			add_name(text, argument->set, low);
		}
		break;
	case FORM_FLAGS:
		add_flags(text, argument->set, low);
		break;
	case FORM_SOCK_TYPE: /* the flags above do not explain the refusal */
		add_name(text, CONSTANT_SOCKTYPE, low & 0xf);
		break;
	case FORM_PROTOCOL:
		add_protocol(text, (uint32_t)args[0], low);
		break;
	case FORM_OPTION:
		add_option(text, (uint32_t)args[1], low);
		break;
	case FORM_POINTER:
	case FORM_END:
		add(text, "...");
		break;
	}
}

static const struct description *find(const char *call)
{
	for (size_t i = 0; i < ARRAY_SIZE(descriptions); i++) {
		if (strcmp(descriptions[i].call, call) == 0) {
			return &descriptions[i];
		}
	}
	return NULL;
}

void syscall_describe(unsigned number, const uint64_t args[6], char *text, size_t size)
{
	struct text out = { text, size };
	const char *name = syscall_name(number);

	if (size == 0) {
		return;
	}
	text[0] = '\0';
	if (!name) {
		add(&out, "system call %u", number);
		return;
	}

	const struct description *description = find(name);

	add(&out, "%s(", name);
	for (unsigned i = 0; description && i < 6; i++) {
		if (description->arguments[i].form == FORM_END) {
			break;
		}
		add(&out, "%s", i > 0 ? ", " : "");
		add_argument(&out, &description->arguments[i], i, args);
	}
	add(&out, description ? ")" : "...)");
}
