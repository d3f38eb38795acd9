/* SPDX-License-Identifier: Apache-2.0 */
/* A run's first phase, for compiled languages: the compiler in a cell of its own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/api/api_run.h"
#include "lib/build/build_cache.h"
#include "run/run.h"

int run_start_compiler(struct brig_run *run, struct brig_error *err)
{
	const char *output = run->program.runtime->output;

	/* The output is a file, or a directory with any files. */
	if (strlist_add(&run->globs, output) < 0 ||
	    strlist_addf(&run->globs, "%s/**", output) < 0) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	struct phase_options options = {
		.id = run->id,
		.part = "compile",
		.globs = (const char *const *)run->globs.items,
		.keep_output = true,
	};
	int r = phase_start(&run->phase, run->context, &run->compile, &options, err);
	run->compiling = true;
	return r < 0 ? r : run_watch_phase(run, err);
}

/* Only the runtime's output path belongs to the compiler; out/ is dropped. */
static void drop_out(struct brig_result *built)
{
	size_t kept = 0;

	for (size_t i = 0; i < built->files_count; i++) {
		struct brig_file_out file = built->files[i];
		built->files[i] = (struct brig_file_out){ 0 };
		if (strncmp(file.path, "out/", 4) == 0) {
			free(file.path);
			free(file.data);
		} else {
			built->files[kept++] = file;
		}
	}
	built->files_count = kept;
}

/* The compiler has ended: its output becomes the program's input, or its messages the result. */
int run_finish_compiler(struct brig_run *run, struct brig_error *err)
{
	struct brig_result *built = phase_take_result(&run->phase);
	bool cut = run->phase.run->files_cut;
	int r = 0;

	run->compile_cpu_ns = built->usage.cpu_ns;
	run_end_phase(run);
	drop_out(built);
	if (built->status != BRIG_OK || built->files_count == 0 || cut || run->cancelled) {
		if (built->status == BRIG_OK && cut) {
			/* An incomplete program is neither run nor cached. */
			built->status = BRIG_COMPILE_FAILED;
			snprintf(
				built->remedy, sizeof(built->remedy),
				"The output of the compiler is too large: at most %d files, within "
				"its disk limit. Split the program.",
				COMPILED_FILES_MAX);
		} else if (built->status == BRIG_OK || built->status == BRIG_FAILED) {
			built->status = BRIG_COMPILE_FAILED;
			snprintf(built->remedy, sizeof(built->remedy),
				 "The compiler refused the code; its messages are in stderr.");
		} else if (built->status != BRIG_CANCELLED && built->status != BRIG_ERROR) {
			built->status = BRIG_COMPILE_FAILED;
		}
		run->result = built;
		return 1;
	}
	/*
	 * If an input file changed while the compiler read it, the output may not belong to the
	 * key.
	 */
	if (run->key[0] && build_key_holds(&run->compile, run->key)) {
		build_cache_store(run->context->cache_dir, run->key, built->files,
				  built->files_count);
	}
	for (size_t i = 0; r == 0 && i < built->files_count; i++) {
		struct brig_file_out *file = &built->files[i];
		r = prepared_add_input(&run->program, file->path, TAKE_PTR(file->data), file->size,
				       -1, file->executable ? 0755 : 0644, err);
	}
	brig_result_free(built);
	return r < 0 ? r : run_start_program(run, err);
}
