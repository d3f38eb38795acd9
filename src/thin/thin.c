/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attempt: see README.md. Every step that does not fit returns, and the run is cold.
 *
 * The request is the words and the environment as the kernel has laid them on the stack, one block.
 * The service reads from /proc what it must know of this process; here is only what it cannot see
 * there: words that name descriptors of this process, and a stdin that is a terminal, which
 * belongs to a session and a foreground that the service is not in.
 */
#include "thin/thin.h"

#include <asm/termbits.h>
#include <elf.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/memfd.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/personality.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>

#include "thin/calls.h"
#include "thin/text.h"
#include "thin/warm_message.h"

/* A service that does not answer costs no more than this; with "wait" it may take long. */
#define PATIENCE_MS 300
#define WAIT_MS     60000
#define TCGETS_CALL 0x5401

enum thin_outcome thin_outcome;

struct attempt {
	char **argv;
	size_t argc, envc;
	const char *block; /* of all words */
	size_t block_size;
	const char *directory; /* $XDG_RUNTIME_DIR, or NULL */
	int socket, signals;   /* -1: not open */
	int secret;            /* the file with our secret in its name; likewise */
	char digits[WARM_PROOF_SIZE + 1];
	int patience_ms;
	unsigned long heard, before;
	int sent; /* the last signal that was passed on */
};

void thin_attempt(const uintptr_t *stack);

/* --- is it worth an attempt? ------------------------------------------------------------------ */

/* Words that would name something else in another process. */
static bool names_own(const char *word)
{
	return text_has(word, "/proc") || text_has(word, "fd/") || text_has(word, "/dev/tty");
}

static bool words_travel(const struct attempt *attempt)
{
	for (size_t i = 2; i < attempt->argc; i++) {
		bool code = text_same(attempt->argv[i - 1], "-c");
		if (!code && names_own(attempt->argv[i])) {
			return false;
		}
	}
	return true;
}

/* All words lie one behind the other: so the kernel puts them there. */
static bool take_block(struct attempt *attempt)
{
	const char *at = attempt->argv[0];

	attempt->block = at;
	/* Behind argv there is its NULL, then the environment. */
	for (size_t i = 0; i < attempt->argc + 1 + attempt->envc; i++) {
		const char *word = attempt->argv[i];
		if (i == attempt->argc) {
			continue;
		}
		if (word != at) {
			return false;
		}
		at += text_length(word) + 1;
	}
	attempt->block_size = (size_t)(at - attempt->block);
	return attempt->block_size + sizeof(struct warm_request) <= WARM_REQUEST_MAX;
}

static bool read_stack(struct attempt *attempt, const uintptr_t *stack)
{
	attempt->argc = stack[0];
	attempt->argv = (char **)(uintptr_t)(stack + 1);
	if (attempt->argc < 3 || !text_same(attempt->argv[1], "run")) {
		return false;
	}
	char **word = attempt->argv + attempt->argc + 1;
	for (; *word; word++, attempt->envc++) {
		const char *directory = text_after(*word, "XDG_RUNTIME_DIR=");
		attempt->directory = directory ? directory : attempt->directory;
		if (text_same(*word, WARM_VARIABLE "=off")) {
			return false;
		}
		if (text_same(*word, WARM_VARIABLE "=wait")) {
			attempt->patience_ms = WAIT_MS;
		}
	}
	for (const uintptr_t *entry = (uintptr_t *)(word + 1); entry[0] != AT_NULL; entry += 2) {
		if (entry[0] == AT_SECURE && entry[1]) {
			return false;
		}
	}
	return true;
}

/* --- the service ------------------------------------------------------------------------------ */

static bool connect_service(struct attempt *attempt, long uid)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	struct line path = { name.sun_path, sizeof(name.sun_path), 0, false };

	if (attempt->directory && attempt->directory[0] == '/') {
		line_add(&path, attempt->directory);
	} else {
		line_add(&path, "/run/user/");
		line_number(&path, (unsigned long)uid);
	}
	line_add(&path, "/" WARM_DIRECTORY "/" WARM_SOCKET);
	if (path.full) {
		return false;
	}
	/* Not blocking: else a full queue of a service that hangs would be waited for. */
	attempt->socket =
		(int)call3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* Else one of the three streams is closed, and the socket would be taken for it. */
	return attempt->socket > 2 &&
	       call3(SYS_connect, attempt->socket, address(&name), sizeof(name)) == 0;
}

static void add_process(struct line *line, int pid)
{
	line_add(line, "/proc/");
	line_number(line, (unsigned long)pid);
}

/* Has the service the same file of that name in /proc? */
static bool shares(int pid, const char *name)
{
	char path[64];
	struct line line = { path, sizeof(path), 0, false };
	struct stat theirs = { 0 }, ours = { 0 };

	add_process(&line, pid);
	line_add(&line, name);
	if (call4(SYS_newfstatat, AT_FDCWD, address(path), address(&theirs), 0) < 0) {
		return false;
	}
	line.size = 0;
	line_add(&line, "/proc/self");
	line_add(&line, name);
	return call4(SYS_newfstatat, AT_FDCWD, address(path), address(&ours), 0) == 0 &&
	       ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

/* Is it ours, and may we trace it? See warm_message.h. */
static bool prove(const struct attempt *attempt, long uid, char proof[WARM_PROOF_SIZE])
{
	char path[64], target[sizeof(WARM_PROOF_LINK) - 1 + WARM_PROOF_SIZE + 1];
	struct line line = { path, sizeof(path), 0, false };
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);

	if (call6(SYS_getsockopt, attempt->socket, SOL_SOCKET, SO_PEERCRED, address(&peer),
		  address(&size), 0) < 0 ||
	    peer.uid != uid || peer.pid <= 0) {
		return false;
	}
	/* A directory of ours would be a way out of its mounts. */
	if (!shares(peer.pid, "/ns/mnt") || !shares(peer.pid, "/root")) {
		return false;
	}
	add_process(&line, peer.pid);
	line_add(&line, "/fd/");
	line_number(&line, WARM_PROOF_FD);
	long n =
		call4(SYS_readlinkat, AT_FDCWD, address(path), address(target), sizeof(target) - 1);
	target[sizeof(target) - 1] = '\0';
	const char *digits = n == sizeof(target) - 1 ? text_after(target, WARM_PROOF_LINK) : NULL;
	if (digits) {
		memcpy(proof, digits, WARM_PROOF_SIZE);
	}
	return digits;
}

static bool receive(const struct attempt *attempt, struct warm_reply *ret)
{
	return call6(SYS_recvfrom, attempt->socket, address(ret), sizeof(*ret), 0, 0, 0) ==
	       sizeof(*ret);
}

/* Waits for an answer. */
static bool hear_answer(const struct attempt *attempt, enum warm_answer expected,
			struct warm_reply *ret)
{
	struct pollfd ready = { .fd = attempt->socket, .events = POLLIN };

	return call3(SYS_poll, address(&ready), 1, attempt->patience_ms) == 1 &&
	       receive(attempt, ret) && ret->answer == expected;
}

/* Makes our secret, and tells its place. The answer comes while we read the service's. */
static bool greet(struct attempt *attempt)
{
	struct warm_request message = { .magic = WARM_MAGIC, .op = WARM_GREET };
	char name[sizeof(WARM_PROOF_NAME) + WARM_PROOF_SIZE] = WARM_PROOF_NAME;
	unsigned char bytes[WARM_PROOF_SIZE / 2] = { 0 };

	if (call3(SYS_getrandom, address(bytes), sizeof(bytes), 0) != sizeof(bytes)) {
		return false;
	}
	for (size_t i = 0; i < sizeof(bytes); i++) {
		attempt->digits[2 * i] = (char)('a' + (bytes[i] & 15));
		attempt->digits[2 * i + 1] = (char)('a' + (bytes[i] >> 4));
	}
	memcpy(name + sizeof(WARM_PROOF_NAME) - 1, attempt->digits, WARM_PROOF_SIZE + 1);
	attempt->secret = (int)call3(SYS_memfd_create, address(name), MFD_CLOEXEC, 0);
	message.value = (uint32_t)attempt->secret;
	return attempt->secret >= 0 &&
	       call6(SYS_sendto, attempt->socket, address(&message), sizeof(message), MSG_NOSIGNAL,
		     0, 0) == sizeof(message);
}

/* Nobody who may not trace this process has answered. */
static bool greeted(const struct attempt *attempt)
{
	struct warm_reply reply = { 0 };

	if (!hear_answer(attempt, WARM_HELLO, &reply)) {
		return false;
	}
	reply.text[sizeof(reply.text) - 1] = '\0';
	return text_same(reply.text, attempt->digits);
}

static bool stdin_is_terminal(void)
{
	struct termios settings;

	return call3(SYS_ioctl, 0, TCGETS_CALL, address(&settings)) == 0;
}

/* In /proc a relative name can mean another process. */
static bool directory_travels(int directory)
{
	struct statfs info = { 0 };

	return call3(SYS_fstatfs, directory, address(&info), 0) == 0 &&
	       info.f_type != PROC_SUPER_MAGIC;
}

static bool send_request(const struct attempt *attempt, const char proof[WARM_PROOF_SIZE])
{
	struct warm_request request = { .magic = WARM_MAGIC,
					.op = WARM_RUN,
					.argc = (uint32_t)attempt->argc,
					.envc = (uint32_t)attempt->envc };
	struct iovec parts[2] = { { &request, sizeof(request) },
				  { (void *)(uintptr_t)attempt->block, attempt->block_size } };
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(WARM_FDS * sizeof(int))];
	} control = { 0 };
	struct msghdr message = { .msg_iov = parts,
				  .msg_iovlen = 2,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int directory =
		(int)call4(SYS_openat, AT_FDCWD, address("."), O_PATH | O_DIRECTORY | O_CLOEXEC, 0);

	if (directory < 0) {
		return false;
	}
	int fds[WARM_FDS] = { directory, 0, 1, 2 };
	memcpy(request.proof, proof, WARM_PROOF_SIZE);
	request.personality = (uint32_t)call3(SYS_personality, 0xffffffff, 0, 0);
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(&control.header), fds, sizeof(fds));
	bool sent = directory_travels(directory) &&
		    call3(SYS_sendmsg, attempt->socket, address(&message), MSG_NOSIGNAL) ==
			    (long)(sizeof(request) + attempt->block_size);
	call3(SYS_close, directory, 0, 0);
	return sent;
}

/* --- signals ---------------------------------------------------------------------------------- */

struct kernel_action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

static unsigned long bit_of(int signal)
{
	return 1ul << (signal - 1);
}

static void hear(struct attempt *attempt, int signal)
{
	struct kernel_action action = { 0 };

	if (call4(SYS_rt_sigaction, signal, 0, address(&action), sizeof(action.mask)) == 0 &&
	    action.handler != SIG_IGN) {
		attempt->heard |= bit_of(signal);
	}
}

static void mask(int how, const unsigned long *set, unsigned long *before)
{
	call4(SYS_rt_sigprocmask, how, address(set), address(before), sizeof(*set));
}

/* Those that were ignored when brig was started stay ignored, as in a cold run. */
static bool open_signals(struct attempt *attempt)
{
	hear(attempt, SIGINT);
	hear(attempt, SIGTERM);
	hear(attempt, SIGHUP);
	hear(attempt, SIGQUIT);
	hear(attempt, SIGTSTP);
	mask(SIG_BLOCK, &attempt->heard, &attempt->before);
	attempt->signals = (int)call4(SYS_signalfd4, -1, address(&attempt->heard),
				      sizeof(attempt->heard), SFD_CLOEXEC | SFD_NONBLOCK);
	return attempt->signals >= 0;
}

static void tell(struct attempt *attempt, int signal)
{
	struct warm_request message = { .magic = WARM_MAGIC,
					.op = WARM_SIGNAL,
					.value = (uint32_t)signal };

	attempt->sent = signal;
	call6(SYS_sendto, attempt->socket, address(&message), sizeof(message), MSG_NOSIGNAL, 0, 0);
}

/* With the signal itself, so that the kernel and the shell see what they are used to. */
static void raise_own(int signal)
{
	unsigned long one = bit_of(signal);

	mask(SIG_UNBLOCK, &one, NULL);
	call3(SYS_kill, call0(SYS_getpid), signal, 0);
	mask(SIG_BLOCK, &one, NULL);
}

static void pass_signal(struct attempt *attempt)
{
	struct signalfd_siginfo info = { 0 };

	if (call3(SYS_read, attempt->signals, address(&info), sizeof(info)) != sizeof(info)) {
		return;
	}
	tell(attempt, (int)info.ssi_signo);
	if (info.ssi_signo == SIGTSTP) {
		raise_own(SIGTSTP);
		tell(attempt, SIGCONT);
	}
}

/* --- the run ---------------------------------------------------------------------------------- */

static void end(long status)
{
	for (;;) {
		call3(SYS_exit_group, status, 0, 0);
	}
}

/*
 * Never both: a service that is too late cannot take the run any more (its message fails), and if
 * it has taken it meanwhile, the run is lost and not cold.
 */
static bool taken(const struct attempt *attempt)
{
	struct warm_reply reply = { 0 };

	if (hear_answer(attempt, WARM_TAKEN, &reply)) {
		return true;
	}
	call3(SYS_shutdown, attempt->socket, SHUT_RDWR, 0);
	return receive(attempt, &reply) && reply.answer == WARM_TAKEN;
}

/* Returns only when the service has ended before the run. */
static void follow(struct attempt *attempt)
{
	struct pollfd fds[2] = { { .fd = attempt->socket, .events = POLLIN },
				 { .fd = attempt->signals, .events = POLLIN } };
	struct warm_reply reply;

	for (;;) {
		if (call3(SYS_poll, address(fds), 2, -1) < 0) {
			continue;
		}
		if (fds[1].revents) {
			pass_signal(attempt);
		}
		if (!fds[0].revents) {
			continue;
		}
		if (!receive(attempt, &reply)) {
			return;
		}
		if (reply.answer == WARM_ENDED) {
			end(reply.value);
		}
		if (reply.answer == WARM_KILLED && reply.value == attempt->sent) {
			raise_own(reply.value);
			end(128 + reply.value);
		}
		if (reply.answer != WARM_TAKEN) {
			return;
		}
	}
}

static void forget(struct attempt *attempt)
{
	if (attempt->socket >= 0) {
		call3(SYS_close, attempt->socket, 0, 0);
	}
	if (attempt->signals >= 0) {
		call3(SYS_close, attempt->signals, 0, 0);
	}
	if (attempt->secret >= 0) {
		call3(SYS_close, attempt->secret, 0, 0);
	}
	if (attempt->heard) {
		mask(SIG_SETMASK, &attempt->before, NULL);
	}
}

void thin_attempt(const uintptr_t *stack)
{
	struct attempt attempt = {
		.socket = -1, .signals = -1, .secret = -1, .patience_ms = PATIENCE_MS
	};
	char proof[WARM_PROOF_SIZE];

	if (!read_stack(&attempt, stack)) {
		return;
	}
	long uid = call0(SYS_geteuid);
	if (connect_service(&attempt, uid) && greet(&attempt) && !stdin_is_terminal() &&
	    words_travel(&attempt) && take_block(&attempt) && prove(&attempt, uid, proof) &&
	    open_signals(&attempt) && greeted(&attempt) && send_request(&attempt, proof) &&
	    taken(&attempt)) {
		thin_outcome = THIN_LOST;
		follow(&attempt);
	}
	forget(&attempt);
}
