/* SPDX-License-Identifier: Apache-2.0 */
/* Error messages for cells that could not be built: the step, the cause, the remedy. */
#include <errno.h>
#include <string.h>

#include "native/native_internal.h"
#include "native/plan/step_members.h"

static const struct {
	enum step_kind kind;
	int errnum; /* 0: any */
	enum brig_code code;
	const char *message;
	const char *remedy;
} known[] = {
	{ STEP_CLONE, EPERM, BRIG_E_HOST, "the host does not let this user make user namespaces",
	  "as root: sysctl -w kernel.unprivileged_userns_clone=1 (Debian), sysctl -w "
	  "kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu); see brig doctor" },
	{ STEP_CLONE, ENOSPC, BRIG_E_HOST, "the host allows no more namespaces",
	  "as root: raise user.max_user_namespaces and its siblings with sysctl; see brig doctor" },
	{ STEP_CLONE, EAGAIN, BRIG_E_SYSTEM, "the host allows this user no more processes",
	  "raise ulimit -u, or run fewer cells at once" },
	{ STEP_INNER, EPERM, BRIG_E_HOST, "the host does not allow nested user namespaces",
	  "see brig doctor" },
	{ STEP_PROC, EPERM, BRIG_E_HOST, "the host does not allow the cell its own /proc",
	  "inside a container: run it with an unmasked /proc (docker: --security-opt "
	  "systempaths=unconfined)" },
	{ STEP_INPUT, ENOSPC, BRIG_E_INPUT, "the input files do not fit into the cell's disk",
	  "raise --disk or --inodes, or pass fewer files" },
	{ STEP_INPUT, EEXIST, BRIG_E_INPUT, "two input files have the same name", "rename one" },
	{ STEP_INPUT, ENOTDIR, BRIG_E_INPUT, "an input file lies beneath another input file",
	  "rename one" },
	{ STEP_INPUT, ESTALE, BRIG_E_INPUT, "an input file shrank while it was copied",
	  "pass it again" },
	{ STEP_EXEC, ENOENT, BRIG_E_INPUT, "the program is not in the cell",
	  "name it by its full path, or pass it with --in" },
	{ STEP_EXEC, EACCES, BRIG_E_INPUT, "the program cannot be executed",
	  "chmod +x it; policies with exec_writable false forbid programs in /sandbox" },
	{ STEP_EXEC, ENOEXEC, BRIG_E_INPUT, "the file is not a program",
	  "start it with its interpreter" },
	{ STEP_EXEC, E2BIG, BRIG_E_INPUT, "arguments and environment are too large",
	  "pass long data in a file or by stdin" },
};

int native_build_error(const struct step *step, int errnum, struct brig_error *err)
{
	const char *name = step_table[step->kind].name;
	const char *thing = step_path(step) ? step_path(step) : "";
	int r;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i].kind == step->kind && known[i].errnum == errnum) {
			r = error_set(err, known[i].code, errnum, "%s%s%s (step %s: %s)",
				      known[i].message, *thing ? ": " : "", thing, name,
				      strerror(errnum));
			error_remedy(err, "%s", known[i].remedy);
			error_step(err, name);
			return r;
		}
	}
	r = error_set(err, BRIG_E_SYSTEM, errnum, "cannot build the cell: step %s%s%s: %s", name,
		      *thing ? " " : "", thing, strerror(errnum));
	error_remedy(err, "brig doctor shows what this host can enforce");
	error_step(err, name);
	return r;
}
