/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brig-tls: all parts of brig and its service that need OpenSSL; started by brig only, from memory.
 *
 * Theory of operation. As `brig-front --role` it is the front of a service with TLS, which differs
 * from brig's own front by its transport alone. Otherwise its first word names one request of its
 * caller, which it answers on the line that it was given: the check of a certificate and its key,
 * or TLS to a service, whose content it then relays until one side ends.
 *
 * Privileges: its caller's, and no environment. A front gives them up by the table of role/seal.c.
 * OpenSSL reads no configuration, loads no library or module, and resolves no name.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "serve/roles/role_process.h"
#include "tls_program/tls_program.h"

static int front(struct role_process *process, struct brig_error *err)
{
	static const struct front_tls tls = { endpoint_new, endpoint_renew, endpoint_transport,
					      endpoint_free };

	return role_front_with(&tls, process, err);
}

bool tls_answer_send(struct tls_answer *answer, int result)
{
	answer->result = result;
	return send(FD_TLS_LINE, answer, sizeof(*answer), MSG_NOSIGNAL) == sizeof(*answer);
}

int main(int argc, char **argv)
{
	static const role_main roles[ROLE_COUNT] = { [ROLE_FRONT] = front };
	static const struct {
		const char *word;
		int words; /* after this one */
		int (*main)(char *const words[]);
	} requests[] = {
		{ TLS_WORD_CHECK, 2, tls_check_main },
		{ TLS_WORD_CLIENT, 3, tls_client_main },
	};
	int status = role_process_main(argc, argv, roles);

	if (status >= 0) {
		return status;
	}
	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(requests); i++) {
		if (strcmp(argv[1], requests[i].word) == 0 && argc == requests[i].words + 2) {
			prctl(PR_SET_NAME, "brig-tls", 0, 0, 0);
			return requests[i].main(argv + 2);
		}
	}
	fprintf(stderr, "brig-tls: started by brig only\n");
	return TLS_STATUS_WRONG_START;
}
