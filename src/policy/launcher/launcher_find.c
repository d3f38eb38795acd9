/* SPDX-License-Identifier: Apache-2.0 */
/* The files of launchers: the operator's directory first, then the built-in ones. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/embedded.h"
#include "base/id.h"
#include "policy/launcher/launcher.h"
#include "policy/source.h"

#define LAUNCHERS "launchers/"
#define JSON      ".json"

int launcher_find(const struct policy_source *source, const char *name, struct policy_text *ret,
		  struct brig_error *err)
{
	char file[sizeof(LAUNCHERS) + 64 + sizeof(JSON)];
	int r = 0;

	if (!id_name_valid(name)) {
		return 0;
	}
	(void)snprintf(file, sizeof(file), LAUNCHERS "%s" JSON, name);
	if (source && source->config_dir) {
		r = policy_text_configured(source, file, ret, err);
	}
	return r != 0 ? r : policy_text_built_in(file, ret, err);
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
	int r = 0;

	for (size_t i = 0; r == 0 && i < embedded_files_count; i++) {
		const char *path = embedded_files[i].path;
		if (strncmp(path, LAUNCHERS, strlen(LAUNCHERS)) == 0) {
			size_t length = strlen(path) - strlen(LAUNCHERS) - strlen(JSON);
			r = strlist_addf(ret, "%.*s", (int)length, path + strlen(LAUNCHERS));
		}
	}
	return r;
}
