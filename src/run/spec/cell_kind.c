/* SPDX-License-Identifier: Apache-2.0 */
/* The properties of each kind of cell: see cell_kind.h. */
#include "run/spec/cell_kind.h"

const struct cell_traits cell_traits[CELL_KINDS] = {
	[CELL_COLD] = { .executes = true, .workdir = "/sandbox" },
	[CELL_DRIVEN] = { .executes = true, .has_descriptor = true, .workdir = "/sandbox" },
	[CELL_HELD] = { .ahead = true, .held = true, .executes = true, .workdir = "/sandbox" },
	[CELL_CLONED] = { .ahead = true, .held = true, .workdir = "/sandbox" },
	/* The driver enters /sandbox when it has its assignment, which brings the input files. */
	[CELL_STARTED] = { .ahead = true, .executes = true, .has_channels = true, .workdir = "/" },
};
