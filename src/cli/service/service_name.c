/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses of services: see service_name.h. A static program cannot resolve names as the host
 * does: the C library would load modules for it. getent(1) is the same library as a program.
 */
#include "cli/service/service_name.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#define ADDRESSES_MAX 16
#define ANSWER_BYTES  8192

static int bad_name(const char *text, struct brig_error *err)
{
	int r = error_set(err, BRIG_E_INPUT, EINVAL, "%.200s is not a valid service address", text);

	error_remedy(err, "write unix:/path/brig.sock, http://HOST:PORT or https://HOST:PORT");
	return r;
}

static bool port_valid(const char *port)
{
	size_t length = strlen(port);
	long number = strtol(port, NULL, 10);

	return length > 0 && length < 6 && strspn(port, "0123456789") == length && number > 0 &&
	       number < 65536;
}

/* HOST, HOST:PORT or [ADDRESS]:PORT; a slash at the end is ignored. */
static int parse_authority(const char *text, const char *rest, struct service_name *ret,
			   struct brig_error *err)
{
	size_t size = strcspn(rest, "/?#@");
	const char *end = rest + size, *host = rest, *port = NULL;
	struct in6_addr six;

	if (strcmp(end, "") != 0 && strcmp(end, "/") != 0) {
		return bad_name(text, err);
	}
	if (*rest == '[') {
		const char *close = memchr(rest, ']', size);
		if (!close) {
			return bad_name(text, err);
		}
		host = rest + 1;
		size = (size_t)(close - host);
		port = close + 1 == end ? NULL : close[1] == ':' ? close + 2 : "";
	} else {
		const char *colon = memchr(rest, ':', size);
		size = colon ? (size_t)(colon - rest) : size;
		port = colon ? colon + 1 : NULL;
	}
	if (size == 0 || size >= sizeof(ret->host)) {
		return bad_name(text, err);
	}
	memcpy(ret->host, host, size);
	ret->host[size] = '\0';
	snprintf(ret->port, sizeof(ret->port), "%.*s", port ? (int)(end - port) : 3,
		 port       ? port
		 : ret->tls ? "443"
			    : "80");
	ret->literal6 = inet_pton(AF_INET6, ret->host, &six) == 1;
	bool plain = ret->literal6 || (ret->host[0] != '-' &&
				       strspn(ret->host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLM"
							 "NOPQRSTUVWXYZ0123456789.-_") == size);
	return plain && (!port || end - port < 6) && port_valid(ret->port) ? 0
									   : bad_name(text, err);
}

int service_name_parse(const char *text, struct service_name *ret, struct brig_error *err)
{
	*ret = (struct service_name){ .kind = SERVICE_TCP };
	if (strncmp(text, "http://", 7) == 0) {
		return parse_authority(text, text + 7, ret, err);
	}
	if (strncmp(text, "https://", 8) == 0) {
		ret->tls = true;
		return parse_authority(text, text + 8, ret, err);
	}
	ret->kind = SERVICE_UNIX;
	bool named = strncmp(text, "unix:", 5) == 0;
	ret->path = named ? text + 5 : text;
	if (!named && !strchr(text, '/') && strchr(text, ':')) {
		return bad_name(text, err); /* HOST:PORT: the protocol is missing */
	}
	return *ret->path && !strstr(ret->path, "://") ? 0 : bad_name(text, err);
}

/* Reads the output of `getent ahosts NAME`: lines that begin with an address. */
static int ask_getent(const char *host, char answer[ANSWER_BYTES])
{
	char program[] = "/usr/bin/getent", database[] = "ahosts", end[] = "--";
	_cleanup_free_ char *name = strdup(host);
	char *argv[] = { program, end, database, name, NULL };
	char *env[] = { NULL };
	posix_spawn_file_actions_t actions;
	int pipe_fds[2], status = -1;
	size_t size = 0;
	ssize_t n;
	pid_t pid;

	if (!name || pipe2(pipe_fds, O_CLOEXEC) < 0) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): knows no cleanup attributes */
		return -errno;
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], STDOUT_FILENO);
	int r = -posix_spawn(&pid, program, &actions, NULL, argv, env);
	posix_spawn_file_actions_destroy(&actions);
	close(pipe_fds[1]);
	while (r == 0 && size < ANSWER_BYTES - 1 &&
	       (n = read(pipe_fds[0], answer + size, ANSWER_BYTES - 1 - size)) != 0) {
		if (n < 0 && errno != EINTR) {
			break;
		}
		size += n > 0 ? (size_t)n : 0;
	}
	answer[size] = '\0';
	close(pipe_fds[0]);
	while (r == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
	}
	return r < 0 ? r : status == 0 ? 0 : -ENOENT;
}

static int connect_address(const char *address, const char *port)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6,
				    .sin6_port = htons((uint16_t)strtol(port, NULL, 10)) };
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = six.sin6_port };
	const struct sockaddr *to = (const struct sockaddr *)&four;
	socklen_t size = sizeof(four);

	if (inet_pton(AF_INET, address, &four.sin_addr) != 1) {
		if (inet_pton(AF_INET6, address, &six.sin6_addr) != 1) {
			return -EINVAL;
		}
		to = (const struct sockaddr *)&six;
		size = sizeof(six);
	}
	_cleanup_close_ int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, to, size) < 0) {
		return -errno;
	}
	return TAKE_FD(fd);
}

int service_name_connect(const struct service_name *name, struct brig_error *err)
{
	char answer[ANSWER_BYTES];
	char *state = NULL;
	unsigned tried = 0;
	int fd = connect_address(name->host, name->port);

	if (fd == -EINVAL) {
		int r = ask_getent(name->host, answer);
		if (r < 0) {
			error_set(err, BRIG_E_SYSTEM, ENOENT, "%s: host not found", name->host);
			error_remedy(err, "check the spelling: getent ahosts %s", name->host);
			return -ENOENT;
		}
		for (char *line = strtok_r(answer, "\n", &state);
		     fd < 0 && line && tried++ < ADDRESSES_MAX;
		     line = strtok_r(NULL, "\n", &state)) {
			line[strcspn(line, " \t")] = '\0';
			fd = connect_address(line, name->port);
		}
	}
	if (fd < 0) {
		error_errno(err, BRIG_E_SYSTEM, -fd, "no service answers at %s port %s", name->host,
			    name->port);
		error_remedy(err, "check that brig serve --listen has that address, and that no "
				  "firewall blocks it");
	}
	return fd;
}
