/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file of a virtualenv. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/venv/venv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct pyvenv_cfg cfg;

	pyvenv_cfg_parse((const char *)data, size, &cfg);
	if (strlen(cfg.home) >= sizeof(cfg.home) || strlen(cfg.version) >= sizeof(cfg.version) ||
	    strchr(cfg.home, '\n') || strchr(cfg.version, '\n')) {
		abort();
	}
	return 0;
}
