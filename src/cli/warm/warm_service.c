/* SPDX-License-Identifier: Apache-2.0 */
/* The service: see warm_service.h. */
#include "cli/warm/warm_service.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/personality.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/files/fdpass_bytes.h"
#include "base/files/write_all.h"
#include "cli/warm/warm_link.h"
#include "cli/warm/warm_proof.h"
#include "cli/warm/warm_socket.h"
#include "cli/warm/warm_workplace.h"

/* After an update a program of another file would do the runs. */
static bool is_replaced(void)
{
	struct stat info;

	return stat("/proc/self/exe", &info) == 0 && info.st_nlink == 0;
}

/* No name any more: new runs are cold at once, and another service can start. */
static void close_listener(struct warm_service *service)
{
	loop_remove(service->listening);
	service->listening = NULL;
	if (service->listener >= 0 && !service->passed) {
		unlink(service->name.sun_path);
	}
	plain_socket_drop(&service->listener);
}

void warm_service_settle(struct warm_service *service)
{
	if (service->links_count > 0) {
		return;
	}
	if (service->stopping || is_replaced()) {
		loop_stop(service->loop);
		return;
	}
	loop_timer_set(service->loop, &service->idle, clock_now_ns() + service->idle_ns);
}

void warm_service_stop(struct warm_service *service)
{
	service->stopping = true;
	/* Systemd's stays, and its clients are told: else each would wait for an answer. */
	if (!service->passed) {
		close_listener(service);
	}
	warm_workplaces_dismiss(service);
	warm_service_settle(service);
}

static void on_idle(void *user)
{
	warm_service_stop(user);
}

static void on_client(void *user, uint32_t events)
{
	(void)events;
	warm_link_accept(user);
}

/* The first one lets the runs end, the second one does not. */
static void on_signal(void *user, uint32_t events)
{
	struct warm_service *service = user;
	struct signalfd_siginfo info;

	(void)events;
	if (read(service->signals, &info, sizeof(info)) != (ssize_t)sizeof(info)) {
		return;
	}
	if (service->stopping) {
		loop_stop(service->loop);
	} else {
		warm_service_stop(service);
	}
}

static int open_signals(struct warm_service *service)
{
	sigset_t heard;

	sigemptyset(&heard);
	sigaddset(&heard, SIGTERM);
	sigaddset(&heard, SIGINT);
	sigaddset(&heard, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &heard, NULL) < 0) {
		return -errno;
	}
	service->signals = signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
	return service->signals < 0 ? -errno : 0;
}

static int open_service(struct warm_service *service, struct brig_error *err)
{
	int r = warm_link_check(err);

	r = r < 0 ? r : warm_proof_show(service->proof, err);
	if (r < 0) {
		return r;
	}
	service->listener = warm_socket_passed();
	service->passed = service->listener >= 0;
	if (!service->passed) {
		service->listener = warm_socket_listen(&service->name, err);
	}
	if (service->listener < 0) {
		return service->listener;
	}
	r = warm_facts_read(getpid(), &service->facts);
	if (r < 0) {
		return error_errno(err, BRIG_E_HOST, -r, "cannot read what holds this process");
	}
	service->personality = (uint32_t)personality(0xffffffff);
	service->buffer = malloc(WARM_REQUEST_MAX);
	r = service->buffer ? loop_new(&service->loop) : -ENOMEM;
	r = r < 0 ? r : open_signals(service);
	r = r < 0 ? r
		  : loop_add(service->loop, service->listener, EPOLLIN, on_client, service,
			     &service->listening);
	r = r < 0 ? r
		  : loop_add(service->loop, service->signals, EPOLLIN, on_signal, service,
			     &service->signalling);
	return r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "cannot set up the warm service") : 0;
}

static void close_service(struct warm_service *service)
{
	close_listener(service);
	if (service->loop) {
		loop_remove(service->signalling);
		while (service->links.first) {
			warm_link_free(
				LIST_CONTAINER(service->links.first, struct warm_link, node));
		}
		warm_workplaces_close(service);
		loop_timer_clear(&service->idle);
		loop_free(service->loop);
	}
	close_fd(&service->signals);
	free(service->buffer);
}

/* Then it has no more to say, and keeps nobody's stderr open. */
static int tell_ready(int fd)
{
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDERR_FILENO) < 0) {
		return -errno;
	}
	int r = write_all(fd, "ready\n", 6);
	close(fd);
	return r;
}

int warm_serve(const struct warm_service_options *options, struct brig_error *err)
{
	_cleanup_(close_service)
	struct warm_service service = { .listener = -1,
					.signals = -1,
					.workers_max = options->workers,
					.idle_ns = options->idle_ns };

	service.idle = (struct loop_timer){ .due = on_idle, .user = &service };
	int r = open_service(&service, err);
	if (r < 0) {
		return r;
	}
	if (chdir("/") < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "/");
	}
	r = options->ready >= 0 ? tell_ready(options->ready) : 0;
	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "cannot report that it is ready");
	}
	warm_service_settle(&service);
	r = loop_run(service.loop);
	return r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "the warm service") : 0;
}
