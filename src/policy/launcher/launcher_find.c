/* SPDX-License-Identifier: Apache-2.0 */
/* The files of launchers: the operator's directory first, then the built-in ones. */
#include <errno.h>

#include "base/cleanup.h"
#include "policy/launcher/launcher.h"
#include "policy/tool_keys.h"

#define FOLDER "launchers"

int launcher_find(const struct policy_source *source, const char *name, struct policy_text *ret,
		  struct brig_error *err)
{
	return tool_file_find(source, FOLDER, name, ret, err);
}

int launcher_built_in(const char *name, struct launcher *ret, struct brig_error *err)
{
	_cleanup_(policy_text_done)
	struct policy_text text = { 0 };
	int r = launcher_find(NULL, name, &text, err);

	if (r <= 0) {
		return r < 0 ? r : -ENOENT;
	}
	return launcher_parse(name, text.place, text.data, text.size, ret, err);
}

int launcher_names(struct strlist *ret)
{
	return tool_file_names(FOLDER, ret);
}
