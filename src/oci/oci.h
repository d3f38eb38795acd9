/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cell that an OCI runtime builds, in a holder (holder/held.h). The runtime builds the container
 * from a bundle, starts brig's agent as its first process, and is done (`run --detach`); the agent
 * becomes a child of the holder.
 *
 * Two providers are made of this: `oci`, whose runtimes make namespaces of this kernel, and
 * `gvisor`, whose runtime starts a kernel of its own (the *sentry*) as an ordinary process. Each
 * has a family of runtimes.
 */
#ifndef BRIG_OCI_OCI_H
#define BRIG_OCI_OCI_H

#include "holder/held.h"

#define OCI_OPTIONS_MAX 8

/* The facts about a runtime that brig depends on. */
struct oci_runtime {
	const char *name;
	const char *package;                  /* that has it, for the repair; NULL: none */
	const char *options[OCI_OPTIONS_MAX]; /* before the command */
	/* It needs a root in the container, so an ordinary user's program has the id 0. */
	bool needs_root;
};

struct oci_family {
	const struct provider *provider;
	const struct held_kind *kind;
	const char *what;    /* for errors: "an OCI runtime" */
	const char *choices; /* for the repair */
	size_t count;
	struct oci_runtime runtimes[3];  /* in the order in which they are looked for */
	const struct oci_runtime *other; /* one at a path of the operator's, with another name */
};
extern const struct oci_family oci_family, gvisor_family;

/* The settings of a policy for a family. */
struct oci_settings {
	const char *runtime; /* name or absolute path; NULL: the first that is found */
	const char *option;  /* one more, before the command; NULL: none */
};

/* The members of a provider, with its family. */
int oci_open(struct run *run, const struct oci_family *family, const struct oci_settings *settings,
	     struct brig_error *err);
void oci_explain(const struct oci_family *family, const struct oci_settings *settings,
		 const struct spec *spec, bool json, struct buf *out);

/*
 * Finds a runtime by its name or absolute path; NULL: the first of the family that is there.
 * -ENOENT: not found; -EINVAL: no known name, and no path.
 */
int oci_runtime_find(const struct oci_family *family, const char *wanted,
		     const struct oci_runtime **ret, char path[HELD_PATH_MAX],
		     struct brig_error *err);
/* path OPTIONS... --root STATE run --detach --bundle BUNDLE ID */
int oci_list_arguments(const char *path, const struct oci_runtime *runtime, const char *option,
		       const char *id, struct strlist *ret);

/* The runtime's configuration, as JSON. Pure. */
void bundle_write(const struct spec *spec, const struct plan *plan, const struct oci_family *family,
		  const struct oci_runtime *runtime, struct buf *out);
#endif
