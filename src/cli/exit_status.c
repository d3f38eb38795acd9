/* SPDX-License-Identifier: Apache-2.0 */
/* From results and errors to exit statuses: see exit_status.h. */
#include "cli/exit_status.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"

/* -1: the program's own. */
static const int by_status[] = {
	[BRIG_OK] = -1,
	[BRIG_FAILED] = -1,
	[BRIG_COMPILE_FAILED] = STATUS_COMPILE_FAILED,
	[BRIG_TIMEOUT] = STATUS_TIMEOUT,
	[BRIG_CPU_LIMIT] = STATUS_CPU_LIMIT,
	[BRIG_MEMORY_LIMIT] = STATUS_MEMORY_LIMIT,
	[BRIG_PROCESS_LIMIT] = STATUS_PROCESS_LIMIT,
	[BRIG_DISK_LIMIT] = STATUS_DISK_LIMIT,
	[BRIG_OUTPUT_LIMIT] = STATUS_OUTPUT_LIMIT,
	[BRIG_NETWORK_LIMIT] = STATUS_NETWORK_LIMIT,
	[BRIG_DENIED] = STATUS_REFUSED,
	[BRIG_REJECTED] = STATUS_REFUSED,
	[BRIG_CANCELLED] = STATUS_SIGNAL + SIGTERM,
	[BRIG_LOST] = STATUS_LOST,
	[BRIG_ERROR] = STATUS_ERROR,
};

static const int by_code[] = {
	[BRIG_E_NONE] = STATUS_ERROR,     [BRIG_E_INPUT] = STATUS_ERROR,
	[BRIG_E_POLICY] = STATUS_REFUSED, [BRIG_E_RUNTIME] = STATUS_NOT_FOUND,
	[BRIG_E_HOST] = STATUS_ERROR,     [BRIG_E_CONSENT] = STATUS_REFUSED,
	[BRIG_E_SYSTEM] = STATUS_ERROR,
};

int exit_status_of(const struct brig_result *result)
{
	size_t status = (size_t)result->status;
	int fixed = status < ARRAY_SIZE(by_status) ? by_status[status] : STATUS_ERROR;

	if (fixed >= 0) {
		return fixed;
	}
	if (result->signal > 0) {
		return STATUS_SIGNAL + result->signal;
	}
	return result->exit_code >= 0 ? result->exit_code & 0xff : STATUS_ERROR;
}

int exit_status_of_error(const struct brig_error *error)
{
	size_t code = (size_t)error->code;

	/* As shells do: 127 not found, 126 found but not executable. */
	if (strcmp(error->step, "exec") == 0) {
		return error->errnum == ENOENT ? STATUS_NOT_FOUND : STATUS_REFUSED;
	}
	/* A limit outside of the policy's range is a wrong option. */
	if (error->code == BRIG_E_INPUT && error->errnum == ERANGE) {
		return STATUS_USAGE;
	}
	return code < ARRAY_SIZE(by_code) ? by_code[code] : STATUS_ERROR;
}
