/* SPDX-License-Identifier: Apache-2.0 */
/* The dependencies of an ELF program: its loader, its libraries and their search path. */
#ifndef BRIG_RUNTIME_ELF_NEEDS_H
#define BRIG_RUNTIME_ELF_NEEDS_H

#include "base/strlist.h"

#define ELF_TEXT_MAX 1024 /* of one name or search path */

struct elf_needs {
	char loader[ELF_TEXT_MAX];  /* PT_INTERP; "" for static programs and libraries */
	char runpath[ELF_TEXT_MAX]; /* DT_RUNPATH, else DT_RPATH; "" */
	struct strlist libraries;   /* DT_NEEDED */
};

void elf_needs_done(struct elf_needs *needs);
/*
 * 0; -ENOEXEC: not an ELF file; -EBADMSG: damaged, or for another machine; -errno. The bytes are
 * not trusted: everything is read by offset and checked against named bounds.
 */
int elf_needs_read(int fd, struct elf_needs *ret);
#endif
