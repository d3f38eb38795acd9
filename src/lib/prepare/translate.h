/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates an interpreter of the provider wasm to native code, in a cell of its own, and keeps it
 * beside the engine. It takes some ten seconds, and waits for them: for the command line.
 */
#ifndef BRIG_LIB_PREPARE_TRANSLATE_H
#define BRIG_LIB_PREPARE_TRANSLATE_H

#include <limits.h>

#include "lib/context.h"

struct translation {
	const char *policy;   /* whose engine and limits for compilers are used */
	const char *language; /* "python" */
	bool counted;         /* code that counts its instructions */
};

/* 1: it was there already; 0: made. `path` has it. */
int translate(struct brig_context *context, const struct translation *wanted, char path[PATH_MAX],
	      struct brig_error *err);
#endif
