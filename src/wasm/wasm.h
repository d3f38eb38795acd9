/* SPDX-License-Identifier: Apache-2.0 */
/* The provider `wasm`: its engine, and the end of its programs. */
#ifndef BRIG_WASM_WASM_H
#define BRIG_WASM_WASM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "wasm_host/wasm_report.h"

/* The one engine that is supported: its functions have no version of their own. */
extern const char wasm_engine_version[], wasm_engine_sha256[];

struct broker;

/* May only root, or brig's own user, write to it? `broker` (may be NULL) knows the owners. */
bool wasm_file_trusted(const struct broker *broker, const char *path, mode_t kind);

/*
 * The engine's library: `setting` (the policy's wasm.engine; may be NULL), else $BRIG_WASM_ENGINE,
 * else the first that is found in the usual places.
 */
int wasm_engine_find(const char *setting, char path[PATH_MAX], struct brig_error *err);
/* The same for every directory above; false: `dir` is one that others can write to. */
bool wasm_above_trusted(const struct broker *broker, const char *path, char dir[PATH_MAX]);
int wasm_engine_trust(const struct broker *broker, const char *path, struct brig_error *err);
/* Is it the supported one? Reads its size and some of its pages: below a millisecond. */
int wasm_engine_check(const char *path, struct brig_error *err);

/* A module that was translated before: prepared_file.c. Its file's name, with the NUL. */
#define WASM_NAME_MAX 72
int wasm_prepared_name(const char *module, bool counts, char name[WASM_NAME_MAX]);
/* The directory of such files, beside the engine; it may not exist. */
int wasm_prepared_folder(const char *engine, char path[PATH_MAX]);
/* -ENOENT: there is none for this module, engine and processor. -EPERM: others can write it. */
struct wasm_module {
	const char *engine, *path; /* on the host */
	bool counts;               /* its instructions are counted */
};
int wasm_prepared_find(const struct broker *broker, const struct wasm_module *module,
		       char path[PATH_MAX]);

/* Adds the record in the run's memory file, if it is one, to the facts about the end. */
struct facts;
void wasm_take_report(int fd, struct facts *facts);

/* "unreachable", of the engine's number. */
const char *wasm_trap_name(uint32_t trap);

/* The program for cells (src/wasm_host), as it was built. */
extern const char wasm_host_image[];
extern const size_t wasm_host_image_size;
/* The program for templates (src/wasm_template); empty: not built. */
extern const char wasm_template_image[];
extern const size_t wasm_template_image_size;
#endif
