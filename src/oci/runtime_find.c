/* SPDX-License-Identifier: Apache-2.0 */
/* Where the runtimes of a family are. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "oci/oci.h"

static const struct oci_runtime *find_known(const struct oci_family *family, const char *name)
{
	for (size_t i = 0; i < family->count; i++) {
		if (strcmp(family->runtimes[i].name, name) == 0) {
			return &family->runtimes[i];
		}
	}
	return NULL;
}

static int not_known(const struct oci_family *family, const char *wanted, struct brig_error *err)
{
	int r = error_set(err, BRIG_E_POLICY, EINVAL, "%.200s is not %s that brig knows", wanted,
			  family->what);

	error_remedy(err, "%s", family->choices);
	return r;
}

static int not_found(const struct oci_runtime *runtime, const char *wanted, struct brig_error *err)
{
	int r = error_set(err, BRIG_E_HOST, ENOENT, "the OCI runtime %.200s is not on this host",
			  wanted);

	if (strchr(wanted, '/')) {
		error_remedy(err, "correct the path in the policy, or install the runtime there");
	} else if (runtime->package) {
		error_remedy(err, "install it: apt-get install %s", runtime->package);
	} else {
		error_remedy(err, "install it, or name another runtime in the policy");
	}
	return r;
}

int oci_runtime_find(const struct oci_family *family, const char *wanted,
		     const struct oci_runtime **ret, char path[HELD_PATH_MAX],
		     struct brig_error *err)
{
	const char *slash = wanted ? strrchr(wanted, '/') : NULL;

	for (size_t i = 0; !wanted && i < family->count; i++) {
		if (held_find_program(family->runtimes[i].name, path)) {
			*ret = &family->runtimes[i];
			return 0;
		}
	}
	if (!wanted) {
		return not_found(&family->runtimes[0], family->runtimes[0].name, err);
	}
	const struct oci_runtime *known = find_known(family, slash ? slash + 1 : wanted);
	known = known || !slash ? known : family->other;
	if (!known || (slash && wanted[0] != '/')) {
		return not_known(family, wanted, err);
	}
	if (slash && strlen(wanted) < HELD_PATH_MAX && held_is_program(wanted)) {
		snprintf(path, HELD_PATH_MAX, "%s", wanted);
	} else if (slash || !held_find_program(wanted, path)) {
		return not_found(known, wanted, err);
	}
	*ret = known;
	return 0;
}
