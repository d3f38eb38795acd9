/* SPDX-License-Identifier: Apache-2.0 */
/* TLS towards the cell: for one host each, and no other name. See hosts.h. */
#include <string.h>

#include "gate/tls/client_hello.h"
#include "gate_tls/hosts.h"
#include "tls/tls_context.h"

/* Checks the second ClientHello as well, which a program sends when it is asked for another key. */
static int judge_hello(SSL *ssl, int *alert, void *user)
{
	const struct tls_host *host = user;
	char name[NET_NAME_MAX + 1];
	const unsigned char *data;
	size_t size;

	*alert = SSL_AD_UNRECOGNIZED_NAME;
	return SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &data, &size) == 1 &&
			       hello_name_parse(data, size, name) == 0 &&
			       strcmp(name, host->name) == 0
		       ? SSL_CLIENT_HELLO_SUCCESS
		       : SSL_CLIENT_HELLO_ERROR;
}

SSL_CTX *tls_host_context(struct tls_host *host)
{
	SSL_CTX *context = tls_context_server(true);

	if (context) {
		SSL_CTX_set_client_hello_cb(context, judge_hello, host);
	}
	return context;
}
