/* SPDX-License-Identifier: Apache-2.0 */
/* TLS to a service: see service_tls.h. */
#include "cli/service/service_tls.h"

#include <stdlib.h>

int service_tls_open(int fd, const char *name, const char *where, struct tls_child *ret,
		     struct brig_error *err)
{
	const char *own = getenv("BRIG_CA");
	const char *authorities = own && *own ? own : "/etc/ssl/certs/ca-certificates.crt";
	const char *argv[] = { "brig-tls", TLS_WORD_CLIENT, name, where, authorities, NULL };
	struct tls_answer answer;

	return tls_program_ask(argv, fd, ret, &answer, err);
}
