/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's traps, for people. Its numbers belong to its version. */
#include "base/cleanup.h"
#include "wasm/wasm.h"

static const char *const names[] = {
	[0] = "the stack overflowed",
	[1] = "memory was accessed out of bounds",
	[2] = "an atomic access was not aligned",
	[3] = "a table was accessed out of bounds",
	[4] = "an indirect call went to nothing",
	[5] = "an indirect call had another signature",
	[6] = "an integer overflowed",
	[7] = "an integer was divided by zero",
	[8] = "a number could not be converted to an integer",
	[9] = "unreachable code was reached, as by abort()",
	[10] = "it was interrupted",
	[11] = "its instructions were used up",
	[13] = "a null reference was used",
	[14] = "an array was accessed out of bounds",
	[15] = "an allocation was too large",
	[16] = "a cast failed",
	[49] = "an exception was not caught",
};

const char *wasm_trap_name(uint32_t trap)
{
	const char *name = trap < ARRAY_SIZE(names) ? names[trap] : NULL;

	return name ? name : "the engine ended it";
}
