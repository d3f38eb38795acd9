/* SPDX-License-Identifier: Apache-2.0 */
/* The worker process: see warm_worker.h. */
#include "cli/warm/warm_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/fdpass.h"
#include "cli/cli.h"
#include "cli/exit_status.h"
#include "cli/run/run_context.h"
#include "cli/warm/warm_link.h"
#include "kernel/sys.h"
#include "thin/warm_message.h"

#define CHANNEL 3
#define SIGNALS 31 /* the ordinary ones: of others nobody is told */

/* Where each descriptor of a request is, behind the client's socket. */
enum { AT_CLIENT, AT_DIRECTORY, AT_STREAMS, AT_END = AT_STREAMS + 3 };

struct job {
	char *words; /* the worker's buffer */
	size_t size;
	const struct warm_request *request;
	char **argv, **envp; /* owned arrays, NULL-terminated */
	int fds[AT_END];     /* owned */
};

static void job_done(struct job *job)
{
	free(job->argv);
	free(job->envp);
	for (size_t i = 0; i < ARRAY_SIZE(job->fds); i++) {
		close_fd(&job->fds[i]);
	}
}

/* The next `count` words as an array; NULL: there are not as many. */
static char **take_words(char **at, const char *end, size_t count)
{
	char **words = calloc(count + 1, sizeof(*words));

	for (size_t i = 0; words && i < count; i++) {
		char *stop = *at < end ? memchr(*at, '\0', (size_t)(end - *at)) : NULL;
		if (!stop) {
			free(words);
			return NULL;
		}
		words[i] = *at;
		*at = stop + 1;
	}
	return words;
}

static bool job_read(struct job *job)
{
	char *at = job->words + sizeof(*job->request), *end = job->words + job->size;

	job->request = (const struct warm_request *)(void *)job->words;
	/* Each word has one byte at least. */
	if (job->request->argc < 3 || job->request->argc > job->size ||
	    job->request->envc > job->size) {
		return false;
	}
	job->argv = take_words(&at, end, job->request->argc);
	job->envp = job->argv ? take_words(&at, end, job->request->envc) : NULL;
	return job->envp && at == end && strcmp(job->argv[1], "run") == 0;
}

/* --- being the client, and being nobody again ------------------------------------------------- */

static void ignore(uint64_t signals)
{
	for (int signal = 1; signal <= SIGNALS; signal++) {
		bool ignored = signals >> (signal - 1) & 1;
		struct sigaction action = { .sa_handler = ignored ? SIG_IGN : SIG_DFL };

		/* Those that cannot be ignored are not. */
		(void)sigaction(signal, &action, NULL);
	}
}

static int open_streams(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0) {
		return -errno;
	}
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		if (null != fd && dup2(null, fd) < 0) {
			return -errno;
		}
	}
	if (null > STDERR_FILENO) {
		close(null);
	}
	return 0;
}

static int become_client(struct job *job)
{
	if (fchdir(job->fds[AT_DIRECTORY]) < 0) {
		return -errno;
	}
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		if (dup2(job->fds[AT_STREAMS + fd], fd) < 0) {
			return -errno;
		}
		close_fd(&job->fds[AT_STREAMS + fd]);
	}
	close_fd(&job->fds[AT_DIRECTORY]);
	umask(job->request->value & 0777);
	ignore(job->request->ignored);
	environ = job->envp;
	return 0;
}

/* No stream, file or signal of the client is left; a signal that came too late is dropped. */
static void become_nobody(void)
{
	sigset_t none;

	ignore(~UINT64_C(0) & ~(UINT64_C(1) << (SIGCHLD - 1)));
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	umask(077);
	environ = run_context_environment(); /* for the pools */
	if (open_streams() < 0 || chdir("/") < 0) {
		_exit(STATUS_ERROR);
	}
}

/* --- work ------------------------------------------------------------------------------------- */

/* Told to the service before the client: so it never takes the client's end for a broken run. */
static void say_done(void)
{
	(void)!send(CHANNEL, "", 1, MSG_NOSIGNAL);
}

static int tell_taken(int client)
{
	struct warm_reply reply = { .answer = WARM_TAKEN };

	return send(client, &reply, sizeof(reply), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void do_job(struct job *job)
{
	const char *why = !job_read(job)           ? "an invalid request"
			  : become_client(job) < 0 ? "its directory cannot be entered"
						   : NULL;

	if (why) {
		become_nobody();
		say_done();
		warm_link_answer(job->fds[AT_CLIENT], WARM_COLD, 0, why);
		return;
	}
	/* A client that has lost its patience cannot be told: it runs cold now. */
	if (tell_taken(job->fds[AT_CLIENT]) < 0) {
		become_nobody();
		say_done();
		return;
	}
	int status = command_run((int)job->request->argc - 1, job->argv + 1);
	become_nobody();
	say_done();
	warm_link_answer(job->fds[AT_CLIENT], WARM_ENDED, status, NULL);
}

/* False: the service has ended, or wants no more. */
static bool take_job(char *buffer)
{
	struct job job = { .words = buffer, .fds = { -1, -1, -1, -1, -1 } };
	union {
		char room[CMSG_SPACE(sizeof(job.fds))];
		struct cmsghdr align;
	} control;
	struct iovec part = { buffer, WARM_REQUEST_MAX };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.room,
				  .msg_controllen = sizeof(control.room) };
	ssize_t n = recvmsg(CHANNEL, &message, MSG_CMSG_CLOEXEC);

	if (n <= 0) {
		return n < 0 && errno == EINTR;
	}
	size_t count = fdpass_take(&message, job.fds, ARRAY_SIZE(job.fds));
	if ((size_t)n >= sizeof(struct warm_request) && count == ARRAY_SIZE(job.fds)) {
		job.size = (size_t)n;
		do_job(&job);
	}
	job_done(&job);
	/* Not earlier: a signal of the client could end the worker before its last answer. */
	ignore(0);
	explicit_bzero(buffer, (size_t)n); /* the client's variables */
	return true;
}

/* Waits for a request; pools are looked after meanwhile. */
static void wait_for_job(void)
{
	struct pollfd fds[2] = { { .fd = CHANNEL, .events = POLLIN } };

	do {
		struct brig_context *context = run_context_kept();
		fds[1] = (struct pollfd){ context ? brig_context_fd(context) : -1, POLLIN, 0 };
		if (poll(fds, 2, -1) > 0 && fds[1].revents) {
			brig_context_step(context);
		}
	} while (!fds[0].revents);
}

static int set_up(int channel, pid_t service)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != service) {
		return -ESRCH;
	}
	int moved = fcntl(channel, F_DUPFD_CLOEXEC, CHANNEL + 1);
	if (moved < 0 || dup3(moved, CHANNEL, O_CLOEXEC) < 0) {
		return -errno;
	}
	return sys_close_range(CHANNEL + 1, ~0u, 0);
}

_Noreturn void warm_worker_main(int channel, pid_t service)
{
	char *buffer = malloc(WARM_REQUEST_MAX);

	if (!buffer || set_up(channel, service) < 0) {
		_exit(STATUS_ERROR);
	}
	become_nobody();
	ignore(0);
	run_context_keep();
	do {
		wait_for_job();
	} while (take_job(buffer));
	run_context_forget();
	_exit(0);
}
