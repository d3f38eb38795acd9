/* SPDX-License-Identifier: Apache-2.0 */
/* Frees a result. */
#include <stdlib.h>

#include <brig/brig.h>

void brig_result_free(struct brig_result *result)
{
	if (!result) {
		return;
	}
	free(result->stdout_data);
	free(result->stderr_data);
	free(result->value_json);
	free(result->value_repr);
	for (size_t i = 0; i < result->files_count; i++) {
		free(result->files[i].path);
		free(result->files[i].data);
	}
	free(result->files);
	free(result->files_note);
	for (size_t i = 0; i < result->changes_count; i++) {
		free(result->changes[i].path);
	}
	free(result->changes);
	for (size_t i = 0; i < result->connections_count; i++) {
		free(result->connections[i].host);
	}
	free(result->connections);
	free(result->events);
	free(result);
}
