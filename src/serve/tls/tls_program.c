/* SPDX-License-Identifier: Apache-2.0 */
/* Starting the program with OpenSSL: see tls_program.h. */
#include "serve/tls/tls_program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/memfile.h"
#include "kernel/sys.h"
#include "serve/tls/tls_image.h"

#define ABOVE_ALL  16 /* above the descriptors that it is given */
#define EXEC_FAILS 127

int tls_program_file(struct brig_error *err)
{
	int fd = memfile_program("brig-tls", tls_image, tls_image_size);

	if (fd < 0) {
		error_errno(err, BRIG_E_HOST, -fd, "the program for TLS");
		error_remedy(err, "sysctl vm.memfd_noexec=1, or put a proxy for TLS in front");
	}
	return fd;
}

/* Its caller ends it by the line; keys that are pressed at a terminal are for the caller only. */
static _Noreturn void become_program(int program, int line, int input, const char *const argv[])
{
	static const int ignored[] = { SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGQUIT };
	char *environment[] = { NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	program = fcntl(program, F_DUPFD_CLOEXEC, ABOVE_ALL);
	line = fcntl(line, F_DUPFD_CLOEXEC, ABOVE_ALL);
	input = fcntl(input, F_DUPFD_CLOEXEC, ABOVE_ALL);
	if (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(line, FD_TLS_LINE) < 0 || dup2(input, FD_TLS_INPUT) < 0 ||
	    sys_close_range(FD_TLS_INPUT + 1, ~0u, CLOSE_RANGE_CLOEXEC) < 0) {
		_exit(EXEC_FAILS);
	}
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++) {
		signal(ignored[i], SIG_IGN);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	syscall(SYS_execveat, program, "", argv, environment, AT_EMPTY_PATH);
	_exit(EXEC_FAILS);
}

static int start(const char *const argv[], int input, struct tls_child *ret, struct brig_error *err)
{
	_cleanup_close_ int program = tls_program_file(err);
	_cleanup_close_ int theirs = -1;
	int pair[2];

	if (program < 0) {
		return program;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "socketpair");
	}
	theirs = pair[1];
	/* A brig that was started with it ignored would not learn how the child ended. */
	signal(SIGCHLD, SIG_DFL);
	pid_t pid = fork();
	if (pid == 0) {
		become_program(program, theirs, input, argv);
	}
	if (pid < 0) {
		int errnum = errno;

		close(pair[0]);
		return error_errno(err, BRIG_E_SYSTEM, errnum, "cannot start the program for TLS");
	}
	*ret = (struct tls_child){ pid, pair[0] };
	return 0;
}

static int read_answer(const struct tls_child *child, struct tls_answer *answer)
{
	ssize_t n;

	do {
		n = recv(child->line, answer, sizeof(*answer), MSG_WAITALL);
	} while (n < 0 && errno == EINTR);
	return n == sizeof(*answer) ? 0 : -EPROTO;
}

int tls_program_ask(const char *const argv[], int input, struct tls_child *ret,
		    struct tls_answer *answer, struct brig_error *err)
{
	int r = start(argv, input, ret, err);

	if (r < 0) {
		return r;
	}
	if (read_answer(ret, answer) < 0) {
		(void)tls_child_end(ret);
		return error_set(err, BRIG_E_SYSTEM, EPROTO,
				 "the program for TLS ended without an answer");
	}
	if (answer->result < 0) {
		(void)tls_child_end(ret);
		if (err) {
			*err = answer->error;
		}
		return answer->result;
	}
	return 0;
}

int tls_child_end(struct tls_child *child)
{
	pid_t pid = child->pid, ended;
	int status = -1;

	if (pid <= 0) {
		return 0;
	}
	close_fd(&child->line);
	child->pid = 0;
	do {
		ended = waitpid(pid, &status, 0);
	} while (ended < 0 && errno == EINTR);
	return ended == pid && status == 0 ? 0 : -EPROTO;
}
