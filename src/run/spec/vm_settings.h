/* SPDX-License-Identifier: Apache-2.0 */
/* The policy's settings of virtual machines. */
#ifndef BRIG_RUN_SPEC_VM_SETTINGS_H
#define BRIG_RUN_SPEC_VM_SETTINGS_H

enum vm_accel {
	VM_ACCEL_KVM,  /* the processor's own virtualization, or no machine at all: the default */
	VM_ACCEL_TCG,  /* emulation, which is slow, and more code between program and host */
	VM_ACCEL_AUTO, /* the first where it works, else the second */
	VM_ACCELS,
};

extern const char *const vm_accel_names[VM_ACCELS];

struct machine;

struct vm_settings {
	enum vm_accel accel;
	char *qemu;                    /* owned: absolute path; NULL: found in PATH */
	char *kernel;                  /* owned: absolute path; NULL: the host's newest */
	const struct machine *machine; /* borrowed: the file of its monitor; NULL: qemu */
};
#endif
