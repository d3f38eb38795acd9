/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brig-tables: prints the tables that brig itself uses as one JSON object. Part of the build, not
 * installed.
 *
 * Theory of operation. It is linked with the objects of brig, takes no arguments and reads nothing.
 * scripts/generate makes completions, parts of the manual and of the documentation, the limits in
 * schemas and in clients from its output, so that none of them is a second list.
 *
 * Privileges. Those of its caller; it needs none.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "tables/tables.h"

int main(void)
{
	_cleanup_(buf_done)
	struct buf text = { 0 };
	struct json_out out = { .buf = &text };

	json_open(&out, NULL, '{');
	tables_commands(&out);
	tables_limits(&out);
	tables_providers(&out);
	tables_config_keys(&out);
	tables_policy_keys(&out);
	tables_runtime_keys(&out);
	json_close(&out, '}');
	if (text.failed || puts(text.data) == EOF || fflush(stdout) == EOF) {
		fputs("brig-tables: cannot print the tables\n", stderr);
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
