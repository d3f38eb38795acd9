/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher of a policy: found by the name in it, read, and made a part of the policy's hash. */
#include <errno.h>

#include "base/bytes/sha256.h"
#include "base/cleanup.h"
#include "policy/candidates.h"
#include "policy/policy_reader.h"
#include "policy/source.h"

static int not_found(const struct json_doc *doc, const char *name, struct brig_error *err)
{
	json_doc_error(doc, name[0] ? "launcher.name" : "provider", BRIG_E_POLICY, err,
		       name[0] ? "launcher not found: \"%.64s\"" : "no launcher%s is named", name);
	error_remedy(err, "set launcher.name to \"bubblewrap\", or to NAME of a "
			  "launchers/NAME.json in the configuration directory");
	return -ENOENT;
}

int launcher_apply(const struct policy_source *source, const struct json_doc *doc,
		   struct policy *policy, struct sha256 *hash, bool *chained,
		   struct brig_error *err)
{
	const char *name = policy->launcher_name;
	_cleanup_(policy_text_done)
	struct policy_text text = { 0 };

	if (!policy_candidate(policy, launcher_provider.name)) {
		return 0;
	}
	int r = name[0] ? launcher_find(source, name, &text, err) : 0;
	if (r <= 0) {
		return r < 0 ? r : not_found(doc, name, err);
	}
	*chained = true;
	sha256_add_field(hash, text.data, text.size);
	return launcher_parse(name, text.place, text.data, text.size, &policy->launcher, err);
}
