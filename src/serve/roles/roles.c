/* SPDX-License-Identifier: Apache-2.0 */
/* The roles that brig itself plays. A front with TLS is another program: see src/tls_program. */
#include "serve/roles/role_process.h"
#include "serve/supervisor/supervisor.h"

int serve_role_main(int argc, char **argv)
{
	static const role_main mains[ROLE_COUNT] = {
		[ROLE_FRONT] = role_front,
		[ROLE_WARDEN] = role_warden,
		[ROLE_LEDGER] = role_ledger,
	};

	return role_process_main(argc, argv, mains);
}
