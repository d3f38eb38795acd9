/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of a cell against a daemon that is right, that refuses, and that hangs up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/daemon.h"

#define ID        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define TURNS     2000
#define CALLS_MAX 32

enum way { RIGHT, REFUSES, HANGS_UP, SILENT };

struct fixture {
	struct run run;
	struct spec spec;
	struct daemon_owner closed;
	char directory[32], socket[64];
	int listener, input;
	int pending;             /* a connection without its request yet; -1: there is none */
	enum daemon_stage wrong; /* the stage of which the answer is */
	enum way way;
	int kept[CALLS_MAX]; /* connections that stay open */
	size_t kept_count;
	unsigned seen[DAEMON_STAGES]; /* calls of each stage */
	pid_t pid;                    /* of the container; 0: it has ended */
};

/* In the place of brig's: a group without any limit. */
int cgroup_find(pid_t pid, const char *marker, const struct cgroup_limits *limits,
		struct cgroup_manager **ret_manager, struct cgroup **ret, layer_set *ret_layers)
{
	(void)limits;
	assert_true(pid > 1);
	assert_string_equal(marker, ID);
	*ret_manager = NULL;
	*ret = NULL;
	*ret_layers = 0;
	return 0;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(f->directory, sizeof(f->directory), "/tmp/brig-stages-XXXXXX");
	assert_non_null(mkdtemp(f->directory));
	snprintf(f->socket, sizeof(f->socket), "%s/sock", f->directory);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", f->socket);
	f->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(f->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(f->listener, 16), 0);
	/* Also for the ordinary user of one test. */
	assert_int_equal(chmod(f->directory, 0755), 0);
	assert_int_equal(chmod(f->socket, 0777), 0);
	/* Its container was left. */
	assert_int_equal(daemon_owner_begin(&f->closed), 0);
	daemon_owner_end(&f->closed);
	f->wrong = DAEMON_STAGES;
	f->pending = -1;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	close_fd(&f->listener);
	unlink(f->socket);
	rmdir(f->directory);
	free(f);
	return 0;
}

/* --- the cell --------------------------------------------------------------------------------- */

static struct daemon_cell *make_cell(const struct fixture *f)
{
	struct daemon_cell *cell = calloc(1, sizeof(*cell));

	cell->kind = &docker_kind;
	cell->call = (struct daemon_call)DAEMON_CALL_NONE;
	cell->link = (struct agent_link)AGENT_LINK_CLOSED;
	cell->pidfd = cell->inside[0] = cell->inside[1] = cell->inside[2] = -1;
	cell->over = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	snprintf(cell->socket, sizeof(cell->socket), "%s", f->socket);
	snprintf(cell->image_name, sizeof(cell->image_name), "brig-base:x");
	buf_adds(&cell->image, "tar");
	assert_int_equal(daemon_owner_begin(&cell->owner), 0);
	return cell;
}

static void begin(struct fixture *f)
{
	struct run *run = &f->run;
	struct brig_error err = { 0 };

	f->spec = (struct spec){ .provider = &docker_provider, .layers = LAYERS_CGROUP };
	*run = (struct run){
		.provider = &docker_provider, .sandbox = -1, .end_fd = -1, .value = -1
	};
	run->options.spec = &f->spec;
	run->watch =
		(struct limit_watch){ .spec = &f->spec, .sandbox = -1, .proc = -1, .sockets = -1 };
	run->epoll = epoll_create1(EPOLL_CLOEXEC);
	run->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	assert_int_equal(run_pipe(&f->input, &run->inside[0], false), 0);
	for (int i = 0; i < 2; i++) {
		run->out[i] = (struct stream){ .number = i + 1, .limit = 4096, .keep = true };
		assert_int_equal(run_pipe(&run->out[i].fd, &run->inside[i + 1], true), 0);
	}
	run->cell = make_cell(f);
	assert_int_equal(daemon_launch(run, &err), 0);
}

static void end(struct fixture *f)
{
	struct run *run = &f->run;

	if (run->cell) {
		daemon_close(run);
	}
	close_fd(&f->input);
	for (int i = 0; i < 2; i++) {
		stream_done(&run->out[i]);
	}
	close_fd(&run->epoll);
	close_fd(&run->timer);
	while (f->kept_count > 0) {
		close(f->kept[--f->kept_count]);
	}
}

/* --- the daemon ------------------------------------------------------------------------------- */

static enum daemon_stage stage_of(const char *request, const struct fixture *f)
{
	static const struct {
		const char *word;
		enum daemon_stage stage;
	} words[] = {
		{ "GET /version", DAEMON_VERSION },
		{ "/containers/json", DAEMON_LIST },
		{ "/images/create", DAEMON_IMPORT },
		{ "/images/", DAEMON_IMAGE },
		{ "/containers/create", DAEMON_CREATE },
		{ "/attach?", DAEMON_ATTACH },
		{ "/start ", DAEMON_START },
		{ "/containers/" ID "/json", DAEMON_INSPECT },
	};

	if (strncmp(request, "DELETE", 6) == 0) {
		return f->seen[DAEMON_IMAGE] ? DAEMON_REMOVE : DAEMON_SWEEP;
	}
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strstr(request, words[i].word)) {
			return words[i].stage;
		}
	}
	fail_msg("an unknown request: %s", request);
	return DAEMON_STAGES;
}

static void right_answer(const struct fixture *f, const char *request, enum daemon_stage stage,
			 char *ret, size_t size)
{
	static const struct {
		unsigned status;
		const char *body;
	} answers[DAEMON_STAGES] = {
		[DAEMON_VERSION] = { 200, "{\"ApiVersion\":\"1.41\",\"Version\":\"20\"}" },
		[DAEMON_SWEEP] = { 204, "" },
		[DAEMON_IMAGE] = { 404, "{}" },
		[DAEMON_IMPORT] = { 200, "{}" },
		[DAEMON_CREATE] = { 201, "{\"Id\":\"" ID "\"}" },
		[DAEMON_ATTACH] = { 101, "" },
		[DAEMON_START] = { 204, "" },
		/* It ended at once: here is no control group that could be its own. */
		[DAEMON_INSPECT] = { 200, "{\"State\":{\"Pid\":0}}" },
		[DAEMON_REMOVE] = { 204, "" },
	};
	char list[512];
	const char *body = answers[stage].body;
	unsigned status = answers[stage].status;

	if (stage == DAEMON_INSPECT && f->pid > 0) {
		snprintf(list, sizeof(list), "{\"State\":{\"Pid\":%d}}", (int)f->pid);
		body = list;
	}
	if (stage == DAEMON_LIST && !strstr(request, "created")) {
		body = "[]";
		status = 200;
	} else if (stage == DAEMON_LIST) {
		snprintf(list, sizeof(list),
			 "[{\"Id\":\"" ID "\",\"State\":\"created\",\"Labels\":"
			 "{\"" DAEMON_LABEL "\":\"%s\"}}]",
			 f->closed.text);
		body = list;
		status = 200;
	}
	if (status == 101) {
		snprintf(ret, size,
			 "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
	} else if (status == 204) {
		snprintf(ret, size, "HTTP/1.1 204 No Content\r\n\r\n");
	} else {
		snprintf(ret, size, "HTTP/1.1 %u Word\r\nContent-Length: %zu\r\n\r\n%s", status,
			 strlen(body), body);
	}
}

/* The request is small: it is there as a whole as soon as its head is. */
static void serve_one(struct fixture *f, int fd)
{
	static char request[65536];
	char answer[1024];
	ssize_t n = recv(fd, request, sizeof(request) - 1, 0);

	if (n <= 0) {
		close(fd); /* the cell was closed before it asked */
		return;
	}
	request[n] = '\0';
	enum daemon_stage stage = stage_of(request, f);
	enum way way = stage == f->wrong ? f->way : RIGHT;
	f->seen[stage]++;
	right_answer(f, request, stage, answer, sizeof(answer));
	if (way == REFUSES) {
		snprintf(answer, sizeof(answer),
			 "HTTP/1.1 500 No\r\nContent-Length: 17\r\n\r\n{\"message\":\"no!\"}");
	}
	if (way == RIGHT || way == REFUSES) {
		assert_true(send(fd, answer, strlen(answer), MSG_NOSIGNAL) > 0);
	}
	if (way == SILENT || (stage == DAEMON_ATTACH && way == RIGHT)) {
		assert_true(f->kept_count < CALLS_MAX);
		f->kept[f->kept_count++] = fd;
	} else {
		close(fd);
	}
}

static void serve(struct fixture *f, int wait_ms)
{
	bool fresh = f->pending < 0;
	struct pollfd ready = { .fd = fresh ? f->listener : f->pending, .events = POLLIN };

	if (poll(&ready, 1, wait_ms) != 1) {
		return;
	}
	if (fresh) {
		f->pending = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
		assert_true(f->pending >= 0);
	} else {
		serve_one(f, TAKE_FD(f->pending));
	}
}

/* Until the stage is reached, or the calls are over. */
static void go(struct fixture *f, enum daemon_stage until)
{
	const struct daemon_cell *cell = f->run.cell;
	struct epoll_event ready;

	for (unsigned i = 0; i < TURNS && cell->stage != until; i++) {
		serve(f, 1);
		if (epoll_wait(f->run.epoll, &ready, 1, 1) == 1 &&
		    ready.data.u32 == RUN_EVENT_CELL + DAEMON_EVENT_CALL) {
			assert_int_equal(daemon_on_call(&f->run), 0);
		}
	}
	assert_int_equal(cell->stage, until);
}

/* --- the tests -------------------------------------------------------------------------------- */

static void each_call_is_made_once_and_in_order(void **state)
{
	struct fixture *f = *state;

	begin(f);
	for (enum daemon_stage stage = DAEMON_LIST; stage <= DAEMON_INSPECT; stage++) {
		go(f, stage);
		assert_int_equal(f->seen[stage - 1], stage - 1 == DAEMON_LIST ? 2 : 1);
		assert_int_equal(f->seen[stage], 0);
	}
	go(f, DAEMON_OVER);
	for (enum daemon_stage stage = DAEMON_VERSION; stage <= DAEMON_INSPECT; stage++) {
		assert_int_equal(f->seen[stage], stage == DAEMON_LIST ? 2 : 1);
	}
	/* The fixture's container has ended: the error says so, and it is removed. */
	assert_int_equal(f->seen[DAEMON_REMOVE], 1);
	assert_string_equal(daemon_of(&f->run)->err.step, "inspect");
	end(f);
}

static bool is_optional(enum daemon_stage stage)
{
	return stage == DAEMON_LIST || stage == DAEMON_SWEEP;
}

static void go_wrong(struct fixture *f, enum daemon_stage stage, enum way way)
{
	f->wrong = stage;
	f->way = way;
	memset(f->seen, 0, sizeof(f->seen));
	begin(f);
	go(f, DAEMON_OVER);
	const struct daemon_cell *cell = f->run.cell;
	enum daemon_stage last = is_optional(stage) ? DAEMON_INSPECT : stage;
	assert_true(cell->failed && f->run.build_failed);
	assert_string_equal(cell->err.step, daemon_stages[last].name);
	assert_true(cell->err.message[0] != '\0');
	for (enum daemon_stage after = last + 1; after <= DAEMON_INSPECT; after++) {
		assert_int_equal(f->seen[after], 0);
	}
	/* As soon as there may be a container with a known name. */
	assert_int_equal(f->seen[DAEMON_REMOVE], last > DAEMON_CREATE ? 1 : 0);
	end(f);
}

static void a_refusal_ends_the_cell(void **state)
{
	for (enum daemon_stage stage = DAEMON_VERSION; stage <= DAEMON_INSPECT; stage++) {
		go_wrong(*state, stage, REFUSES);
	}
}

static void a_lost_connection_ends_the_cell(void **state)
{
	for (enum daemon_stage stage = DAEMON_VERSION; stage <= DAEMON_INSPECT; stage++) {
		go_wrong(*state, stage, HANGS_UP);
	}
}

/* The call that removes it is refused, or lost: the cell ends nevertheless. */
static void a_container_that_stays_ends_the_cell(void **state)
{
	struct fixture *f = *state;

	for (enum way way = REFUSES; way <= HANGS_UP; way++) {
		f->wrong = DAEMON_REMOVE;
		f->way = way;
		memset(f->seen, 0, sizeof(f->seen));
		begin(f);
		go(f, DAEMON_OVER);
		assert_int_equal(f->seen[DAEMON_REMOVE], 1);
		end(f);
	}
}

/* All events of the cell, until its process has ended. */
static void go_on(struct fixture *f)
{
	const struct daemon_cell *cell = f->run.cell;
	struct epoll_event ready;

	for (unsigned i = 0; i < TURNS && cell->stage != DAEMON_OVER; i++) {
		serve(f, 1);
		if (epoll_wait(f->run.epoll, &ready, 1, 1) == 1 &&
		    ready.data.u32 >= RUN_EVENT_CELL) {
			assert_true(daemon_handle(&f->run, ready.data.u32 - RUN_EVENT_CELL) >= 0);
		}
	}
	assert_int_equal(cell->stage, DAEMON_OVER);
}

static pid_t start_process(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

static void end_process(const struct fixture *f)
{
	kill(f->pid, SIGKILL);
	assert_int_equal(waitpid(f->pid, NULL, 0), f->pid);
}

/* The reason is that of the refusal, whatever comes after it. */
static void assert_refused(struct fixture *f)
{
	struct daemon_cell *cell = f->run.cell;
	struct brig_error err = { 0 };

	assert_true(cell->failed && f->run.build_failed);
	assert_int_equal(f->run.cell_alarm_ns, 0);
	assert_true(daemon_ended(&f->run, &err) < 0);
	assert_string_equal(err.step, "cgroup");
	assert_non_null(strstr(err.message, "has not set the limits"));
	/* No program begins: neither now nor when the agent says that it is ready. */
	cell->link.reports.state = REPORT_READY;
	assert_int_equal(daemon_ready(&f->run), 0);
	cell->link.reports.state = REPORT_NEW;
	assert_int_equal(cell->link.phase, ASSIGN_NOTHING);
}

/* Brig may kill the container's process: it does not ask the daemon. */
static void a_container_without_limits_is_killed(void **state)
{
	struct fixture *f = *state;

	f->pid = start_process();
	begin(f);
	go(f, DAEMON_ENDING);
	assert_int_equal(f->seen[DAEMON_REMOVE], 0);
	assert_refused(f);
	go_on(f);
	assert_refused(f);
	end(f);
	end_process(f);
}

/* An ordinary user may not: the daemon is asked, and refuses, hangs up or says nothing. */
static void a_container_without_limits_is_removed(void **state)
{
	struct fixture *f = *state;

	if (geteuid() != 0) {
		skip();
	}
	for (enum way way = RIGHT; way <= SILENT; way++) {
		memset(f->seen, 0, sizeof(f->seen));
		f->pid = start_process();
		f->wrong = DAEMON_REMOVE;
		f->way = way;
		begin(f);
		go(f, DAEMON_INSPECT);
		assert_int_equal(setresuid(1, 1, 0), 0);
		go(f, way == SILENT ? DAEMON_REMOVE : DAEMON_ENDING);
		for (unsigned i = 0; i < TURNS && f->seen[DAEMON_REMOVE] == 0; i++) {
			assert_int_equal(daemon_on_call(&f->run), 0);
			serve(f, 1);
		}
		assert_int_equal(f->seen[DAEMON_REMOVE], 1);
		assert_int_equal(setresuid(0, 0, 0), 0);
		if (way != SILENT) {
			assert_refused(f);
		}
		end_process(f);
		go_on(f);
		/* The answer comes after that. */
		while (f->kept_count > 0) {
			close(f->kept[--f->kept_count]);
		}
		assert_int_equal(daemon_on_call(&f->run), 0);
		assert_true(daemon_of(&f->run)->call.fd < 0);
		f->run.cell_alarm_ns = 0;
		assert_refused(f);
		end(f);
	}
}

/* The container is removed after that, by a thread that waits for the daemon instead. */
static void a_closed_cell_leaves_no_container(void **state)
{
	struct fixture *f = *state;

	for (enum daemon_stage stage = DAEMON_CREATE; stage <= DAEMON_INSPECT; stage++) {
		memset(f->seen, 0, sizeof(f->seen));
		begin(f);
		go(f, stage);
		daemon_close(&f->run);
		for (unsigned i = 0; i < TURNS && f->seen[DAEMON_REMOVE] == 0; i++) {
			serve(f, 5);
		}
		assert_int_equal(f->seen[DAEMON_REMOVE], 1);
		end(f);
	}
}

/* Before there can be one, nothing is asked. */
static void a_cell_that_is_closed_early_asks_nothing(void **state)
{
	struct fixture *f = *state;

	for (enum daemon_stage stage = DAEMON_VERSION; stage < DAEMON_CREATE; stage++) {
		memset(f->seen, 0, sizeof(f->seen));
		begin(f);
		go(f, stage);
		end(f);
		assert_int_equal(f->seen[DAEMON_REMOVE], 0);
		/* The connection of the call that was begun. */
		serve(f, 0);
		serve(f, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_call_is_made_once_and_in_order, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_refusal_ends_the_cell, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_lost_connection_ends_the_cell, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_container_that_stays_ends_the_cell, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_container_without_limits_is_killed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_container_without_limits_is_removed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_closed_cell_leaves_no_container, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_cell_that_is_closed_early_asks_nothing, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
