/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends a number of requests over persistent connections, several at a time: one thread, one epoll.
 * Reads the same commands as warm_driver.c, and one more:
 *
 * 	load START IN_FLIGHT RUNS READY	sends RUNS requests; START and READY are ignored
 * 	idle COUNT			opens COUNT more connections that stay silent
 *
 * A latency is from before the request is written to the last byte of its response. "warm" counts
 * the responses of runs that came from a pool. Any response but a 200 is an error: the figures are
 * then meaningless.
 *
 * usage: http_load unix:PATH|PORT TOKEN METHOD TARGET [BODY] (PORT is on 127.0.0.1; TOKEN: "-" for
 * none)
 */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "sample.h"

#define SLOTS_MAX   64
#define IDLE_MAX    100000
#define ANSWER_SIZE 65536
#define WARM        "\"start\":\"warm\""

struct slot {
	int fd; /* 0: not connected yet */
	uint64_t start_ns;
	size_t size; /* of the bytes received */
	char answer[ANSWER_SIZE + 1];
};

struct load {
	const char *place;
	char *request;
	size_t request_size;
	int epoll;
	struct slot slots[SLOTS_MAX];
	int *idle;
	unsigned idle_count;
	uint64_t *wall_ns;
	unsigned started, ended, warm;
};

static _Noreturn void fail(const char *what)
{
	printf("{\"error\":{\"message\":\"http_load: %s: %s\"}}\n", what, strerror(errno));
	exit(1);
}

static int connect_to(const char *place)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons((uint16_t)atoi(place)) };
	bool local = strncmp(place, "unix:", 5) == 0;
	int fd = socket(local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1, r;

	if (fd < 0) {
		fail("socket");
	}
	if (local) {
		snprintf(un.sun_path, sizeof(un.sun_path), "%s", place + 5);
		r = connect(fd, (struct sockaddr *)&un, sizeof(un));
	} else {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		r = connect(fd, (struct sockaddr *)&in, sizeof(in));
	}
	if (r < 0) {
		fail("connect");
	}
	return fd;
}

static void ask(struct load *load, struct slot *slot)
{
	if (!slot->fd) {
		struct epoll_event event = { .events = EPOLLIN, .data.ptr = slot };
		slot->fd = connect_to(load->place);
		if (epoll_ctl(load->epoll, EPOLL_CTL_ADD, slot->fd, &event) < 0) {
			fail("epoll_ctl");
		}
	}
	slot->size = 0;
	slot->start_ns = now_ns();
	load->started++;
	if (send(slot->fd, load->request, load->request_size, MSG_NOSIGNAL) !=
	    (ssize_t)load->request_size) {
		fail("send");
	}
}

/* Is the response complete? All of ours have a length. */
static bool is_whole(const struct slot *slot)
{
	const char *end = strstr(slot->answer, "\r\n\r\n");
	const char *length = strcasestr(slot->answer, "\r\ncontent-length:");

	if (!end) {
		return false;
	}
	if (strncmp(slot->answer, "HTTP/1.1 200 ", 13) != 0 || !length || length > end) {
		errno = EPROTO;
		fprintf(stderr, "%.2000s\n", slot->answer);
		fail("the answer is not a 200 with a length");
	}
	size_t head = (size_t)(end + 4 - slot->answer);
	return slot->size >= head + strtoul(length + 17, NULL, 10);
}

static bool hear(struct load *load, struct slot *slot)
{
	ssize_t n = recv(slot->fd, slot->answer + slot->size, ANSWER_SIZE - slot->size, 0);

	if (n <= 0) {
		errno = n ? errno : ECONNRESET;
		fail("recv");
	}
	slot->size += (size_t)n;
	slot->answer[slot->size] = 0;
	if (!is_whole(slot)) {
		return false;
	}
	load->wall_ns[load->ended++] = now_ns() - slot->start_ns;
	load->warm += strstr(slot->answer, WARM) != NULL;
	return true;
}

static void run(struct load *load, unsigned in_flight, unsigned runs)
{
	struct epoll_event events[SLOTS_MAX];

	load->started = load->ended = load->warm = 0;
	for (unsigned i = 0; i < in_flight && load->started < runs; i++) {
		ask(load, &load->slots[i]);
	}
	while (load->ended < runs) {
		int count = epoll_wait(load->epoll, events, SLOTS_MAX, -1);
		for (int i = 0; i < count; i++) {
			if (hear(load, events[i].data.ptr) && load->started < runs) {
				ask(load, events[i].data.ptr);
			}
		}
	}
}

static void answer_load(struct load *load, const char *line)
{
	unsigned in_flight, runs;

	errno = EINVAL;
	if (sscanf(line, "load %*s %u %u", &in_flight, &runs) != 2 || in_flight < 1 ||
	    in_flight > SLOTS_MAX) {
		fail("invalid command");
	}
	load->wall_ns = calloc(runs, sizeof(uint64_t));
	if (!load->wall_ns) {
		fail("samples");
	}
	uint64_t begin = now_ns();
	run(load, in_flight, runs);
	printf("{\"elapsed_ns\":%" PRIu64 ",\"warm\":%u,\"wall_ns\":[", now_ns() - begin,
	       load->warm);
	for (unsigned i = 0; i < runs; i++) {
		printf("%s%" PRIu64, i ? "," : "", load->wall_ns[i]);
	}
	puts("]}");
	free(load->wall_ns);
}

static void answer_idle(struct load *load, const char *line)
{
	unsigned count = (unsigned)strtoul(line + 5, NULL, 10);

	while (load->idle_count < count && load->idle_count < IDLE_MAX) {
		load->idle[load->idle_count++] = connect_to(load->place);
	}
	while (load->idle_count > count) {
		close(load->idle[--load->idle_count]);
	}
	/* The number of connections that the other end has not closed. */
	unsigned open = 0;
	for (unsigned i = 0; i < load->idle_count; i++) {
		char byte;
		open += recv(load->idle[i], &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
			errno == EAGAIN;
	}
	printf("{\"idle\":%u,\"open\":%u}\n", load->idle_count, open);
}

static void make_request(struct load *load, const char *token, char **words)
{
	const char *body = words[2] ? words[2] : "";
	char allowed[256] = "";

	if (strcmp(token, "-") != 0) {
		snprintf(allowed, sizeof(allowed), "Authorization: Bearer %s\r\n", token);
	}
	int size = asprintf(&load->request,
			    "%s %s HTTP/1.1\r\nHost: localhost\r\n%s"
			    "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
			    words[0], words[1], allowed, strlen(body), body);
	if (size < 0) {
		fail("request");
	}
	load->request_size = (size_t)size;
}

int main(int argc, char **argv)
{
	static struct load load;
	struct rlimit files = { IDLE_MAX + 128, IDLE_MAX + 128 };
	char line[256];

	if (argc < 5) {
		fputs("usage: http_load unix:PATH|PORT TOKEN METHOD TARGET [BODY]\n", stderr);
		return 2;
	}
	if (setrlimit(RLIMIT_NOFILE, &files) < 0 && getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	load.place = argv[1];
	make_request(&load, argv[2], argv + 3);
	load.epoll = epoll_create1(EPOLL_CLOEXEC);
	load.idle = calloc(IDLE_MAX, sizeof(int));
	if (load.epoll < 0 || !load.idle) {
		fail("start");
	}
	while (fgets(line, sizeof(line), stdin)) {
		if (strncmp(line, "load ", 5) == 0) {
			answer_load(&load, line);
		} else {
			answer_idle(&load, line);
		}
		fflush(stdout);
	}
	return 0;
}
