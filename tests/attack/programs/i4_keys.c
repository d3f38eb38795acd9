/* SPDX-License-Identifier: Apache-2.0 */
/* I4: keys, in every keyring that a process has. usage: i4_keys store|find|drop NAME */
#include <linux/keyctl.h>
#include <sys/syscall.h>

#include "say.h"

static const struct {
	const char *name;
	int ring;
} rings[] = {
	{ "thread", KEY_SPEC_THREAD_KEYRING },
	{ "process", KEY_SPEC_PROCESS_KEYRING },
	{ "session", KEY_SPEC_SESSION_KEYRING },
	{ "user", KEY_SPEC_USER_KEYRING },
	{ "user_session", KEY_SPEC_USER_SESSION_KEYRING },
};

int main(int argc, char **argv)
{
	if (argc < 3) {
		return 99;
	}
	for (size_t i = 0; i < sizeof(rings) / sizeof(rings[0]); i++) {
		long key;
		if (strcmp(argv[1], "store") == 0) {
			key = syscall(SYS_add_key, "user", argv[2], "secret", 6, rings[i].ring);
		} else {
			key = syscall(SYS_keyctl, KEYCTL_SEARCH, rings[i].ring, "user", argv[2], 0);
		}
		/*
		 * Unlinked from its ring: to invalidate the key itself, the session must have it
		 * too.
		 */
		if (strcmp(argv[1], "drop") == 0 && key >= 0) {
			key = syscall(SYS_keyctl, KEYCTL_UNLINK, key, rings[i].ring);
		}
		say(rings[i].name, "%s", outcome(key));
	}
	try("request_key", syscall(SYS_request_key, "user", argv[2], NULL, 0));
	return 0;
}
