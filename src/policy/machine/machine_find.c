/* SPDX-License-Identifier: Apache-2.0 */
/* The files of machines, and the machine of a policy, which is a part of the policy's hash. */
#include <errno.h>
#include <string.h>

#include "base/bytes/sha256.h"
#include "base/cleanup.h"
#include "policy/candidates.h"
#include "policy/machine/machine.h"
#include "policy/tool_keys.h"

#define FOLDER "machines"

int machine_built_in(const char *name, struct machine *ret, struct brig_error *err)
{
	_cleanup_(policy_text_done)
	struct policy_text text = { 0 };
	int r = tool_file_find(NULL, FOLDER, name, &text, err);

	if (r <= 0) {
		return r < 0 ? r : -ENOENT;
	}
	return machine_parse(name, text.place, text.data, text.size, ret, err);
}

int machine_names(struct strlist *ret)
{
	return tool_file_names(FOLDER, ret);
}

static int not_found(const struct json_doc *doc, const char *name, struct brig_error *err)
{
	json_doc_error(doc, "vm.monitor", BRIG_E_POLICY, err, "machine not found: \"%.64s\"", name);
	error_remedy(err, "set vm.monitor to \"" MACHINE_QEMU "\", or to NAME of a "
			  "machines/NAME.json in the configuration directory");
	return -ENOENT;
}

int machine_apply(const struct policy_source *source, const struct json_doc *doc,
		  struct policy *policy, struct sha256 *hash, bool *chained, struct brig_error *err)
{
	const char *name = policy->vm_monitor;
	_cleanup_(policy_text_done)
	struct policy_text text = { 0 };

	if (!name[0] || strcmp(name, MACHINE_QEMU) == 0 ||
	    !policy_candidate(policy, vm_provider.name)) {
		return 0;
	}
	int r = tool_file_find(source, FOLDER, name, &text, err);
	if (r <= 0) {
		return r < 0 ? r : not_found(doc, name, err);
	}
	*chained = true;
	sha256_add_field(hash, text.data, text.size);
	r = machine_parse(name, text.place, text.data, text.size, &policy->machine, err);
	policy->vm.machine = r < 0 ? NULL : &policy->machine;
	return r;
}
