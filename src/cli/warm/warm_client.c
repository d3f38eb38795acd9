/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the warm service other than runs: see warm_client.h. */
#include "cli/warm/warm_client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/warm/warm_proof.h"
#include "cli/warm/warm_socket.h"
#include "kernel/sys.h"
#include "thin/warm_message.h"

#define PATIENCE_MS 20000

static int no_answer(struct brig_error *err)
{
	int r = error_set(err, BRIG_E_HOST, ETIMEDOUT, "the warm service does not answer");

	error_remedy(err, "runs are cold meanwhile; end its process and start another one");
	return r;
}

static int receive(int fd, struct warm_reply *ret, struct brig_error *err)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	if (poll(&ready, 1, PATIENCE_MS) != 1 ||
	    recv(fd, ret, sizeof(*ret), 0) != (ssize_t)sizeof(*ret)) {
		return no_answer(err);
	}
	ret->text[sizeof(ret->text) - 1] = '\0';
	return 0;
}

/* Only a service that may trace this process knows the secret. */
static int greet(int fd, struct brig_error *err)
{
	char secret[WARM_PROOF_SIZE];
	struct warm_reply hello = { 0 };
	_cleanup_close_ int file = warm_proof_make(secret);
	struct warm_request request = { .magic = WARM_MAGIC,
					.op = WARM_GREET,
					.value = (uint32_t)file };

	if (file < 0 || send(fd, &request, sizeof(request), MSG_NOSIGNAL) < 0) {
		return no_answer(err);
	}
	int r = receive(fd, &hello, err);
	if (r == 0 &&
	    (hello.answer != WARM_HELLO || memcmp(hello.text, secret, sizeof(secret)) != 0)) {
		r = error_set(err, BRIG_E_HOST, EPERM,
			      "the process at the warm service's socket is "
			      "not a service of yours");
		error_remedy(err, "it may be in a sandbox, or have fewer rights; brig run does not "
				  "use it");
	}
	return r;
}

/* Connected, with the request sent. A service that cannot be read is asked all the same. */
static int ask(enum warm_op op, pid_t *ret_pid, struct brig_error *err)
{
	struct warm_request request = { .magic = WARM_MAGIC,
					.op = op,
					.personality = (uint32_t)personality(0xffffffff) };
	_cleanup_close_ int fd = warm_socket_connect(ret_pid, err);

	if (fd < 0) {
		return fd;
	}
	int r = greet(fd, err);
	if (r < 0) {
		return r;
	}
	(void)warm_proof_read(*ret_pid, WARM_PROOF_FD, request.proof);
	if (send(fd, &request, sizeof(request), MSG_NOSIGNAL) < 0) {
		return no_answer(err);
	}
	return TAKE_FD(fd);
}

int warm_client_status(struct warm_state *ret, struct brig_error *err)
{
	struct warm_reply reply = { 0 };
	_cleanup_close_ int fd = ask(WARM_STATUS, &ret->pid, err);

	if (fd < 0) {
		return fd;
	}
	int r = receive(fd, &reply, err);
	if (r == 0) {
		snprintf(ret->figures, sizeof(ret->figures), "%s", reply.text);
		r = receive(fd, &reply, err);
	}
	if (r == 0) {
		snprintf(ret->why, sizeof(ret->why), "%s", reply.text);
	}
	return r;
}

int warm_client_stop(struct brig_error *err)
{
	struct warm_reply reply = { 0 };
	pid_t pid;
	_cleanup_close_ int fd = ask(WARM_STOP, &pid, err);

	if (fd < 0) {
		return fd;
	}
	_cleanup_close_ int process = sys_pidfd_open(pid, 0);
	int r = receive(fd, &reply, err);
	if (r < 0) {
		return r;
	}
	if (reply.answer != WARM_ENDED) {
		r = error_set(err, BRIG_E_HOST, EPERM, "the warm service does not obey: %s",
			      "this process has fewer rights");
		error_remedy(err, "stop it from where it was started");
		return r;
	}
	struct pollfd ended = { .fd = process, .events = POLLIN };
	while (process >= 0 && poll(&ended, 1, -1) < 0 && errno == EINTR) {
	}
	return 0;
}
