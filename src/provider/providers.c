/* SPDX-License-Identifier: Apache-2.0 */
/* The table of providers: see provider.h. */
#include <string.h>

#include "provider/provider.h"

const struct provider *const providers[] = {
	&native_provider, &local_provider, &oci_provider,    &launcher_provider, &gvisor_provider,
	&vm_provider,     &wasm_provider,  &docker_provider, &podman_provider,   NULL
};

const struct ability_info ability_table[ABILITY_COUNT] = {
	[ABILITY_WALLS] = { "walls", "the program cannot reach the host" },
	[ABILITY_OWN_ROOT] = { "own-root", "the program has its own file system" },
	[ABILITY_MOUNTS] = { "mounts", "directories of the host can be mounted" },
	[ABILITY_NETWORK] = { "network", "the network is closed, except for allowed hosts" },
	[ABILITY_CALL_RULES] = { "call-rules", "system calls are filtered by rules" },
	[ABILITY_CALL_WATCH] = { "call-watch", "system calls can be watched" },
	[ABILITY_HOLD] = { "hold", "cells can be made ahead" },
	[ABILITY_VALUE] = { "value", "the value of a program is returned" },
	[ABILITY_SESSIONS] = { "sessions", "one cell can hold several runs in turn" },
	[ABILITY_PLAN] = { "plan", "the steps of a cell can be shown and measured" },
	[ABILITY_TERMINAL] = { "terminal", "the program can have a terminal" },
	[ABILITY_VENV] = { "venv", "a virtualenv of the host can run the program" },
	[ABILITY_INSTRUCTIONS] = { "instructions", "executed instructions can be limited" },
};

const struct provider *provider_find(const char *name)
{
	for (size_t i = 0; providers[i]; i++) {
		if (strcmp(providers[i]->name, name) == 0) {
			return providers[i];
		}
	}
	return NULL;
}
