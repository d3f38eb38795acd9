/* SPDX-License-Identifier: Apache-2.0 */
/* The supported versions of the protocol. */
#include <string.h>

#include "base/cleanup.h"
#include "mcp/mcp_internal.h"

static const struct {
	const char *version;
	bool modern;
} versions[] = {
	{ VERSION_MODERN, true }, { VERSION_LATEST, false }, { "2025-06-18", false },
	{ "2025-03-26", false },  { "2024-11-05", false },
};

const char *mcp_version_known(const char *version, bool modern)
{
	for (size_t i = 0; version && i < ARRAY_SIZE(versions); i++) {
		if (versions[i].modern == modern && strcmp(versions[i].version, version) == 0) {
			return versions[i].version;
		}
	}
	return NULL;
}

json_t *mcp_versions(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		json_array_append_new(list, json_string(versions[i].version));
	}
	return list;
}

/* Versions are dates that sort as text. */
bool mcp_version_from(const char *version, const char *first)
{
	return version && strcmp(version, first) >= 0;
}
