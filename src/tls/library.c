/* SPDX-License-Identifier: Apache-2.0 */
/* Initialization of OpenSSL: see library.h. */
#include "tls/library.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <tls.h>

/*
 * Called for each connection that libtls makes, which has no options for these. An idle connection
 * keeps no buffers. No session is stored for resumption: a key is not used beyond its connection,
 * and clients cannot fill a cache.
 */
static void set_up(void *parent, void *ptr, CRYPTO_EX_DATA *data, int index, long number,
		   void *argument)
{
	SSL *connection = parent;

	(void)ptr, (void)data, (void)index, (void)number, (void)argument;
	SSL_set_mode(connection, SSL_MODE_RELEASE_BUFFERS);
	SSL_set_num_tickets(connection, 0);
	SSL_CTX_set_session_cache_mode(SSL_get_SSL_CTX(connection), SSL_SESS_CACHE_OFF);
}

int library_init(struct brig_error *err)
{
	/* No openssl.cnf: it could load modules. Nothing at exit: the kernel frees faster. */
	static const uint64_t options = OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT |
					OPENSSL_INIT_LOAD_SSL_STRINGS |
					OPENSSL_INIT_LOAD_CRYPTO_STRINGS;
	static bool done; /* for the whole process */

	if (done) {
		return 0;
	}
	if (OPENSSL_init_ssl(options, NULL) != 1 || tls_init() != 0 ||
	    SSL_get_ex_new_index(0, NULL, set_up, NULL, NULL) < 0) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "OpenSSL could not be initialized: %s",
				 library_reason());
	}
	done = true;
	return 0;
}

const char *library_reason(void)
{
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());

	ERR_clear_error();
	return reason ? reason : "no reason given";
}
