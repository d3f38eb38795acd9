/* SPDX-License-Identifier: Apache-2.0 */
/* The {words} of a machine's file. */
#include "base/cleanup.h"
#include "policy/machine/machine.h"

static const struct word list[MACHINE_WORDS] = {
	[MACHINE_KERNEL] = { "kernel", false },   [MACHINE_INITRD] = { "initrd", false },
	[MACHINE_IMAGE] = { "image", false },     [MACHINE_CONFIG] = { "config", false },
	[MACHINE_SERIAL] = { "socket", false },   [MACHINE_MEMORY_MIB] = { "memory_mib", false },
	[MACHINE_CMDLINE] = { "cmdline", false },
};

const struct words machine_words = { list, ARRAY_SIZE(list) };
