/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A judge: runs one program with many inputs, and compares its output with the expected one.
 *
 *	judge SOLUTION DIRECTORY
 *
 * The directory holds pairs of files NAME.in and NAME.out. One line is printed for each, with the
 * verdict, the time and the memory; the exit status is 0 when all are accepted. A solution in a
 * compiled language is compiled once: the second run finds it in the build cache.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <brig/brig.h>

#define CASE_BYTES_MAX (64u << 20)

/* The verdicts of a contest. Statuses that are not here are errors of the judge. */
static const struct {
	enum brig_status status;
	const char *verdict;
} verdicts[] = {
	{ BRIG_FAILED, "runtime error" },
	{ BRIG_COMPILE_FAILED, "compile error" },
	{ BRIG_TIMEOUT, "time limit exceeded" },
	{ BRIG_CPU_LIMIT, "time limit exceeded" },
	{ BRIG_MEMORY_LIMIT, "memory limit exceeded" },
	{ BRIG_OUTPUT_LIMIT, "output limit exceeded" },
	{ BRIG_PROCESS_LIMIT, "security violation" },
	{ BRIG_DISK_LIMIT, "security violation" },
	{ BRIG_DENIED, "security violation" },
};

struct text {
	char *data;
	size_t size;
};

static bool read_text(const char *dir, const char *name, const char *ending, struct text *ret)
{
	char path[4096];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s%s", dir, name, ending) >= sizeof(path)) {
		return false;
	}
	FILE *file = fopen(path, "rbe");
	if (!file) {
		perror(path);
		return false;
	}
	ret->data = malloc(CASE_BYTES_MAX);
	ret->size = ret->data ? fread(ret->data, 1, CASE_BYTES_MAX, file) : 0;
	bool whole = ret->data && !ferror(file) && fgetc(file) == EOF;
	fclose(file);
	return whole;
}

/* Only blanks and empty lines at the end of the output are ignored. */
static size_t without_tail(const char *data, size_t size)
{
	while (size > 0 && strchr(" \t\r\n", data[size - 1]) && data[size - 1] != '\0') {
		size--;
	}
	return size;
}

static const char *judge(const struct brig_result *result, const struct text *expected)
{
	for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
		if (verdicts[i].status == result->status) {
			return verdicts[i].verdict;
		}
	}
	if (result->status != BRIG_OK) {
		return "judge error";
	}
	size_t size = without_tail(result->stdout_data, result->stdout_size);
	bool same = size == without_tail(expected->data, expected->size) &&
		    memcmp(result->stdout_data, expected->data, size) == 0;
	return same ? "accepted" : "wrong answer";
}

/* 1 accepted, 0 not, -1: stop, because all further runs would fail as well. */
static int try_case(struct brig_context *brig, const char *solution, const char *name,
		    const struct text *input, const struct text *expected)
{
	struct brig_error error = { 0 };
	struct brig_result *result = NULL;
	struct brig_request options = {
		.size = sizeof(options),
		.stdin_data = input->data,
		.stdin_size = input->size,
		/* The limit of the contest is processor time; the wall clock is only a backstop. */
		.limits = { .cpu_ns = 2ull * 1000 * 1000 * 1000,
			    .wall_ns = 10ull * 1000 * 1000 * 1000,
			    .memory_bytes = 256ull << 20 },
	};

	if (brig_execute_file(brig, solution, &options, &result, &error) < 0) {
		fprintf(stderr, "judge: %s\n  %s\n", error.message, error.remedy);
		return -1;
	}
	const char *verdict = judge(result, expected);
	printf("%-12s %-22s %8.1f ms %8llu KiB\n", name, verdict,
	       (double)(result->usage.cpu_ns - result->compile_cpu_ns) / 1e6,
	       (unsigned long long)(result->usage.memory_peak_bytes >> 10));
	int accepted = strcmp(verdict, "accepted") == 0;
	if (result->status == BRIG_COMPILE_FAILED) {
		fwrite(result->stderr_data, 1, result->stderr_size, stderr);
		accepted = -1;
	}
	brig_result_free(result);
	return accepted;
}

static int is_input(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 3 && strcmp(entry->d_name + length - 3, ".in") == 0;
}

static int judge_all(struct brig_context *brig, const char *solution, const char *dir)
{
	struct dirent **cases = NULL;
	int count = scandir(dir, &cases, is_input, alphasort);
	int accepted = 0, r = 0;

	if (count < 0) {
		perror(dir);
		return -1;
	}
	for (int i = 0; i < count; i++) {
		struct text input = { 0 }, expected = { 0 };
		char *name = cases[i]->d_name;
		name[strlen(name) - 3] = '\0';
		if (r >= 0) {
			r = read_text(dir, name, ".in", &input) &&
					    read_text(dir, name, ".out", &expected)
				    ? try_case(brig, solution, name, &input, &expected)
				    : -1;
		}
		accepted += r > 0;
		free(input.data);
		free(expected.data);
		free(cases[i]);
	}
	free(cases);
	printf("%d of %d accepted\n", accepted, count);
	return count > 0 && accepted == count ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct brig_context *brig = NULL;
	struct brig_error error = { 0 };

	if (argc != 3) {
		fprintf(stderr, "usage: judge SOLUTION DIRECTORY\n");
		return 2;
	}
	if (brig_context_new(NULL, &brig, &error) < 0) {
		fprintf(stderr, "judge: %s\n", error.message);
		return 2;
	}
	int r = judge_all(brig, argv[1], argv[2]);
	brig_context_free(brig);
	return r < 0 ? 1 : 0;
}
