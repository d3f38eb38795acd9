/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program with OpenSSL (src/tls_program), embedded in brig: the front of a service with TLS,
 * the check of a certificate, and TLS to a service. brig itself has no OpenSSL, whose tables would
 * be relocated at every start of every command (docs/design/decisions/0042-openssl-apart.md).
 *
 * Both sides are of one build, so a struct is a message as it is.
 */
#ifndef BRIG_SERVE_TLS_PROGRAM_H
#define BRIG_SERVE_TLS_PROGRAM_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* Its descriptors, unless it is a role. */
enum tls_program_fd {
	FD_TLS_LINE = 3, /* to its caller: a stream; the answer comes first */
	FD_TLS_INPUT,    /* TLS_WORD_CHECK: see tls_texts.h; TLS_WORD_CLIENT: a connected socket */
};

/* The first argument; then the names for messages. */
#define TLS_WORD_CHECK  "check"  /* the paths of certificate and key */
#define TLS_WORD_CLIENT "client" /* the name to prove, the service, the file of authorities */

struct tls_answer {
	int32_t result;  /* 0, or -errno with the error */
	int64_t expires; /* of the certificate that was checked */
	struct brig_error error;
};

struct tls_child {
	pid_t pid; /* 0: none */
	int line;  /* owned */
};

/* The program as a file in memory: the descriptor, or -errno. */
int tls_program_file(struct brig_error *err);
/*
 * Executes it with `argv` (NULL at the end) and `input`, which stays the caller's, and waits for
 * its answer. After an error there is no child, and the error is the answer's.
 */
int tls_program_ask(const char *const argv[], int input, struct tls_child *ret,
		    struct tls_answer *answer, struct brig_error *err);
/* Closes the line and waits. 0, or -EPROTO: it did not end well. No child: 0. */
int tls_child_end(struct tls_child *child);
#endif
