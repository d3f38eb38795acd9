/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brig's exit status. The program's own, when it ended by itself; 128 + N when signal N ended it;
 * else one of these, which brig-run(1) lists too. A program can exit with the same numbers: only
 * --json is unambiguous.
 */
#ifndef BRIG_CLI_EXIT_STATUS_H
#define BRIG_CLI_EXIT_STATUS_H

#include <brig/brig.h>

enum exit_status {
	STATUS_OK = 0,
	STATUS_USAGE = 2, /* the command line is invalid */
	STATUS_NETWORK_LIMIT = 116,
	STATUS_DISK_LIMIT = 117,
	STATUS_OUTPUT_LIMIT = 118,
	STATUS_COMPILE_FAILED = 119,
	STATUS_LOST = 120,
	STATUS_CPU_LIMIT = 121,
	STATUS_MEMORY_LIMIT = 122,
	STATUS_PROCESS_LIMIT = 123,
	STATUS_TIMEOUT = 124,   /* as timeout(1) */
	STATUS_ERROR = 125,     /* brig itself failed, or the host */
	STATUS_REFUSED = 126,   /* refused by the policy, the guard or the user */
	STATUS_NOT_FOUND = 127, /* program not found, or the language is not installed */
	STATUS_SIGNAL = 128,    /* plus the signal's number */
};

int exit_status_of(const struct brig_result *result);
int exit_status_of_error(const struct brig_error *error);
#endif
