/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both ends of TLS over a pair of sockets, with the settings that every program has: content and
 * its end, peers that are cut off, turns, versions, protocols, names. And texts in PEM form.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <openssl/pem.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "gate_tls/authority.h"
#include "tls/pem.h"
#include "tls/tls_context.h"
#include "tls/tls_stream.h"

#define NAME  "a.test"
#define TURNS 16

struct scene {
	struct authority authority;
	SSL_CTX *server_context, *client_context;
	struct tls_stream server, client;
};

static void scene_init(struct scene *scene, bool strict)
{
	static const char *const names[] = { NAME };
	EVP_PKEY *key = NULL;
	X509 *certificate = NULL;
	X509_STORE *store = X509_STORE_new();
	int pair[2];

	*scene = (struct scene){ 0 };
	assert_int_equal(authority_new(names, 1, &scene->authority), 0);
	assert_int_equal(authority_sign(&scene->authority, NAME, &key, &certificate), 0);
	assert_int_equal(X509_STORE_add_cert(store, scene->authority.certificate), 1);
	scene->server_context = tls_context_server(strict);
	scene->client_context = tls_context_client(store);
	assert_int_equal(SSL_CTX_use_certificate(scene->server_context, certificate), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(scene->server_context, key), 1);
	X509_STORE_free(store);
	X509_free(certificate);
	EVP_PKEY_free(key);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	scene->server.wire.fd = pair[0];
	scene->client.wire.fd = pair[1];
	scene->server.wire.left = scene->client.wire.left = SIZE_MAX;
}

static void scene_open(struct scene *scene, const char *name)
{
	assert_int_equal(tls_stream_init(&scene->server, scene->server_context), 0);
	assert_int_equal(tls_stream_init(&scene->client, scene->client_context), 0);
	assert_true(SSL_is_server(scene->server.ssl) && !SSL_is_server(scene->client.ssl));
	assert_true(tls_name_peer(scene->client.ssl, name));
}

static void scene_done(struct scene *scene)
{
	tls_stream_done(&scene->server);
	tls_stream_done(&scene->client);
	close_fd(&scene->server.wire.fd);
	close_fd(&scene->client.wire.fd);
	SSL_CTX_free(scene->server_context);
	SSL_CTX_free(scene->client_context);
	authority_free(&scene->authority);
}

/* Until neither end waits for the other; the results of both. */
static void shake(struct scene *scene, int *server, int *client)
{
	*server = *client = TLS_WANTS_INPUT;
	for (int i = 0; i < TURNS; i++) {
		*client = *client == TLS_WANTS_INPUT ? tls_stream_shake(&scene->client) : *client;
		*server = *server == TLS_WANTS_INPUT ? tls_stream_shake(&scene->server) : *server;
	}
}

static void meet(struct scene *scene)
{
	int server, client;

	shake(scene, &server, &client);
	assert_int_equal(server, 0);
	assert_int_equal(client, 0);
}

static void test_content(void **state)
{
	static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };
	char data[TLS_RECORD_BYTES], got[TLS_RECORD_BYTES];

	(void)state;
	memset(data, 'x', sizeof(data));
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		struct scene scene;
		scene_init(&scene, true);
		SSL_CTX_set_max_proto_version(scene.client_context, versions[i]);
		scene_open(&scene, NAME);
		meet(&scene);
		assert_int_equal(SSL_version(scene.server.ssl), versions[i]);
		assert_int_equal(tls_stream_receive(&scene.server, got, sizeof(got)),
				 TLS_WANTS_INPUT);
		assert_int_equal(tls_stream_send(&scene.client, data, sizeof(data)), sizeof(data));
		assert_int_equal(tls_stream_receive(&scene.server, got, sizeof(got)), sizeof(got));
		assert_memory_equal(data, got, sizeof(got));
		assert_int_equal(tls_stream_end(&scene.server), 0);
		assert_int_equal(tls_stream_receive(&scene.client, got, sizeof(got)), 0);
		/* No session is left for another connection. */
		assert_false(SSL_SESSION_is_resumable(SSL_get0_session(scene.client.ssl)) &&
			     SSL_SESSION_has_ticket(SSL_get0_session(scene.client.ssl)));
		assert_int_equal(SSL_CTX_sess_number(scene.server_context), 0);
		scene_done(&scene);
	}
}

static void test_full_socket(void **state)
{
	static char data[TLS_RECORD_BYTES], got[TLS_RECORD_BYTES];
	struct scene scene;
	size_t sent = 0, received = 0;
	ssize_t n;

	(void)state;
	scene_init(&scene, true);
	scene_open(&scene, NAME);
	meet(&scene);
	while ((n = tls_stream_send(&scene.server, data, sizeof(data))) > 0) {
		sent += (size_t)n;
	}
	assert_int_equal(n, TLS_WANTS_OUTPUT);
	while ((n = tls_stream_receive(&scene.client, got, sizeof(got))) > 0) {
		received += (size_t)n;
	}
	assert_int_equal(n, TLS_WANTS_INPUT);
	/* The record that was begun is finished with the same bytes from another place. */
	assert_int_equal(tls_stream_send(&scene.server, got, sizeof(got)), sizeof(got));
	sent += sizeof(got);
	while ((n = tls_stream_receive(&scene.client, got, sizeof(got))) > 0) {
		received += (size_t)n;
	}
	assert_int_equal(received, sent);
	scene_done(&scene);
}

static void test_cut_off(void **state)
{
	static const unsigned char close_notify[] = {
		SSL3_RT_ALERT, 3, 3, 0, 2, SSL3_AL_WARNING, SSL_AD_CLOSE_NOTIFY
	};
	struct scene scene;
	char got[64];

	(void)state;
	scene_init(&scene, true);
	scene_open(&scene, NAME);
	meet(&scene);
	close_fd(&scene.client.wire.fd);
	assert_int_equal(tls_stream_receive(&scene.server, got, sizeof(got)), -EPROTO);
	assert_true(scene.server.wire.over);
	/* Nobody reads this any more, and no signal is raised. */
	assert_int_equal(tls_stream_end(&scene.server), 0);
	scene_done(&scene);
	/* In the middle of the handshake. */
	scene_init(&scene, true);
	scene_open(&scene, NAME);
	assert_int_equal(tls_stream_shake(&scene.client), TLS_WANTS_INPUT);
	assert_int_equal(tls_stream_shake(&scene.server), TLS_WANTS_INPUT);
	close_fd(&scene.client.wire.fd);
	assert_int_equal(tls_stream_shake(&scene.server), -EPROTO);
	scene_done(&scene);
	/* The same with an alert: a handshake that ends cleanly is not one that succeeds. */
	scene_init(&scene, true);
	scene_open(&scene, NAME);
	assert_int_equal(tls_stream_shake(&scene.client), TLS_WANTS_INPUT);
	assert_int_equal(tls_stream_shake(&scene.server), TLS_WANTS_INPUT);
	assert_int_equal(send(scene.client.wire.fd, close_notify, sizeof(close_notify), 0),
			 sizeof(close_notify));
	assert_int_equal(tls_stream_shake(&scene.server), -EPROTO);
	scene_done(&scene);
}

static void test_turns(void **state)
{
	struct scene scene;

	(void)state;
	scene_init(&scene, true);
	scene_open(&scene, NAME);
	scene.server.wire.left = 10;
	assert_int_equal(tls_stream_shake(&scene.client), TLS_WANTS_INPUT);
	assert_int_equal(tls_stream_shake(&scene.server), TLS_WANTS_INPUT);
	assert_int_equal(scene.server.wire.received, 10);
	assert_int_equal(scene.server.wire.opening, SSL3_RT_HANDSHAKE);
	assert_int_equal(tls_stream_shake(&scene.server), TLS_WANTS_INPUT);
	assert_int_equal(scene.server.wire.received, 10);
	scene.server.wire.left = SIZE_MAX;
	meet(&scene);
	scene_done(&scene);
}

static void test_old_versions(void **state)
{
	struct scene scene;
	int server, client;

	(void)state;
	scene_init(&scene, true);
	SSL_CTX_set_security_level(scene.client_context, 0);
	SSL_CTX_set_min_proto_version(scene.client_context, TLS1_VERSION);
	SSL_CTX_set_max_proto_version(scene.client_context, TLS1_1_VERSION);
	SSL_CTX_set_cipher_list(scene.client_context, "ALL");
	scene_open(&scene, NAME);
	shake(&scene, &server, &client);
	assert_int_equal(server, -EPROTO);
	assert_int_equal(client, -EPROTO);
	scene_done(&scene);
}

/* No forward secrecy; records in CBC; no certificate. */
static void test_old_ciphers(void **state)
{
	static const char *const lists[] = {
		"AES128-GCM-SHA256:AES128-SHA",
		"ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES128-SHA",
		"ADH:AECDH",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		struct scene scene;
		int server, client;
		scene_init(&scene, true);
		SSL_CTX_set_max_proto_version(scene.client_context, TLS1_2_VERSION);
		SSL_CTX_set_security_level(scene.client_context, 0);
		assert_int_equal(SSL_CTX_set_cipher_list(scene.client_context, lists[i]), 1);
		scene_open(&scene, NAME);
		shake(&scene, &server, &client);
		assert_int_equal(server, -EPROTO);
		assert_int_equal(client, -EPROTO);
		scene_done(&scene);
	}
}

static void test_other_protocols(void **state)
{
	static const unsigned char other[] = "\x02h2";

	(void)state;
	for (int strict = 0; strict < 2; strict++) {
		const unsigned char *chosen = NULL;
		unsigned size = 1;
		struct scene scene;
		int server, client;
		scene_init(&scene, strict);
		SSL_CTX_set_alpn_protos(scene.client_context, other, sizeof(other) - 1);
		scene_open(&scene, NAME);
		shake(&scene, &server, &client);
		assert_int_equal(server, strict ? -EPROTO : 0);
		assert_int_equal(client, strict ? -EPROTO : 0);
		SSL_get0_alpn_selected(scene.client.ssl, &chosen, &size);
		assert_int_equal(size, 0);
		scene_done(&scene);
	}
}

static void test_names(void **state)
{
	static const struct {
		const char *name;
		long proof;
		bool is_sent;
	} cases[] = {
		{ NAME, X509_V_OK, true },
		{ "b.test", X509_V_ERR_HOSTNAME_MISMATCH, true },
		{ "127.0.0.1", X509_V_ERR_IP_ADDRESS_MISMATCH, false },
		{ "::1", X509_V_ERR_IP_ADDRESS_MISMATCH, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scene scene;
		int server, client;
		scene_init(&scene, true);
		scene_open(&scene, cases[i].name);
		shake(&scene, &server, &client);
		assert_int_equal(client, cases[i].proof == X509_V_OK ? 0 : -EPROTO);
		assert_int_equal(SSL_get_verify_result(scene.client.ssl), cases[i].proof);
		assert_int_equal(SSL_get_servername(scene.server.ssl, TLSEXT_NAMETYPE_host_name) !=
					 NULL,
				 cases[i].is_sent);
		scene_done(&scene);
	}
}

static void test_pem(void **state)
{
	static const char *const names[] = { NAME };
	BIO *bio = BIO_new(BIO_s_mem()), *secret = BIO_new(BIO_s_mem());
	STACK_OF(X509) *list = NULL;
	struct authority authority;
	EVP_PKEY *key = NULL;
	char *text, word[] = "word";

	(void)state;
	assert_int_equal(authority_new(names, 1, &authority), 0);
	assert_int_equal(PEM_write_bio_X509(bio, authority.certificate), 1);
	size_t one = (size_t)BIO_get_mem_data(bio, &text);
	assert_int_equal(PEM_write_bio_PrivateKey(bio, authority.key, NULL, NULL, 0, NULL, NULL),
			 1);
	assert_int_equal(PEM_write_bio_X509(bio, authority.certificate), 1);
	size_t size = (size_t)BIO_get_mem_data(bio, &text);
	/* A key in between is passed over. */
	assert_int_equal(pem_certificates(text, size, 2, &list), 0);
	assert_int_equal(sk_X509_num(list), 2);
	pem_certificates_free(&list);
	assert_int_equal(pem_certificates(text, size, 1, &list), -E2BIG);
	assert_int_equal(pem_certificates(text, size - 40, 2, &list), -EBADMSG);
	assert_int_equal(pem_certificates("none\n", 5, 2, &list), -ENODATA);
	assert_null(list);
	assert_int_equal(pem_key(text, size, &key), 0);
	assert_int_equal(EVP_PKEY_eq(key, authority.key), 1);
	EVP_PKEY_free(key);
	assert_int_equal(pem_key(text, one, &key), -ENODATA);
	assert_int_equal(pem_key(text, one + 100, &key), -EBADMSG);
	assert_int_equal(PEM_write_bio_PrivateKey(secret, authority.key, EVP_aes_256_cbc(), NULL, 0,
						  NULL, word),
			 1);
	size = (size_t)BIO_get_mem_data(secret, &text);
	assert_int_equal(pem_key(text, size, &key), -EACCES);
	BIO_free(bio);
	BIO_free(secret);
	authority_free(&authority);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_content),
		cmocka_unit_test(test_full_socket),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_old_versions),
		cmocka_unit_test(test_old_ciphers),
		cmocka_unit_test(test_other_protocols),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_pem),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
