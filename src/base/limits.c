/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all limits: see limits.h. */
#include "base/limits.h"

#include <string.h>

#define MS  UINT64_C(1000000)
#define SEC (1000 * MS)
#define DAY (86400 * SEC)
#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define TIB (1024 * 1024 * MIB)

#define AT(field) offsetof(struct brig_limits, field)

const struct limit_info limit_table[LIMITS_COUNT] = {
	{ "wall", "wall_ms", "--timeout", UNIT_TIME, AT(wall_ns), 1 * MS, 7 * DAY, 30 * SEC,
	  "wall-clock time", LIMIT_OF_RUN, true, NULL },
	{ "cpu_time", "cpu_ms", "--cpu-time", UNIT_TIME, AT(cpu_ns), 1 * MS, 7 * DAY, 30 * SEC,
	  "CPU time of all processes together", LIMIT_OF_RUN, true, NULL },
	{ "cpu", "cpu_millicores", "--cpu", UNIT_MILLICORES, AT(cpu_millicores), 10, 1024000, 1000,
	  "share of the CPUs; 1 is one whole core", LIMIT_OF_CELL, false,
	  "the program is slowed down" },
	{ "memory", "memory_bytes", "--memory", UNIT_BYTES, AT(memory_bytes), 1 * MIB, 64 * TIB,
	  256 * MIB, "memory of all processes, including files in memory", LIMIT_OF_PROCESS, true,
	  NULL },
	{ "processes", "processes", "--processes", UNIT_COUNT, AT(processes), 1, 32768, 64,
	  "processes and threads together", LIMIT_OF_PROCESS, true, NULL },
	{ "disk", "disk_bytes", "--disk", UNIT_BYTES, AT(disk_bytes), 4 * KIB, 64 * TIB, 64 * MIB,
	  "bytes in all writable directories together", LIMIT_OF_CELL, true, NULL },
	{ "inodes", "disk_inodes", "--inodes", UNIT_COUNT, AT(disk_inodes), 16, 16777216, 4096,
	  "files in all writable directories together", LIMIT_OF_CELL, true, NULL },
	{ "open_files", "open_files", "--open-files", UNIT_COUNT, AT(open_files), 8, 1048576, 256,
	  "open files of one process", LIMIT_OF_PROCESS, true, "opening fails with EMFILE" },
	{ "file_size", "file_bytes", "--file-size", UNIT_BYTES, AT(file_bytes), 1, 64 * TIB,
	  64 * MIB, "the largest single file", LIMIT_OF_PROCESS, true, NULL },
	{ "stdout", "stdout_bytes", "--stdout", UNIT_BYTES, AT(stdout_bytes), 1, 16 * 1024 * MIB,
	  1 * MIB, "standard output to keep", LIMIT_OF_RUN, false, NULL },
	{ "stderr", "stderr_bytes", "--stderr", UNIT_BYTES, AT(stderr_bytes), 1, 16 * 1024 * MIB,
	  1 * MIB, "standard error to keep", LIMIT_OF_RUN, false, NULL },
	{ "net", "net_bytes", "--net-bytes", UNIT_BYTES, AT(net_bytes), 0, 64 * TIB, 64 * MIB,
	  "bytes to and from the network", LIMIT_OF_CELL, false, NULL },
	{ "grace", "grace_ms", "--grace", UNIT_TIME, AT(grace_ns), 0, 60 * SEC, 0,
	  "time between SIGTERM and SIGKILL after a timeout", LIMIT_OF_RUN, false, NULL },
	{ "instructions", "instructions", "--instructions", UNIT_COUNT, AT(instructions), 1,
	  LIMIT_INSTRUCTIONS_NONE, LIMIT_INSTRUCTIONS_NONE,
	  "instructions of WebAssembly (provider wasm)", LIMIT_OF_CELL, false, NULL },
};

const struct limit_info *limit_find(const char *key)
{
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		if (strcmp(limit_table[i].key, key) == 0) {
			return &limit_table[i];
		}
	}
	return NULL;
}
