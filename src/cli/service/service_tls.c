/* SPDX-License-Identifier: Apache-2.0 */
/* TLS to a service: see service_tls.h. */
#include "cli/service/service_tls.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "tls/library.h"
#include "tls/pem.h"
#include "tls/tls_context.h"
#include "tls/tls_stream.h"

#define AUTHORITIES_BYTES_MAX (16u << 20)

struct service_tls {
	struct tls_stream stream;
};

/* true: try again, after waiting for what TLS needs. */
static bool waits(const struct service_tls *tls, ssize_t r)
{
	struct pollfd ready = { .fd = tls->stream.wire.fd,
				.events = r == TLS_WANTS_INPUT ? POLLIN : POLLOUT };

	if (r != TLS_WANTS_INPUT && r != TLS_WANTS_OUTPUT) {
		return false;
	}
	(void)poll(&ready, 1, -1);
	return true;
}

/* --- trust ----------------------------------------------------------------------------------- */

static int read_text(const char *path, struct buf *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char data[8192];
	ssize_t n;

	if (fd < 0) {
		return -errno;
	}
	while ((n = read(fd, data, sizeof(data))) > 0) {
		buf_add(ret, data, (size_t)n);
		if (ret->failed || ret->size > AUTHORITIES_BYTES_MAX) {
			return -EFBIG;
		}
	}
	return n < 0 ? -errno : 0;
}

static int read_authorities(X509_STORE **ret, struct brig_error *err)
{
	const char *own = getenv("BRIG_CA");
	const char *path = own && *own ? own : "/etc/ssl/certs/ca-certificates.crt";
	_cleanup_(buf_done)
	struct buf text = { 0 };
	int r = read_text(path, &text);

	if (r < 0) {
		error_errno(err, BRIG_E_INPUT, -r, "cannot read authorities from %s", path);
		error_remedy(err, "install ca-certificates, or set BRIG_CA to your own file");
		return r;
	}
	*ret = pem_authorities(text.data, text.size);
	if (*ret) {
		return 0;
	}
	error_set(err, BRIG_E_INPUT, EINVAL,
		  "cannot read authorities from %s: it holds no certificate in PEM form, or one is "
		  "damaged",
		  path);
	error_remedy(err, "install ca-certificates again, or set BRIG_CA to your own file");
	return -EINVAL;
}

/* --- the handshake --------------------------------------------------------------------------- */

static int shake_failed(const struct service_tls *tls, const char *where, struct brig_error *err)
{
	long proof = SSL_get_verify_result(tls->stream.ssl);
	int r = proof == X509_V_OK
			? error_set(err, BRIG_E_SYSTEM, EPROTO, "TLS handshake with %s failed: %s",
				    where, library_reason())
			: error_set(err, BRIG_E_SYSTEM, EPROTO,
				    "TLS handshake with %s failed: certificate verification "
				    "failed: %s",
				    where, X509_verify_cert_error_string(proof));

	error_remedy(err,
		     "set BRIG_CA to a file with the authority that signed its certificate; use "
		     "http:// if that port has no TLS");
	return r;
}

static int shake(struct service_tls *tls, const char *where, struct brig_error *err)
{
	int r;

	do {
		r = tls_stream_shake(&tls->stream);
	} while (waits(tls, r));
	return r < 0 ? shake_failed(tls, where, err) : 0;
}

int service_tls_open(int fd, const char *name, const char *where, struct service_tls **ret,
		     struct brig_error *err)
{
	X509_STORE *trusted = NULL;
	int r = library_init(err);

	r = r < 0 ? r : read_authorities(&trusted, err);
	if (r < 0) {
		return r;
	}
	SSL_CTX *context = tls_context_client(trusted);
	struct service_tls *tls = context ? calloc(1, sizeof(*tls)) : NULL;
	if (tls) {
		tls->stream.wire.fd = fd;
		tls->stream.wire.left = SIZE_MAX; /* this process has nothing else to do */
	}
	r = tls && tls_stream_init(&tls->stream, context) == 0 &&
			    tls_name_peer(tls->stream.ssl, name)
		    ? shake(tls, where, err)
		    : error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for TLS");
	SSL_CTX_free(context); /* the stream has its own reference */
	X509_STORE_free(trusted);
	if (r < 0) {
		service_tls_close(tls);
		return r;
	}
	*ret = tls;
	return 0;
}

void service_tls_close(struct service_tls *tls)
{
	if (tls) {
		if (tls->stream.ssl) {
			(void)tls_stream_end(&tls->stream);
		}
		tls_stream_done(&tls->stream);
		free(tls);
	}
}

ssize_t service_tls_send(struct service_tls *tls, const char *data, size_t size)
{
	ssize_t n;

	do {
		n = tls_stream_send(&tls->stream, data, size);
	} while (waits(tls, n));
	return n;
}

ssize_t service_tls_receive(struct service_tls *tls, char *data, size_t size)
{
	ssize_t n;

	do {
		n = tls_stream_receive(&tls->stream, data, size);
	} while (waits(tls, n));
	return n;
}
