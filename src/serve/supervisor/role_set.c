/* SPDX-License-Identifier: Apache-2.0 */
/* The set of roles: see role_set.h. */
#include "serve/supervisor/role_set.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/fdpass.h"
#include "base/files/memfile.h"
#include "kernel/sys.h"
#include "role/message.h"
#include "serve/supervisor/broker_image.h"
#include "serve/supervisor/role_spawn.h"
#include "serve/tls/tls_program.h"
#include "serve/tls/tls_texts.h"

/* The two ends of each line between roles; [1] is the caller's end. */
struct lines {
	int warden[2], ledger[2], broker[2]; /* the last is the warden's */
};

static void lines_done(struct lines *lines)
{
	for (int i = 0; i < 2; i++) {
		close_fd(&lines->warden[i]);
		close_fd(&lines->ledger[i]);
		close_fd(&lines->broker[i]);
	}
}

static int make_pair(int pair[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0
		       ? -errno
		       : 0;
}

/* The broker identifies the sender by the kernel's credentials, not by the message. */
static int make_broker_pair(int pair[2])
{
	int on = 1, r = make_pair(pair);

	return r == 0 && setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0 ? -errno
											   : r;
}

bool role_set_brokered(void)
{
	return geteuid() == 0 && broker_image_size > 0;
}

static const uint32_t child_edges[CHILD_STATES] = {
	[CHILD_ABSENT] = STATE_BIT(CHILD_STARTING),
	[CHILD_STARTING] = STATE_BIT(CHILD_READY) | STATE_BIT(CHILD_ENDED),
	[CHILD_READY] = STATE_BIT(CHILD_ENDED),
	[CHILD_ENDED] = 0, /* the next set has new children */
};

void role_child_enter(struct role_child *child, enum role_child_state state)
{
	invariant(state_allows(child_edges, child->state, state));
	child->state = state;
	invariant(role_child_alive(child) == (child->pidfd >= 0));
}

static void child_done(struct role_child *child)
{
	loop_remove(child->death);
	loop_remove(child->messages);
	child->death = child->messages = NULL;
	close_fd(&child->pidfd);
	close_fd(&child->control);
	child->asked_ns = 0;
	if (role_child_alive(child)) {
		role_child_enter(child, CHILD_ENDED);
	}
}

static void on_messages(void *user, uint32_t events)
{
	struct role_child *child = user;
	char message;

	(void)events;
	ssize_t n = recv(child->control, &message, 1, MSG_DONTWAIT);
	if (n == 1) {
		child->set->message(child->set->user, child, message);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		/* Its end is closed; the process is about to end, which on_death() handles. */
		loop_remove(child->messages);
		child->messages = NULL;
	}
}

static void on_death(void *user, uint32_t events)
{
	struct role_child *child = user;
	int status = 0;

	(void)events;
	if (waitpid(child->pid, &status, WNOHANG) != child->pid) {
		return;
	}
	child_done(child);
	child->set->died(child->set->user, child, status);
}

static void add_listeners(struct spawn *spawn, const struct listeners *listeners)
{
	for (unsigned i = 0; i < listeners->count; i++) {
		spawn->fds[spawn->fds_count++] = listeners->items[i].fd;
	}
}

/* Memory files for roles. */
struct blocks {
	int config, tokens, tls;
};

static void blocks_done(struct blocks *blocks)
{
	close_fd(&blocks->config);
	close_fd(&blocks->tokens);
	close_fd(&blocks->tls);
}

/* In the order of enum role_fd. */
static void list_fds(struct spawn *spawn, const struct role_parts *parts, const struct lines *lines,
		     const struct blocks *blocks)
{
	int *fds = spawn->fds + spawn->fds_count;

	switch (spawn->role) {
	case ROLE_FRONT:
		fds[0] = lines->warden[1];
		fds[1] = lines->ledger[1];
		fds[2] = blocks->tokens;
		fds[3] = blocks->tls;
		fds[4] = parts->state->lock;
		spawn->fds_count += 5;
		add_listeners(spawn, parts->listeners);
		break;
	case ROLE_WARDEN:
		fds[0] = lines->warden[0];
		fds[1] = parts->state->lock;
		fds[2] = blocks->tokens;
		fds[3] = lines->broker[1];
		spawn->fds_count += lines->broker[1] < 0 ? 3 : 4;
		break;
	case ROLE_BROKER:
		fds[0] = lines->broker[0];
		fds[1] = parts->state->lock;
		spawn->fds_count += 2;
		break;
	case ROLE_LEDGER:
		fds[0] = lines->ledger[0];
		fds[1] = parts->state->ledger;
		fds[2] = parts->state->lock;
		spawn->fds_count += 3;
		break;
	case ROLE_COUNT:
		break;
	}
}

static int watch(struct role_child *child)
{
	struct loop *loop = child->set->loop;
	int r = loop_add(loop, child->pidfd, EPOLLIN, on_death, child, &child->death);

	return r < 0 ? r
		     : loop_add(loop, child->control, EPOLLIN, on_messages, child,
				&child->messages);
}

/* Sealed: root runs exactly the program that was built. */
static int make_broker(struct brig_error *err)
{
	int fd = memfile_program("brig-broker", broker_image, broker_image_size);

	if (fd < 0) {
		error_errno(err, BRIG_E_HOST, -fd, "the broker's program");
		error_remedy(err, "sysctl vm.memfd_noexec=1, or run brig as an ordinary user");
	}
	return fd;
}

/* Stays -1: the role is this same program. */
static int make_program(enum role_name role, const struct serve_config *config, int *ret,
			struct brig_error *err)
{
	if (role == ROLE_BROKER) {
		*ret = make_broker(err);
	} else if (role == ROLE_FRONT && config->key.size > 0) {
		*ret = tls_program_file(err);
	} else {
		return 0;
	}
	return *ret < 0 ? *ret : 0;
}

static int start_child(struct role_child *child, const struct role_parts *parts,
		       const struct lines *lines, const struct blocks *blocks,
		       struct brig_error *err)
{
	_cleanup_close_ int theirs = -1;
	struct spawn spawn = { .role = child->role, .program = -1 };
	_cleanup_close_ int program = -1;
	int pair[2];
	int r = make_pair(pair);

	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "socketpair");
	}
	child->control = pair[0];
	theirs = pair[1];
	spawn.fds[spawn.fds_count++] = blocks->config;
	spawn.fds[spawn.fds_count++] = theirs;
	list_fds(&spawn, parts, lines, blocks);
	r = make_program(child->role, parts->config, &program, err);
	if (r < 0) {
		return r;
	}
	spawn.program = program;
	r = spawn_role(&spawn, &child->pid, &child->pidfd, err);
	if (r < 0) {
		return r;
	}
	role_child_enter(child, CHILD_STARTING);
	r = watch(child);
	return r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "event loop") : 0;
}

/* Cleans up after a start that failed: without callbacks, and without leaving processes. */
static void abandon(struct role_set *set)
{
	for (int i = 0; i < ROLE_COUNT; i++) {
		struct role_child *child = &set->children[i];
		if (role_child_alive(child)) {
			sys_pidfd_send_signal(child->pidfd, SIGKILL);
			waitpid(child->pid, NULL, 0);
		}
		child_done(child);
	}
}

static int make_block(const struct buf *text, const char *what, struct brig_error *err)
{
	int fd = text->failed ? -ENOMEM
			      : message_block_make(text->data ? text->data : "", text->size);

	return fd < 0 ? error_errno(err, BRIG_E_SYSTEM, -fd, "cannot send %s", what) : fd;
}

static int make_blocks(struct blocks *blocks, const struct role_parts *parts,
		       struct brig_error *err)
{
	_cleanup_(buf_done)
	struct buf text = { 0 };

	config_write(parts->config, &text);
	blocks->config = make_block(&text, "the configuration", err);
	if (blocks->config < 0) {
		return blocks->config;
	}
	blocks->tokens = make_block(parts->tokens, "tokens", err);
	if (blocks->tokens < 0) {
		return blocks->tokens;
	}
	blocks->tls = tls_texts_block(parts->config, err);
	return blocks->tls < 0 ? blocks->tls : 0;
}

int role_set_start(struct role_set *set, const struct role_parts *parts, struct brig_error *err)
{
	/* The warden early: its start takes longest. */
	static const enum role_name order[ROLE_COUNT] = { ROLE_BROKER, ROLE_WARDEN, ROLE_LEDGER,
							  ROLE_FRONT };
	_cleanup_(lines_done)
	struct lines lines = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
	_cleanup_(blocks_done)
	struct blocks blocks = { -1, -1, -1 };
	int r = make_pair(lines.warden);

	r = r < 0 ? r : make_pair(lines.ledger);
	r = r < 0 || !parts->config->broker ? r : make_broker_pair(lines.broker);
	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "socketpair");
	}
	r = make_blocks(&blocks, parts, err);
	if (r < 0) {
		return r;
	}
	for (int i = 0; i < ROLE_COUNT; i++) {
		set->children[i] = (struct role_child){
			.role = (enum role_name)i, .set = set, .pidfd = -1, .control = -1
		};
	}
	for (int i = 0; i < ROLE_COUNT; i++) {
		if (order[i] == ROLE_BROKER && !parts->config->broker) {
			continue;
		}
		r = start_child(&set->children[order[i]], parts, &lines, &blocks, err);
		if (r < 0) {
			abandon(set);
			return r;
		}
	}
	return 0;
}

bool role_set_alive(const struct role_set *set)
{
	for (int i = 0; i < ROLE_COUNT; i++) {
		if (role_child_alive(&set->children[i])) {
			return true;
		}
	}
	return false;
}

bool role_set_ready(const struct role_set *set)
{
	for (int i = 0; i < ROLE_COUNT; i++) {
		enum role_child_state state = set->children[i].state;

		if (state != CHILD_ABSENT && state != CHILD_READY) {
			return false;
		}
	}
	return true;
}

void role_child_send(struct role_child *child, enum control_message message)
{
	char byte = (char)message;

	if (role_child_alive(child)) {
		(void)send(child->control, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
}

int role_child_send_fd(struct role_child *child, enum control_message message, int fd)
{
	char byte = (char)message;
	struct iovec part = { &byte, 1 };

	if (!role_child_alive(child)) {
		return -ECHILD;
	}
	ssize_t n = fdpass_send(child->control, &part, 1, &fd, 1, MSG_DONTWAIT);
	return n < 0 ? (int)n : 0;
}

void role_set_send(struct role_set *set, enum control_message message)
{
	for (int i = 0; i < ROLE_COUNT; i++) {
		role_child_send(&set->children[i], message);
	}
}

void role_set_kill(struct role_set *set)
{
	for (int i = 0; i < ROLE_COUNT; i++) {
		if (role_child_alive(&set->children[i])) {
			sys_pidfd_send_signal(set->children[i].pidfd, SIGKILL);
		}
	}
}

bool role_set_kill_but(struct role_set *set, enum role_name last)
{
	bool any = false;

	for (int i = 0; i < ROLE_COUNT; i++) {
		if (role_child_alive(&set->children[i]) && i != (int)last) {
			sys_pidfd_send_signal(set->children[i].pidfd, SIGKILL);
			any = true;
		}
	}
	return any;
}
