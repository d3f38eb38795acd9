/* SPDX-License-Identifier: Apache-2.0 */
/* A TLS endpoint towards a hostile host: messages in parts; every byte on the wire is charged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "gate_tls/authority.h"
#include "gate_tls/hosts.h"
#include "gate_tls/tls_end.h"
#include "tls/tls_context.h"

#define NAME        "a.test"
#define FRAGMENT    512 /* the shortest that OpenSSL makes */
#define TICKET      3000
#define BODY        100000
#define WHILE_NS    UINT64_C(300000000)
#define AT_MOST_NS  UINT64_C(20000000000)
#define RECORD_HEAD 5

struct host {
	struct loop *loop;
	struct loop_source *source;
	struct loop_timer timer;
	SSL_CTX *context;
	SSL *ssl;
	BIO *in, *out;
	int fd;
	size_t records; /* that may still pass; SIZE_MAX: all */
	size_t behind;  /* that may pass after the handshake */
	size_t got, want;
	uint64_t wire; /* bytes, both ways */
};

struct scene {
	struct gate gate;
	struct tls_hosts *hosts;
	struct host host;
	struct tls_end *end;
	int plain;
};

static unsigned turns; /* of OpenSSL's state machine, in the gate */

static void count_turn(const SSL *ssl, int where, int value)
{
	(void)ssl;
	(void)value;
	turns += where == SSL_CB_CONNECT_EXIT;
}

static int fill_ticket(SSL *ssl, void *user)
{
	static char data[TICKET];

	(void)user;
	return SSL_SESSION_set1_ticket_appdata(SSL_get_session(ssl), data, sizeof(data));
}

static SSL_TICKET_RETURN take_ticket(SSL *ssl, SSL_SESSION *session, const unsigned char *name,
				     size_t size, SSL_TICKET_STATUS status, void *user)
{
	(void)ssl;
	(void)session;
	(void)name;
	(void)size;
	(void)status;
	(void)user;
	return SSL_TICKET_RETURN_IGNORE;
}

/* As many whole records as may pass. */
static void host_send(struct host *host)
{
	unsigned char data[RECORD_HEAD + 16384 + 256];

	while (host->records && BIO_pending(host->out) > 0) {
		assert_int_equal(BIO_read(host->out, data, RECORD_HEAD), RECORD_HEAD);
		int size = data[3] << 8 | data[4];
		assert_int_equal(BIO_read(host->out, data + RECORD_HEAD, size), size);
		size += RECORD_HEAD;
		assert_int_equal(send(host->fd, data, (size_t)size, MSG_NOSIGNAL), size);
		host->wire += (uint64_t)size;
		host->records -= host->records != SIZE_MAX;
	}
}

static void host_stirs(void *user, uint32_t events)
{
	struct host *host = user;
	char data[16384];
	ssize_t n = recv(host->fd, data, sizeof(data), MSG_DONTWAIT);

	(void)events;
	if (n <= 0) {
		loop_stop(host->loop);
		return;
	}
	host->wire += (uint64_t)n;
	assert_int_equal(BIO_write(host->in, data, (int)n), n);
	if (!SSL_is_init_finished(host->ssl) && SSL_do_handshake(host->ssl) == 1) {
		host->records = host->behind;
		host_send(host);
		loop_stop(host->loop);
		return;
	}
	int size = 0;
	while (SSL_is_init_finished(host->ssl) &&
	       (size = SSL_read(host->ssl, data, sizeof(data))) > 0) {
		host->got += (size_t)size;
	}
	host_send(host);
	if (host->want && host->got >= host->want) {
		loop_stop(host->loop);
	}
}

static void on_time(void *user)
{
	loop_stop(((struct host *)user)->loop);
}

static void run_for(struct scene *scene, uint64_t ns)
{
	assert_int_equal(loop_timer_set(scene->gate.loop, &scene->host.timer, clock_now_ns() + ns),
			 0);
	assert_int_equal(loop_run(scene->gate.loop), 0);
	loop_timer_clear(&scene->host.timer);
}

static void nothing_changed(void *user)
{
	(void)user;
}

static void make_host(struct host *host, const struct authority *authority)
{
	EVP_PKEY *key = NULL;
	X509 *certificate = NULL;

	assert_int_equal(authority_sign(authority, NAME, &key, &certificate), 0);
	host->context = SSL_CTX_new(TLS_server_method());
	SSL_CTX_use_certificate(host->context, certificate);
	SSL_CTX_use_PrivateKey(host->context, key);
	SSL_CTX_set_max_send_fragment(host->context, FRAGMENT);
	SSL_CTX_set_num_tickets(host->context, 1);
	SSL_CTX_set_session_ticket_cb(host->context, fill_ticket, take_ticket, NULL);
	EVP_PKEY_free(key);
	X509_free(certificate);
	host->ssl = SSL_new(host->context);
	host->in = BIO_new(BIO_s_mem());
	host->out = BIO_new(BIO_s_mem());
	SSL_set_bio(host->ssl, host->in, host->out);
	SSL_set_accept_state(host->ssl);
	host->records = host->behind = SIZE_MAX;
	host->timer = (struct loop_timer){ .due = on_time, .user = host };
}

static void make_gate(struct scene *scene, const struct authority *authority)
{
	X509_STORE *store = X509_STORE_new();

	scene->hosts = calloc(1, sizeof(*scene->hosts));
	scene->hosts->count = 1;
	memcpy(scene->hosts->list[0].name, NAME, sizeof(NAME));
	assert_int_equal(X509_STORE_add_cert(store, authority->certificate), 1);
	scene->hosts->list[0].client = tls_context_client(store);
	SSL_CTX_set_info_callback(scene->hosts->list[0].client, count_turn);
	X509_STORE_free(store);
	scene->gate.opener_state = scene->hosts;
	scene->gate.limits.bytes = UINT64_C(1) << 40;
	assert_int_equal(loop_new(&scene->gate.loop), 0);
}

static void meet(struct scene *scene)
{
	static const char *const names[] = { NAME };
	struct tls_end_options options = { .host = NAME, .changed = nothing_changed };
	struct authority authority;
	int pair[2];

	*scene = (struct scene){ .plain = -1 };
	assert_int_equal(authority_new(names, 1, &authority), 0);
	make_gate(scene, &authority);
	make_host(&scene->host, &authority);
	authority_free(&authority);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	scene->host.loop = scene->gate.loop;
	scene->host.fd = pair[1];
	options.wire = pair[0];
	assert_int_equal(tls_end_connect(&scene->gate, &options, &scene->end, &scene->plain), 0);
	assert_int_equal(loop_add(scene->gate.loop, pair[1], EPOLLIN, host_stirs, &scene->host,
				  &scene->host.source),
			 0);
}

static void part(struct scene *scene)
{
	tls_end_free(scene->end, true);
	loop_remove(scene->host.source);
	loop_free(scene->gate.loop);
	close(scene->plain);
	close(scene->host.fd);
	SSL_free(scene->host.ssl);
	SSL_CTX_free(scene->host.context);
	SSL_CTX_free(scene->hosts->list[0].client);
	free(scene->hosts);
}

/*
 * A host may begin a message and not end it: OpenSSL then seals nothing before the rest has
 * arrived, although the socket is writable. A loop that waits for writability meanwhile never
 * rests.
 */
static void test_a_message_in_parts(void **state)
{
	static const char body[BODY];
	struct scene scene;

	(void)state;
	meet(&scene);
	/* Of the ticket, which has several records, only the first. */
	scene.host.behind = 1;
	run_for(&scene, AT_MOST_NS);
	assert_true(SSL_is_init_finished(scene.host.ssl));
	assert_true(BIO_pending(scene.host.out) > RECORD_HEAD);
	scene.host.want = sizeof(body);
	assert_true(send(scene.plain, body, sizeof(body), MSG_DONTWAIT) == sizeof(body));
	turns = 0;
	run_for(&scene, WHILE_NS);
	assert_true(scene.end->open && !scene.end->failed);
	assert_int_equal(scene.host.got, 0);
	assert_in_range(turns, 1, 20);
	scene.host.records = SIZE_MAX;
	host_send(&scene.host);
	run_for(&scene, AT_MOST_NS);
	assert_int_equal(scene.host.got, sizeof(body));
	part(&scene);
}

/* No byte on the wire is free of charge; content is charged by the part that forwards it. */
static void test_what_tls_adds_is_paid(void **state)
{
	static const char body[BODY];
	struct scene scene;

	(void)state;
	meet(&scene);
	run_for(&scene, AT_MOST_NS);
	assert_true(SSL_is_init_finished(scene.host.ssl));
	scene.host.want = sizeof(body);
	assert_true(send(scene.plain, body, sizeof(body), MSG_DONTWAIT) == sizeof(body));
	run_for(&scene, AT_MOST_NS);
	assert_int_equal(scene.host.got, sizeof(body));
	uint64_t wire = scene.host.wire;
	struct gate *gate = &scene.gate;
	tls_end_free(TAKE_PTR(scene.end), true);
	assert_int_equal(gate->bytes + sizeof(body), wire);
	assert_int_equal(gate->extra_bytes, gate->bytes);
	part(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_message_in_parts),
		cmocka_unit_test(test_what_tls_adds_is_paid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
