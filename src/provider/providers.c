/* SPDX-License-Identifier: Apache-2.0 */
/* The table of providers: see provider.h. */
#include <string.h>

#include "provider/provider.h"

const struct provider *const providers[] = { &native_provider, &local_provider, NULL };

const struct provider *provider_find(const char *name)
{
	for (size_t i = 0; providers[i]; i++) {
		if (strcmp(providers[i]->name, name) == 0) {
			return providers[i];
		}
	}
	return NULL;
}
