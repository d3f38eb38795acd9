/* SPDX-License-Identifier: Apache-2.0 */
/* The schema of results, as it was built in: data/schema/result.schema.json. */
#include <brig/brig.h>

#include "base/embedded.h"

const char *brig_result_schema(void)
{
	const struct embedded_file *file = embedded_find("schema/result.schema.json");

	return file ? file->data : "{}";
}
