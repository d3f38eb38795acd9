/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's side of TLS as a transport of HTTP, with the settings of tls/tls_context.h. Clients
 * are not asked for certificates.
 */
#ifndef BRIG_HTTP_TLS_ENDPOINT_H
#define BRIG_HTTP_TLS_ENDPOINT_H

#include <stddef.h>

#include "base/error.h"
#include "http/http.h"

#define ENDPOINT_CHAIN_MAX 16 /* certificates */

struct endpoint;

/*
 * Texts in PEM form; they stay the caller's. All files that OpenSSL would open later are read here,
 * so that no file is needed afterwards.
 */
struct endpoint_texts {
	const char *certificate; /* the server's own, then the rest of its chain */
	size_t certificate_size;
	const char *key;
	size_t key_size;
};

int endpoint_new(const struct endpoint_texts *texts, struct endpoint **ret, struct brig_error *err);
/*
 * Another certificate and key for new connections; open ones keep theirs. On failure nothing
 * changes. Needs no file, and no system call that a connection does not need.
 */
int endpoint_renew(struct endpoint *endpoint, const struct endpoint_texts *texts,
		   struct brig_error *err);
/* Not before the last connection over it has ended. */
void endpoint_free(struct endpoint *endpoint);
const struct http_transport *endpoint_transport(const struct endpoint *endpoint);
#endif
