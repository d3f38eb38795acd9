/* SPDX-License-Identifier: Apache-2.0 */
/* The messages between brig and the first process of a virtual machine: see main.c. */
#ifndef BRIG_VM_INIT_GO_H
#define BRIG_VM_INIT_GO_H

#include <inttypes.h>
#include <stdint.h>

/* The first bytes on the stream to the guest, little-endian: the limits of the cell in it,
 * and randomness: the kernel chooses the addresses and canaries of new programs by it. */
#define VM_GO_SEED  32u
#define VM_GO_BYTES (16u + VM_GO_SEED)
struct vm_go {
	uint64_t memory_bytes;
	uint64_t processes;             /* the agent is one */
	unsigned char seed[VM_GO_SEED]; /* random bytes for the kernel's generator */
};

/* The last line on the report's port: the figures of the cell's control group. */
#define VM_REPORT_HEAD "brig-vm"
#define VM_REPORT_FORMAT                                                                           \
	VM_REPORT_HEAD " oom=%" PRIu64 " memory=%" PRIu64 " refused=%" PRIu64                      \
		       " processes=%" PRIu64 "\n"
#endif
