/* SPDX-License-Identifier: Apache-2.0 */
/* The providers, in the order of their table. */
#include "provider/provider.h"
#include "tables/tables.h"

void tables_providers(struct json_out *out)
{
	json_open(out, "providers", '[');
	for (size_t i = 0; providers[i]; i++) {
		json_text(out, NULL, providers[i]->name);
	}
	json_close(out, ']');
}
