/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of the host programs of these tests: see host.h. */
#include "host.h"

#include <dirent.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

_Noreturn void host_fail(const char *file, int line, const char *what)
{
	dprintf(2, "%s:%d: not true: %s\n", file, line, what);
	_exit(1);
}

void host_check_equal(const char *file, int line, const char *what, long long is, long long should)
{
	if (is != should) {
		dprintf(2, "%s:%d: %s is %lld, not %lld\n", file, line, what, is, should);
		_exit(1);
	}
}

static void show(const struct brig_result *result)
{
	char *text = brig_result_json(result);

	dprintf(2, "%s\n", text ? text : "(no memory)");
	free(text);
}

void host_check_output(const char *file, int line, const struct brig_result *result,
		       const char *text, size_t size)
{
	if (result->stdout_size != size || memcmp(result->stdout_data, text, size) != 0) {
		dprintf(2, "%s:%d: not the expected output\n", file, line);
		show(result);
		_exit(1);
	}
}

void host_check_ok(const char *file, int line, int r, const struct brig_error *error)
{
	if (r < 0) {
		dprintf(2, "%s:%d: %s (%s)\n", file, line, error->message, error->remedy);
		_exit(1);
	}
}

void host_check_status(const char *file, int line, const struct brig_result *result,
		       enum brig_status status)
{
	if (result->status != status) {
		dprintf(2, "%s:%d: status is not %s\n", file, line, brig_status_name(status));
		show(result);
		_exit(1);
	}
}

int host_main(int argc, char **argv, const struct host_case *cases, size_t count)
{
	for (size_t i = 0; argc == 2 && i < count; i++) {
		if (strcmp(cases[i].name, argv[1]) == 0) {
			cases[i].run();
			return 0;
		}
	}
	dprintf(2, "usage: %s CASE\n", argv[0]);
	return 2;
}

struct brig_context *host_context(void)
{
	struct brig_context *context = NULL;
	struct brig_error error = { 0 };
	struct brig_context_options options = {
		.size = sizeof(options),
		.cache_dir = getenv("BRIG_TEST_CACHE"),
	};

	CHECK_OK(brig_context_new(&options, &context, &error), &error);
	return context;
}

struct brig_request host_code(const char *language, const char *code)
{
	return (struct brig_request){
		.size = sizeof(struct brig_request),
		.language = language,
		.code = code,
	};
}

struct brig_run *host_start(struct brig_context *context, const struct brig_request *request)
{
	struct brig_run *run = NULL;
	struct brig_error error = { 0 };

	CHECK_OK(brig_run_start(context, request, &run, &error), &error);
	CHECK(run != NULL);
	return run;
}

struct brig_result *host_finish(struct brig_run *run)
{
	struct brig_error error = { 0 };

	CHECK_OK(brig_run_wait(run, &error), &error);
	struct brig_result *result = brig_run_take_result(run);
	CHECK(result != NULL);
	brig_run_free(run);
	return result;
}

struct brig_result *host_run(struct brig_context *context, const struct brig_request *request)
{
	return host_finish(host_start(context, request));
}

int host_turn(struct brig_run *run, int timeout_ms)
{
	struct brig_error error = { 0 };
	struct pollfd ready = { .fd = brig_run_fd(run), .events = POLLIN };

	if (poll(&ready, 1, timeout_ms) <= 0) {
		return 0;
	}
	int r = brig_run_step(run, &error);
	CHECK_OK(r, &error);
	return r;
}

void host_feed(struct brig_run *run, const char *data, size_t size)
{
	while (size > 0) {
		long n = brig_run_feed(run, data, size);
		CHECK(n >= 0 && (size_t)n <= size);
		data += n;
		size -= (size_t)n;
		if (n == 0) {
			CHECK_EQ(host_turn(run, 5000), 0);
		}
	}
}

void host_sleep_ms(unsigned ms)
{
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	while (nanosleep(&time, &time) < 0 && errno == EINTR) {
	}
}

unsigned host_count_fds(void)
{
	unsigned count = 0;
	DIR *dir = opendir("/proc/self/fd");

	CHECK(dir != NULL);
	while (readdir(dir)) {
		count++;
	}
	closedir(dir);
	return count - 3; /* ".", ".." and the directory itself */
}

unsigned host_count_children(void)
{
	unsigned count = 0;
	char path[512], word[32];
	DIR *dir = opendir("/proc/self/task");

	CHECK(dir != NULL);
	for (struct dirent *entry; (entry = readdir(dir));) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/children", entry->d_name);
		FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "re");
		while (file && fscanf(file, "%31s", word) == 1) {
			count++;
		}
		if (file) {
			fclose(file);
		}
	}
	closedir(dir);
	return count;
}
