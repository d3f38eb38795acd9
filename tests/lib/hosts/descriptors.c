/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors: the library leaks none, and none of the host's leaks into the cell. */
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "host.h"

/* Ways to end; the last ones are refused and never run. */
static void run_kind(struct brig_context *context, unsigned kind)
{
	static const char *const codes[][2] = {
		{ "bash", "echo x > out/x" },
		{ "bash", "exit 1" },
		{ "bash", "sleep 60 & sleep 60" },
		{ "bash", "sleep 60" },
		{ "bash", "sleep 60" },
		{ "c", "int main(" },
		{ "c", "int main(void) { return 0; }" },
		{ "cobol", "x" },
		{ "bash", "" },
		{ "bash", "echo memory limit" },
	};
	struct brig_request request = host_code(codes[kind][0], codes[kind][1]);
	struct brig_run *run = NULL;

	request.limits.wall_ns = kind == 2 ? 50 * MS : 0;
	request.limits.memory_bytes = kind == 9 ? 1ull << 50 : 0;
	request.changes = kind == 0;
	if (brig_run_start(context, &request, &run, NULL) < 0) {
		CHECK(kind >= 7);
		return;
	}
	CHECK(kind < 7);
	if (kind == 3) {
		host_turn(run, 10);
		brig_run_cancel(run);
	}
	if (kind == 4) {
		host_turn(run, 10);
		brig_run_free(run);
		return;
	}
	brig_result_free(host_finish(run));
}

static void case_none_leaked(void)
{
	struct brig_context *context = host_context();
	unsigned before = host_count_fds(), with_context = 0;

	for (unsigned i = 0; i < 60; i++) {
		run_kind(context, i % 10);
		if (i == 9) {
			with_context = host_count_fds();
		}
	}
	CHECK_EQ(host_count_fds(), with_context);
	CHECK_EQ(with_context, before);
	CHECK_EQ(host_count_children(), 0);
	brig_context_free(context);
	CHECK(host_count_fds() <= before);
}

static void case_contexts_leak_none(void)
{
	unsigned before = host_count_fds();

	for (unsigned i = 0; i < 20; i++) {
		struct brig_context *context = host_context();
		run_kind(context, 0);
		brig_context_free(context);
	}
	CHECK_EQ(host_count_fds(), before);
}

/*
 * Each combination of free descriptors among 0, 1 and 2: brig's own descriptors then get these
 * numbers.
 */
static void case_closed_stdio(void)
{
	int report = fcntl(2, F_DUPFD_CLOEXEC, 100);
	int saved[3];

	CHECK(report >= 0);
	for (int fd = 0; fd < 3; fd++) {
		saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 100);
	}
	for (int closed = 0; closed < 8; closed++) {
		for (int fd = 0; fd < 3; fd++) {
			dup2(saved[fd], fd);
			if (closed & (1 << fd)) {
				close(fd);
			}
		}
		/* The context, its helpers and the whole run are made with these numbers free. */
		struct brig_context *context = host_context();
		struct brig_file_in file = { .name = "in.txt", .path = "/etc/passwd" };
		struct brig_request request = host_code(
			"bash",
			"read line; echo out $line; echo err >&2; echo $(ls "
			"/proc/self/fd | wc -l) 1>&2; read first < in.txt; echo ${first%%:*}");
		request.stdin_data = "in\n";
		request.stdin_size = 3;
		request.files = &file;
		request.files_count = 1;
		struct brig_result *result = host_run(context, &request);
		if (result->status != BRIG_OK || result->stdout_size != 12 ||
		    memcmp(result->stdout_data, "out in\nroot\n", 12) != 0 ||
		    strncmp(result->stderr_data, "err\n", 4) != 0) {
			char *json = brig_result_json(result);
			dprintf(report, "with %d closed: %s\n", closed, json);
			_exit(1);
		}
		brig_result_free(result);
		run_kind(context, 6); /* a compiler, and the question for its version */
		brig_context_free(context);
	}
}

/* A host that does not use close-on-exec. */
static void case_inherited(void)
{
	struct brig_context *context = host_context();
	struct brig_request request =
		host_code("python", "import os\n"
				    "found = []\n"
				    "for fd in range(4096):\n"
				    "    try: os.fstat(fd); found.append(fd)\n"
				    "    except OSError: pass\n"
				    "print(found)\n");
	struct rlimit limit = { 4096, 4096 };

	setrlimit(RLIMIT_NOFILE, &limit);
	for (int i = 0; i < 500; i++) {
		int fd = open("/etc/passwd", O_RDONLY);
		CHECK(fd >= 0);
		/* Gaps too, and a few far above. */
		if (i % 7 == 0) {
			CHECK(dup2(fd, i % 21 ? 1500 + i : 700 + i) >= 0);
		}
		if (i % 5 == 0) {
			close(fd);
		}
	}
	CHECK(fcntl(600 + 109, F_GETFD) >= -1);
	struct brig_result *result = host_run(context, &request);
	CHECK_STATUS(result, BRIG_OK);
	CHECK_OUT(result, "[0, 1, 2]\n");
	brig_result_free(result);
	brig_context_free(context);
}

/* With few descriptors left a run is refused at the call that needs the first one too many. */
static void case_few_left(void)
{
	struct brig_context *context = host_context();
	unsigned refusals = 0, successes = 0;

	run_kind(context, 0);
	unsigned before = host_count_fds();
	for (unsigned left = 0; left < 40; left++) {
		struct brig_request request = host_code("bash", "echo x");
		struct brig_error error = { 0 };
		struct brig_result *result = NULL;
		struct rlimit limit;
		CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
		limit.rlim_cur = before + left;
		CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
		int r = brig_execute_code(context, "bash", "echo x", &request, &result, &error);
		limit.rlim_cur = limit.rlim_max < 1024 ? limit.rlim_max : 1024;
		CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
		if (r < 0) {
			CHECK(error.message[0] != '\0');
			refusals++;
		} else if (result->status == BRIG_OK) {
			CHECK_OUT(result, "x\n");
			successes++;
		}
		brig_result_free(result);
		CHECK_EQ(host_count_fds(), before);
		CHECK_EQ(host_count_children(), 0);
	}
	CHECK(refusals > 0);
	CHECK(successes > 0);
	brig_context_free(context);
}

static const struct host_case cases[] = {
	CASE(none_leaked), CASE(contexts_leak_none), CASE(closed_stdio),
	CASE(inherited),   CASE(few_left),
};

int main(int argc, char **argv)
{
	return host_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
