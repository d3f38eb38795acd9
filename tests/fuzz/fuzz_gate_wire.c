/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wire beneath the gate's TLS: bytes that were read ahead and bytes from the socket, cut in any
 * way, reach OpenSSL once each and in order, and never more in a turn than allowed.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tls/socket_bio.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STEPS_MAX 32
#define BYTES_MAX 4096

struct peer {
	int line;            /* -1: it has ended */
	const uint8_t *data; /* all bytes for OpenSSL */
	size_t size, said, seen;
};

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

static void say(struct peer *peer, size_t size)
{
	size_t left = peer->size - peer->said;
	size_t part = size < left ? size : left;

	if (part && peer->line >= 0) {
		ssize_t n = send(peer->line, peer->data + peer->said, part,
				 MSG_DONTWAIT | MSG_NOSIGNAL);
		peer->said += n > 0 ? (size_t)n : 0;
	}
}

static void hear(struct peer *peer, struct socket_bio *wire, BIO *bio, size_t room)
{
	char got[256];
	size_t before = wire->left, ahead = wire->first.size - wire->first_taken;
	int n = BIO_read(bio, got, (int)(room < sizeof(got) ? room : sizeof(got)));

	if (n <= 0) {
		/* Waiting differs from the end; without a turn nothing is known. */
		bool retries = BIO_should_retry(bio);
		check(room == 0 || (before ? wire->over != retries : retries));
		check(!wire->over || peer->line < 0);
		return;
	}
	check((size_t)n <= room && (size_t)n <= peer->said - peer->seen);
	check(memcmp(got, peer->data + peer->seen, (size_t)n) == 0);
	check(ahead ? (size_t)n <= ahead && wire->left == before
		    : (size_t)n <= before && wire->left == before - (size_t)n);
	peer->seen += (size_t)n;
}

/* Two bytes a step: the kind, and the amount. */
static void step(struct peer *peer, struct socket_bio *wire, BIO *bio, const uint8_t what[2])
{
	char answer[8] = "answer";

	switch (what[0] % 5) {
	case 0:
		say(peer, what[1]);
		break;
	case 1:
		hear(peer, wire, bio, what[1]);
		break;
	case 2:
		wire->left = what[1];
		break;
	case 3:
		check(BIO_write(bio, answer, sizeof(answer)) <= (int)sizeof(answer));
		break;
	default:
		close_fd(&peer->line);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int pair[2];

	/* The number of steps, the amount read ahead; the steps; the bytes. */
	if (size < 2 || size < 2 + 2 * (size_t)(data[0] % STEPS_MAX) || size > BYTES_MAX ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		return 0;
	}
	const uint8_t *steps = data + 2;
	size_t count = data[0] % STEPS_MAX;
	struct peer peer = { .line = pair[1],
			     .data = steps + 2 * count,
			     .size = size - 2 - 2 * count };
	struct socket_bio wire = { .fd = pair[0] };

	peer.said = data[1] < peer.size ? data[1] : peer.size;
	buf_add(&wire.first, peer.data, peer.said);
	BIO *bio = socket_bio_new(&wire);
	check(bio && !wire.first.failed);
	for (size_t i = 0; i < count; i++) {
		step(&peer, &wire, bio, steps + 2 * i);
	}
	BIO_free(bio);
	buf_done(&wire.first);
	close_fd(&wire.fd);
	close_fd(&peer.line);
	return 0;
}
