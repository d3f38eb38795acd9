/* SPDX-License-Identifier: Apache-2.0 */
/* A cell of any family of runtimes: its tool, arguments and bundle. */
#include <errno.h>

#include "base/cleanup.h"
#include "oci/oci.h"

int oci_list_arguments(const char *path, const struct oci_runtime *runtime, const char *option,
		       const char *id, struct strlist *ret)
{
	const char *const rest[] = { "--root",   "/" HOLDER_STATE,  "run", "--detach",
				     "--bundle", "/" HOLDER_BUNDLE, id };
	int r = strlist_add(ret, path);

	for (size_t i = 0; r == 0 && i < OCI_OPTIONS_MAX && runtime->options[i]; i++) {
		r = strlist_add(ret, runtime->options[i]);
	}
	r = r < 0 || !option ? r : strlist_add(ret, option);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(rest); i++) {
		r = strlist_add(ret, rest[i]);
	}
	return r;
}

int oci_open(struct run *run, const struct oci_family *family, const struct oci_settings *settings,
	     struct brig_error *err)
{
	const struct spec *spec = run->options.spec;
	const struct oci_runtime *runtime = NULL;
	int r = held_open(run, family->kind, err);

	if (r < 0) {
		return r;
	}
	struct held_cell *held = held_of(run);
	r = oci_runtime_find(family, settings->runtime, &runtime, held->path, err);
	if (r < 0) {
		return r;
	}
	held->tool = runtime->name;
	held->package = runtime->package ? runtime->package : runtime->name;
	held->program = spec->ranged ? 1 : 0;
	bundle_write(spec, &held->plan, family, runtime, &held->bundle);
	if (held->bundle.failed || oci_list_arguments(held->path, runtime, settings->option,
						      run->id, &held->arguments) < 0) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for a cell");
	}
	return 0;
}
