/* The schema of results, as it was built in: data/schema/result.schema.json. */
#include <string.h>

#include <brig/brig.h>

#include "base/embedded.h"

const char *brig_result_schema(void)
{
	for (size_t i = 0; i < embedded_files_count; i++) {
		if (strcmp(embedded_files[i].path, "schema/result.schema.json") == 0) {
			return embedded_files[i].data;
		}
	}
	return "{}";
}
