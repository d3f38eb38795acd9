/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a role, from the supervisor's exec to its end. */
#include "serve/roles/role_process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/fdpass.h"
#include "role/message.h"

#define CONFIG_BYTES_MAX (1 << 20)

enum { STATUS_FINE = 0, STATUS_ALONE = 1, STATUS_WRONG_START = 2, STATUS_FAILED = 125 };

static int find_role(const char *name, const role_main mains[ROLE_COUNT], enum role_name *ret)
{
	size_t size = strlen(ROLE_PREFIX);

	for (int i = 0; i < ROLE_COUNT; i++) {
		if (mains[i] && strncmp(name, ROLE_PREFIX, size) == 0 &&
		    strcmp(name + size, role_name((enum role_name)i)) == 0) {
			*ret = (enum role_name)i;
			return 0;
		}
	}
	return -ENOENT;
}

static void send_control(enum control_message message)
{
	char byte = (char)message;

	(void)send(FD_CONTROL, &byte, 1, MSG_NOSIGNAL);
}

void role_drained(void *user)
{
	(void)user;
	send_control(CONTROL_DRAINED);
}

void role_queue_released(void *user)
{
	(void)user;
	send_control(CONTROL_RELEASED);
}

void role_peer_gone(void *user, const char *why)
{
	struct role_process *process = user;

	if (!process->draining) {
		role_log(ROLE_WARNING, "peer-gone", "why=%s", why);
		process->lost_peer = true;
	}
	loop_stop(process->loop);
}

/* Returns the same as recv(); the caller owns a descriptor that was received. */
static ssize_t receive_control(char *message_byte, int *ret_fd)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec part = { message_byte, 1 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.room,
				  .msg_controllen = sizeof(control.room) };
	ssize_t n = recvmsg(FD_CONTROL, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n >= 0) {
		fdpass_take(&message, ret_fd, 1);
	}
	return n;
}

/* The handler of an update; NULL: no such message, or not for this role. */
static int (*update_handler(const struct role_process *process, char message))(void *user,
									       int block)
{
	switch (message) {
	case CONTROL_TOKENS:
		return process->tokens;
	case CONTROL_CERTIFICATE:
		return process->certificate;
	default:
		return NULL;
	}
}

static void on_control(void *user, uint32_t events)
{
	struct role_process *process = user;
	_cleanup_close_ int block = -1;
	char message = 0;

	(void)events;
	ssize_t n = receive_control(&message, &block);
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return;
	}
	int (*update)(void *user, int block) = n == 1 ? update_handler(process, message) : NULL;
	if (update) {
		send_control(update(process->user, block) < 0 ? CONTROL_REFUSED : CONTROL_ACCEPTED);
	} else if (n == 1 && message == CONTROL_PING) {
		send_control(CONTROL_PONG);
	} else if (n == 1 && message == CONTROL_DRAIN) {
		process->draining = true;
		if (process->drain) {
			process->drain(process->user);
		}
	} else { /* quit, or there is no supervisor any more */
		loop_stop(process->loop);
	}
}

/* These exist only if the supervisor started the process. */
static bool is_ours(void)
{
	int type = 0;
	socklen_t size = sizeof(type);

	return getsockopt(FD_CONTROL, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
	       type == SOCK_SEQPACKET && fcntl(FD_CONFIG, F_GET_SEALS) > 0;
}

static int read_config(struct serve_config *config, struct brig_error *err)
{
	void *text;
	size_t size;
	int r = message_block_map(FD_CONFIG, CONFIG_BYTES_MAX, &text, &size);

	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "configuration");
	}
	r = config_read(config, "the supervisor's configuration", text ? text : "", size, true,
			err);
	message_block_unmap(text, size);
	close(FD_CONFIG);
	return r;
}

/* Our descriptors had to survive an exec; they must not survive another. */
static void keep_from_children(const struct serve_config *config)
{
	int last = FD_FRONT_LISTENERS + (int)config->listeners; /* no other role has more */

	for (int fd = FD_CONTROL; fd < last; fd++) {
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	}
}

/*
 * Initialises parts of the C library and jansson that would open files later, when it is not
 * allowed.
 */
static void open_ahead(void)
{
	tzset();
	json_object_seed(0);
}

static int begin(struct role_process *process, struct brig_error *err)
{
	config_init(&process->config);
	int r = read_config(&process->config, err);
	if (r < 0) {
		return r;
	}
	role_log_open(role_name(process->role), (enum role_level)process->config.log_level);
	keep_from_children(&process->config);
	open_ahead();
	r = loop_new(&process->loop);
	r = r < 0 ? r
		  : loop_add(process->loop, FD_CONTROL, EPOLLIN, on_control, process,
			     &process->control);
	return r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "event loop") : 0;
}

int role_seal(struct role_process *process, int directory, unsigned open_files,
	      struct brig_error *err)
{
	struct seal_options options = { .role = process->role,
					.directory = directory,
					.open_files = open_files,
					.supervisor = getppid(),
					.broker = process->config.broker ? FD_WARDEN_BROKER : -1 };
	struct seal_report report;
	int r = seal_apply(&options, &report, err);

	if (r < 0) {
		return r;
	}
	for (int kind = 0; kind < SEAL_KINDS; kind++) {
		if (report.missing & (1u << kind)) {
			role_log(ROLE_WARNING, "seal-missing", "which=%s loss=%s",
				 seal_name((enum seal_kind)kind),
				 seal_reason(process->role, (enum seal_kind)kind));
		}
	}
	process->own_root = (report.given & (1u << SEAL_OWN_ROOT)) != 0;
	process->open_files = report.open_files;
	role_log(ROLE_INFO, "sealed", "uid=%u open_files=%u", (unsigned)report.id,
		 report.open_files);
	return 0;
}

int role_run(struct role_process *process, void (*drain)(void *user), void *user,
	     struct brig_error *err)
{
	process->drain = drain;
	process->user = user;
	send_control(CONTROL_READY);
	int r = loop_run(process->loop);

	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "event loop");
	}
	return 0;
}

int role_process_main(int argc, char **argv, const role_main mains[ROLE_COUNT])
{
	struct role_process process = { 0 };
	struct brig_error error = { 0 };

	if (argc != 2 || strcmp(argv[1], ROLE_ARGUMENT) != 0 ||
	    find_role(argv[0], mains, &process.role) < 0) {
		return -1;
	}
	role_log_open(role_name(process.role), ROLE_INFO);
	if (!is_ours()) {
		role_log(ROLE_ERROR, "not-a-command", "remedy=%s",
			 "roles are started by brig serve only");
		return STATUS_WRONG_START;
	}
	prctl(PR_SET_NAME, argv[0], 0, 0, 0);
	int r = begin(&process, &error);
	if (r == 0) {
		r = mains[process.role](&process, &error);
	}
	if (r < 0) {
		role_log(ROLE_ERROR, "failed", "cause=%s remedy=%s", error.message, error.remedy);
	}
	loop_remove(process.control);
	loop_free(process.loop);
	config_done(&process.config);
	return r < 0 ? STATUS_FAILED : process.lost_peer ? STATUS_ALONE : STATUS_FINE;
}
