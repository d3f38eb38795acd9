/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of /proc/self that shows how a process was started: the memory where exec has put
 * arguments, environment and auxiliary values. A clone that runs a tenant's program shows that
 * program's values, and its ids in the cell, not the template's.
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
 * Finds them, before the process is sealed; limits their size in the kernel to that of a usual
 * program, and writes `id` over the template's own ids.
 */
void process_area_take(struct process_area *area, size_t args_size, size_t env_size, uint32_t id);
/* Writes as much as there is room for, and zeros over the rest. */
void process_area_write(const struct process_area *area, const char *const *argv,
			const char *const *envp);
#endif
