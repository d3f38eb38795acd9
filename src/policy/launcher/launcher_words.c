/* SPDX-License-Identifier: Apache-2.0 */
/* The {words} of a launcher's arguments. */
#include "base/cleanup.h"
#include "policy/launcher/launcher.h"

static const struct word list[LAUNCHER_WORDS] = {
	[LAUNCHER_ROOT] = { "root", true },          [LAUNCHER_AGENT] = { "agent", true },
	[LAUNCHER_UID] = { "uid", false },           [LAUNCHER_GID] = { "gid", false },
	[LAUNCHER_HOSTNAME] = { "hostname", false },
};

const struct words launcher_words = { list, ARRAY_SIZE(list) };

int launcher_expand(const struct launcher *launcher, const char *const values[LAUNCHER_WORDS],
		    struct strlist *ret)
{
	return words_expand(&launcher_words, &launcher->arguments, values, ret);
}
