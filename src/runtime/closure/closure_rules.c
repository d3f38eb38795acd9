/* SPDX-License-Identifier: Apache-2.0 */
/* The host paths that closures may include, and the groups of entries that runtimes share. */
#include "runtime/closure/closure_rules.h"

#include <string.h>

#include "base/cleanup.h"

#if defined(__x86_64__)
const char closure_multiarch[] = "x86_64-linux-gnu";
const char closure_loader[] = "/lib64/ld-linux-x86-64.so.2";
#elif defined(__aarch64__)
const char closure_multiarch[] = "aarch64-linux-gnu";
const char closure_loader[] = "/lib/ld-linux-aarch64.so.1";
#elif defined(__riscv) && __riscv_xlen == 64
const char closure_multiarch[] = "riscv64-linux-gnu";
const char closure_loader[] = "/lib/ld-linux-riscv64-lp64d.so.1";
#else
#error "brig knows x86_64, aarch64 and riscv64"
#endif

/* Directories that are never shown as a whole: they contain the host's own data. */
static const char *const refused_whole[] = {
	"/",    "/boot", "/etc",       "/home", "/media",   "/opt",     "/root",
	"/srv", "/usr",  "/usr/local", "/var",  "/var/lib", "/var/tmp",
};

/* Neither these nor anything in them: brig makes its own, or they change all the time. */
static const char *const refused_tree[] = {
	"/dev",
	"/mnt",
	"/proc",
	"/run",
	"/sandbox",
	"/sys",
	"/tmp",
	"/var/run",
	"/etc/passwd",
	"/etc/group",
	"/etc/shadow",
	"/etc/gshadow",
	"/etc/hosts",
	"/etc/ssh",
	"/etc/sudoers",
	"/etc/hostname",
	"/etc/resolv.conf",
	"/etc/nsswitch.conf",
	"/etc/ssl/private",
	"/etc/brig",
};

static bool is_within(const char *path, const char *tree)
{
	size_t size = strlen(tree);

	return strncmp(path, tree, size) == 0 && (path[size] == '\0' || path[size] == '/');
}

const char *closure_refused_tree(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused_tree); i++) {
		if (is_within(path, refused_tree[i])) {
			return refused_tree[i];
		}
	}
	return NULL;
}

const char *closure_refuses(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused_whole); i++) {
		if (strcmp(path, refused_whole[i]) == 0) {
			return "is too large a part of the host; list the needed files in it";
		}
	}
	return closure_refused_tree(path) ? "is never shown to a cell" : NULL;
}

/* The shell of os.system(), popen() and the like. */
static const char *const shell_group[] = { "/bin/sh", NULL };

/* A C compiler as a linker: gcc or cc, the assembler, the linkers, start files, headers. */
static const char *const cc_group[] = {
	"/usr/bin/cc",     "/usr/bin/gcc",         "/usr/bin/as",  "/usr/bin/ld",
	"/usr/bin/ld.bfd", "/usr/bin/ld.gold",     "/usr/lib/gcc", "/usr/libexec/gcc",
	"/usr/include",    "/usr/lib/bfd-plugins", NULL,
};

/* The one locale with UTF-8 that every glibc host has; without it text is ASCII to C programs. */
static const char *const locale_group[] = {
	"/usr/lib/locale/C.utf8",
	"/usr/lib/locale/C.UTF-8",
	NULL,
};

/* Completed by the builder, which finds the library directories of this host. */
static const char *const libs_group[] = { closure_loader, NULL };

static const struct {
	const char *name;
	const char *const *entries;
} groups[] = {
	{ "@libs", libs_group },
	{ "@locale", locale_group },
	{ "@shell", shell_group },
	{ "@cc", cc_group },
};

const char *const *closure_group(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		if (strcmp(groups[i].name, name) == 0) {
			return groups[i].entries;
		}
	}
	return NULL;
}
