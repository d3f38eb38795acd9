/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a cell's gate: a separate program, executed from memory, which receives its rules before
 * the cell is built. Only async-signal-safe calls between clone and exec: the host program may have
 * threads.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/memfile.h"
#include "kernel/idrange.h"
#include "kernel/sys.h"
#include "lib/prepare/gate_image.h"
#include "lib/prepare/prepare.h"
#include "net/gate_messages.h"

#define ABOVE_ALL  16 /* above the descriptor numbers of the gate's sockets */
#define EXEC_FAILS 127
/* The gate reads certificates and makes keys: milliseconds, unless the host is overloaded. */
#define AUTHORITY_TIMEOUT_MS 10000

/* Once for each context. Only the gate that opens TLS contains OpenSSL. */
static int program_of(struct brig_context *context, bool opens, int *ret)
{
	int *program = &context->gate_programs[opens];
	const char *image = opens ? gate_tls_image : gate_image;
	size_t size = opens ? gate_tls_image_size : gate_image_size;

	if (*program >= 0) {
		*ret = *program;
		return 0;
	}
	int fd = memfile_program("brig-gate", image, size);
	if (fd < 0) {
		return fd;
	}
	*ret = *program = fd;
	return 0;
}

static _Noreturn void become_gate(int program, int warden, int cell)
{
	char name[] = "brig-gate";
	char *argv[] = { name, NULL };
	char *envp[] = { NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	warden = fcntl(warden, F_DUPFD_CLOEXEC, ABOVE_ALL);
	cell = fcntl(cell, F_DUPFD_CLOEXEC, ABOVE_ALL);
	program = fcntl(program, F_DUPFD_CLOEXEC, ABOVE_ALL);
	for (int fd = 0; fd < 3; fd++) {
		if (null < 0 || dup2(null, fd) < 0) {
			_exit(EXEC_FAILS);
		}
	}
	if (dup2(warden, GATE_FD_WARDEN) < 0 || dup2(cell, GATE_FD_CELL) < 0 ||
	    sys_close_range(GATE_FD_CELL + 1, ~0u, CLOSE_RANGE_CLOEXEC) < 0) {
		_exit(EXEC_FAILS);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	syscall(SYS_execveat, program, "", argv, envp, AT_EMPTY_PATH);
	_exit(EXEC_FAILS);
}

static int spawn(int program, int warden, int cell, int *pidfd)
{
	struct clone_args args = {
		.flags = CLONE_PIDFD,
		.pidfd = (uintptr_t)pidfd,
		.exit_signal = 0, /* not reported by a host program's SIGCHLD and wait(-1) */
	};
	sigset_t all, before;

	/* A signal handler of the host program must not run in the child, without its threads. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	int pid = sys_clone3(&args, sizeof(args));
	if (pid == -ENOSYS) {
		pid = sys_result(syscall(SYS_clone, CLONE_PIDFD, NULL, pidfd, NULL, NULL));
	}
	if (pid == 0) {
		become_gate(program, warden, cell);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid < 0 ? pid : 0;
}

static int send_record(int line, const void *record, size_t size)
{
	ssize_t n;

	do {
		n = send(line, record, size, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* An empty name stands for all hosts without authorities of their own. */
static int send_trust(int line, const char *name, const char *text, size_t size)
{
	struct gate_trust part = { .kind = GATE_TRUST };

	memcpy(part.name, name, strlen(name) + 1);
	for (size_t at = 0; at < size; at += part.size) {
		size_t left = size - at;
		part.size = (uint32_t)(left < sizeof(part.text) ? left : sizeof(part.text));
		memcpy(part.text, text + at, part.size);
		int r = send_record(line, &part, sizeof(part));
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static int send_trusts(int line, const struct prepared_gate *gate)
{
	for (size_t i = 0; i < gate->trusts_count; i++) {
		const struct prepared_trust *trust = &gate->trusts[i];
		int r = send_trust(line, trust->name, trust->text.data, trust->text.size);
		if (r < 0) {
			return r;
		}
	}
	return gate->trusts_host ? send_trust(line, "", gate->bundle.data, gate->bundle_host) : 0;
}

static int send_rules(int line, const struct prepared *p)
{
	const struct policy_network *network = &p->policy->network;
	struct gate_limits limits = {
		.kind = GATE_LIMITS,
		.id = p->spec.ranged ? p->gate->id : 0,
		.bytes = p->spec.limits.net_bytes,
		.connections = (uint32_t)network->connections,
		.connections_total = (uint32_t)network->connections_total,
		.rate = (uint32_t)network->rate,
		.streamed = p->spec.provider->network_by_stream,
	};
	struct gate_word begin = { .kind = GATE_BEGIN };
	int r = send_record(line, &limits, sizeof(limits));

	if (r < 0) {
		return r;
	}
	for (size_t i = 0; i < p->gate->rules_count; i++) {
		struct gate_rule rule = { .kind = GATE_RULE, .rule = p->gate->rules[i] };
		r = send_record(line, &rule, sizeof(rule));
		if (r < 0) {
			return r;
		}
	}
	for (size_t i = 0; i < p->gate->credentials_count; i++) {
		r = send_record(line, &p->gate->credentials[i], sizeof(p->gate->credentials[i]));
		if (r < 0) {
			return r;
		}
	}
	r = send_trusts(line, p->gate);
	return r < 0 ? r : send_record(line, &begin, sizeof(begin));
}

/* The authority that the gate made for this cell. 0 or -errno; -EPROTO: no valid reply. */
static int receive_authority(int line, struct gate_authority *ret)
{
	struct pollfd ready = { .fd = line, .events = POLLIN };
	int r;

	do {
		r = poll(&ready, 1, AUTHORITY_TIMEOUT_MS);
	} while (r < 0 && errno == EINTR);
	if (r <= 0) {
		return r < 0 ? -errno : -ETIMEDOUT;
	}
	ssize_t n = recv(line, ret, sizeof(*ret), MSG_DONTWAIT | MSG_TRUNC);
	if (n != sizeof(*ret) || ret->kind != GATE_AUTHORITY || ret->trouble >= GATE_TROUBLES ||
	    !memchr(ret->host, '\0', sizeof(ret->host)) ||
	    !memchr(ret->text, '\0', sizeof(ret->text))) {
		return -EPROTO;
	}
	return 0;
}

static int take_authority(int line, struct prepared *p, struct brig_error *err)
{
	struct gate_authority reply = { 0 };
	int r = receive_authority(line, &reply);

	if (r < 0) {
		return r;
	}
	if (reply.trouble == GATE_TROUBLE_TRUST) {
		error_set(err, BRIG_E_POLICY, EINVAL,
			  "TLS to %s cannot be opened: its list of authorities has no valid "
			  "certificate",
			  reply.host);
		error_remedy(err,
			     "put PEM certificates of authorities into the file that is "
			     "\"authorities\" of its credential, or else into the host's list");
		return -EINVAL;
	}
	if (reply.trouble || !reply.text[0]) {
		return -EIO;
	}
	return prepared_gate_trust(p, reply.text, err);
}

void gate_stop(struct gate_process *gate)
{
	siginfo_t info;

	close_fd(&gate->line);
	if (gate->pidfd >= 0) {
		sys_pidfd_send_signal(gate->pidfd, SIGKILL);
		syscall(SYS_waitid, P_PIDFD, gate->pidfd, &info, WEXITED | __WALL, NULL);
		close_fd(&gate->pidfd);
	}
}

static int start(struct brig_context *context, struct prepared *p, struct gate_process *ret,
		 struct brig_error *err)
{
	int warden[2], cell[2], program = -1;
	int r = program_of(context, p->gate->opens, &program);

	if (r < 0) {
		return r;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, warden) < 0) {
		return -errno;
	}
	_cleanup_close_ int warden_theirs = warden[1];
	ret->line = warden[0];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, cell) < 0) {
		return -errno;
	}
	_cleanup_close_ int cell_theirs = cell[1];
	close_fd(&p->spec.gate);
	p->spec.gate = cell[0];
	r = spawn(program, warden_theirs, cell_theirs, &ret->pidfd);
	if (r < 0) {
		ret->pidfd = -1;
		return r;
	}
	close_fd(&warden_theirs); /* so that the end of the gate closes the socket */
	r = send_rules(ret->line, p);
	return r == 0 && p->gate->opens ? take_authority(ret->line, p, err) : r;
}

int gate_start(struct brig_context *context, struct prepared *p, struct gate_process *ret,
	       struct brig_error *err)
{
	*ret = (struct gate_process){ .line = -1, .pidfd = -1 };
	struct brig_error own = { 0 };
	int r = start(context, p, ret, &own);

	if (r < 0) {
		gate_stop(ret);
		if (own.message[0]) {
			*err = own;
			return r;
		}
		return error_errno(err, BRIG_E_SYSTEM, -r, "cannot start the cell's gate");
	}
	return 0;
}
