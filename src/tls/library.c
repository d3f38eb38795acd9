/* SPDX-License-Identifier: Apache-2.0 */
/* Initialization of OpenSSL: see library.h. */
#include "tls/library.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

int library_init(struct brig_error *err)
{
	/* No openssl.cnf: it could load modules. Nothing at exit: the kernel frees faster. */
	static const uint64_t options = OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT |
					OPENSSL_INIT_LOAD_SSL_STRINGS |
					OPENSSL_INIT_LOAD_CRYPTO_STRINGS;

	if (OPENSSL_init_ssl(options, NULL) != 1) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "OpenSSL could not be initialized: %s",
				 library_reason());
	}
	return 0;
}

const char *library_reason(void)
{
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());

	ERR_clear_error();
	return reason ? reason : "no reason given";
}
