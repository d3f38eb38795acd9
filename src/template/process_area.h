/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What /proc/self shows of how a process was started: the memory where exec has put arguments,
 * environment and auxiliary values. A clone that runs a tenant's program shows that program's, and
 * the ids that it has in its cell, not the template's.
 */
#ifndef BRIG_TEMPLATE_PROCESS_AREA_H
#define BRIG_TEMPLATE_PROCESS_AREA_H

#include <stddef.h>
#include <stdint.h>

struct process_area {
	char *args, *args_end; /* NULL: not known */
	char *env, *env_end;
};

/*
 * Finds them, before anything is sealed; tells the kernel that they are only as long as a
 * program's usually are, and writes `id` where the template's own ids stand.
 */
void process_area_take(struct process_area *area, size_t args_size, size_t env_size, uint32_t id);
/* Writes as much of them as there is room for, and zeros over the rest. */
void process_area_write(const struct process_area *area, const char *const *argv,
			const char *const *envp);
#endif
