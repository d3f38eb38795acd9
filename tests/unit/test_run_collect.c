/* SPDX-License-Identifier: Apache-2.0 */
/* Collecting files and changes from a tree that a payload has left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/walk.h"
#include "run/files/collect.h"

struct tree {
	char path[64];
	int fd;
};

static void write_file(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static int truncate_at(int dir, const char *name, off_t size)
{
	_cleanup_close_ int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -1 : ftruncate(fd, size);
}

static int make_tree(void **state)
{
	struct tree *tree = calloc(1, sizeof(*tree));

	strcpy(tree->path, "/tmp/brig-unit-XXXXXX");
	assert_non_null(mkdtemp(tree->path));
	tree->fd = open(tree->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(tree->fd >= 0);
	assert_int_equal(mkdirat(tree->fd, "out", 0755), 0);
	*state = tree;
	return 0;
}

static int drop_tree(void **state)
{
	struct tree *tree = *state;
	char command[256];

	close(tree->fd);
	snprintf(command, sizeof(command), "chmod -R u+rwx %s && rm -rf %s", tree->path,
		 tree->path);
	int r = system(command);
	free(tree);
	return r;
}

static const struct collect_options plain = { .bytes_max = 1 << 20, .count_max = 100 };

static void test_out_comes_back(void **state)
{
	struct tree *tree = *state;
	struct brig_result *result = calloc(1, sizeof(*result));

	write_file(tree->fd, "out/b.txt", "bee");
	write_file(tree->fd, "out/a.txt", "");
	write_file(tree->fd, "stays.txt", "no");
	assert_int_equal(collect(tree->fd, &plain, result), 0);
	assert_int_equal(result->files_count, 2);
	assert_string_equal(result->files[0].path, "out/a.txt");
	assert_string_equal(result->files[1].path, "out/b.txt");
	assert_int_equal(result->files[1].size, 3);
	assert_memory_equal(result->files[1].data, "bee", 3);
	assert_string_equal(result->files[1].sha256,
			    "62cb81b5904a262ffaeed02abef36bfc540b09f964b8b0b636662f77ffce6714");
	assert_null(result->files_note);
	brig_result_free(result);
}

static void test_globs(void **state)
{
	struct tree *tree = *state;
	const char *globs[] = { "*.csv", "deep/**", NULL };
	struct collect_options options = plain;
	struct brig_result *result = calloc(1, sizeof(*result));

	options.globs = globs;
	write_file(tree->fd, "one.csv", "1");
	write_file(tree->fd, "one.txt", "1");
	assert_int_equal(mkdirat(tree->fd, "deep", 0755), 0);
	assert_int_equal(mkdirat(tree->fd, "deep/er", 0755), 0);
	write_file(tree->fd, "deep/er/x", "22");
	assert_int_equal(collect(tree->fd, &options, result), 0);
	assert_int_equal(result->files_count, 2);
	assert_string_equal(result->files[0].path, "deep/er/x");
	assert_string_equal(result->files[1].path, "one.csv");
	brig_result_free(result);
}

/* F12, G5: nothing is followed, nothing blocks, everything is counted. */
static void test_hostile_entries(void **state)
{
	struct tree *tree = *state;
	struct brig_result *result = calloc(1, sizeof(*result));
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/out/socket", tree->path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
	assert_int_equal(mkfifoat(tree->fd, "out/fifo", 0644), 0);
	assert_int_equal(symlinkat("/etc/passwd", tree->fd, "out/passwd"), 0);
	assert_int_equal(symlinkat("/", tree->fd, "out/root"), 0);
	assert_int_equal(symlinkat("loop", tree->fd, "out/loop"), 0);
	write_file(tree->fd, "out/good", "ok");
	write_file(tree->fd, "out/new\nline", "bad name");
	write_file(tree->fd, "out/\xff\xfe", "bad name");
	assert_int_equal(collect(tree->fd, &plain, result), 0);
	assert_int_equal(result->files_count, 1);
	assert_string_equal(result->files[0].path, "out/good");
	assert_non_null(result->files_note);
	assert_non_null(strstr(result->files_note, "5 link(s) or special file(s)"));
	assert_non_null(strstr(result->files_note, "2 entry(ies) with unusable names"));
	brig_result_free(result);
}

static void test_budgets(void **state)
{
	struct tree *tree = *state;
	struct collect_options options = { .bytes_max = 10, .count_max = 2 };
	struct brig_result *result = calloc(1, sizeof(*result));

	write_file(tree->fd, "out/1", "1234");
	write_file(tree->fd, "out/2", "1234");
	write_file(tree->fd, "out/3", "1");
	int fd = openat(tree->fd, "out/sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(ftruncate(fd, 1ll << 40), 0);
	close(fd);
	assert_int_equal(collect(tree->fd, &options, result), 0);
	assert_int_equal(result->files_count, 2);
	assert_non_null(strstr(result->files_note, "2 file(s) were left behind: the policy"));
	brig_result_free(result);
}

static void test_deep_tree_ends(void **state)
{
	struct tree *tree = *state;
	struct brig_result *result = calloc(1, sizeof(*result));
	int dir = openat(tree->fd, "out", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; i < 200; i++) {
		assert_int_equal(mkdirat(dir, "d", 0755), 0);
		int next = openat(dir, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(dir);
		dir = next;
	}
	write_file(dir, "bottom", "x");
	close(dir);
	assert_int_equal(collect(tree->fd, &plain, result), 0);
	assert_int_equal(result->files_count, 0);
	assert_non_null(result->files_note);
	brig_result_free(result);
}

static void test_unreadable_modes(void **state)
{
	struct tree *tree = *state;
	struct brig_result *result = calloc(1, sizeof(*result));

	assert_int_equal(mkdirat(tree->fd, "out/closed", 0755), 0);
	write_file(tree->fd, "out/closed/file", "in");
	write_file(tree->fd, "out/secret", "s");
	assert_int_equal(fchmodat(tree->fd, "out/secret", 0, 0), 0);
	assert_int_equal(fchmodat(tree->fd, "out/closed", 0, 0), 0);
	assert_int_equal(collect(tree->fd, &plain, result), 0);
	assert_int_equal(result->files_count, 2);
	brig_result_free(result);
}

static void test_changes(void **state)
{
	struct tree *tree = *state;
	const struct spec_input inputs[] = {
		{ .name = "same", .data = "same", .size = 4, .fd = -1 },
		{ .name = "changed", .data = "before", .size = 6, .fd = -1 },
		{ .name = "gone", .data = "gone", .size = 4, .fd = -1 },
	};
	struct collect_options options = plain;
	struct brig_result *result = calloc(1, sizeof(*result));

	options.changes = true;
	options.inputs = inputs;
	options.inputs_count = ARRAY_SIZE(inputs);
	write_file(tree->fd, "same", "same");
	write_file(tree->fd, "changed", "after");
	write_file(tree->fd, "new", "new");
	assert_int_equal(symlinkat("/etc/passwd", tree->fd, "link"), 0);
	assert_int_equal(collect(tree->fd, &options, result), 0);
	assert_true(result->changes_reported);
	assert_int_equal(result->changes_count, 4);
	assert_string_equal(result->changes[0].path, "changed");
	assert_int_equal(result->changes[0].kind, 'm');
	assert_int_equal(result->changes[0].size, 5);
	assert_string_equal(result->changes[1].path, "gone");
	assert_int_equal(result->changes[1].kind, 'd');
	assert_string_equal(result->changes[2].path, "link");
	assert_int_equal(result->changes[2].kind, 'c');
	assert_string_equal(result->changes[2].sha256, "");
	assert_string_equal(result->changes[3].path, "new");
	assert_int_equal(strlen(result->changes[3].sha256), 64);
	brig_result_free(result);
}

/* Many names of a large file with a hole: read once; the budget is for bytes read. */
static void test_changes_links(void **state)
{
	struct tree *tree = *state;
	struct collect_options options = { .changes = true };
	struct brig_result *result = calloc(1, sizeof(*result));
	char name[16];

	write_file(tree->fd, "a", "start");
	assert_int_equal(truncate_at(tree->fd, "a", 40 << 20), 0);
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "l%03d", i);
		assert_int_equal(linkat(tree->fd, "a", tree->fd, name, 0), 0);
	}
	uint64_t start = clock_now_ns();
	assert_int_equal(collect(tree->fd, &options, result), 0);
	assert_true(clock_now_ns() - start < 10ull * 1000000000u);
	assert_int_equal(result->changes_count, 201);
	for (size_t i = 0; i < result->changes_count; i++) {
		assert_int_equal(strlen(result->changes[i].sha256), 64);
		assert_string_equal(result->changes[i].sha256, result->changes[0].sha256);
	}
	brig_result_free(result);
}

static void test_changes_budget(void **state)
{
	struct tree *tree = *state;
	struct collect_options options = { .changes = true };
	struct brig_result *result = calloc(1, sizeof(*result));
	unsigned hashed = 0;
	char name[16];

	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		write_file(tree->fd, name, "x");
		assert_int_equal(truncate_at(tree->fd, name, 20 << 20), 0);
	}
	assert_int_equal(collect(tree->fd, &options, result), 0);
	assert_int_equal(result->changes_count, 5);
	for (size_t i = 0; i < result->changes_count; i++) {
		assert_int_equal(result->changes[i].size, 20 << 20);
		hashed += result->changes[i].sha256[0] != '\0';
	}
	assert_int_equal(hashed, 3);
	brig_result_free(result);
}

/* A large unchanged input is not reported as modified. */
static void test_changes_large_input(void **state)
{
	struct tree *tree = *state;
	struct collect_options options = { .changes = true };
	struct brig_result *result = calloc(1, sizeof(*result));
	struct spec_input input = { .name = "big" };

	write_file(tree->fd, "big", "x");
	assert_int_equal(truncate_at(tree->fd, "big", 70 << 20), 0);
	input.fd = openat(tree->fd, "big", O_RDONLY | O_CLOEXEC);
	options.inputs = &input;
	options.inputs_count = 1;
	assert_int_equal(collect(tree->fd, &options, result), 0);
	assert_int_equal(result->changes_count, 0);
	close(input.fd);
	brig_result_free(result);
}

/* Without any time left it continues all the same, one entry or one piece of a file at a time. */
static void test_slices(void **state)
{
	struct tree *tree = *state;
	const char *const globs[] = { "*.txt", NULL };
	struct spec_input input = { .name = "in.txt", .data = "same", .size = 4, .fd = -1 };
	struct collect_options options = { .bytes_max = 4 << 20,
					   .count_max = 100,
					   .globs = globs,
					   .changes = true,
					   .inputs = &input,
					   .inputs_count = 1 };
	struct brig_result *result = calloc(1, sizeof(*result));
	struct collection *collection = NULL;
	unsigned steps = 1;
	char name[16];

	write_file(tree->fd, "in.txt", "same");
	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "%02d.txt", i);
		write_file(tree->fd, name, "x");
	}
	assert_int_equal(truncate_at(tree->fd, "00.txt", 2 << 20), 0);
	assert_int_equal(collect_begin(tree->fd, &options, result, &collection), 0);
	int r = 0;
	while ((r = collect_step(collection, 0)) == 0) {
		steps++;
	}
	assert_int_equal(r, 1);
	collect_free(collection);
	/* out/, the 51 files, and 32 pieces of the large one. */
	assert_true(steps >= 1 + 51 + 32);
	assert_int_equal(result->files_count, 51);
	assert_int_equal(result->changes_count, 50);
	assert_null(result->files_note);
	brig_result_free(result);
}

/* A collection that is freed half-way leaves nothing behind. */
static void test_abandoned(void **state)
{
	struct tree *tree = *state;
	struct collect_options options = plain;
	struct brig_result *result = calloc(1, sizeof(*result));
	struct collection *collection = NULL;

	write_file(tree->fd, "out/a", "x");
	assert_int_equal(truncate_at(tree->fd, "out/a", 512 << 10), 0);
	assert_int_equal(collect_begin(tree->fd, &options, result, &collection), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(collect_step(collection, 0), 0);
	}
	collect_free(collection);
	brig_result_free(result);
}

/* Patterns times names: bounded for any number of both. */
static void test_work(void **state)
{
	struct tree *tree = *state;
	const char *const globs[] = { "**/a/**/b", "**/?*?*?*?*x", "nothing", NULL };
	struct collect_options options = plain;
	struct brig_result *result = calloc(1, sizeof(*result));
	char name[64];

	options.globs = globs;
	options.work_max = 1000;
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "%03d-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaax", i);
		write_file(tree->fd, name, "x");
	}
	write_file(tree->fd, "out/a", "x");
	assert_int_equal(collect(tree->fd, &options, result), 0);
	/* Some were compared; out/ needs no comparison. */
	assert_true(result->files_count > 1 && result->files_count < 100);
	assert_non_null(strstr(result->files_note, "too much work"));
	brig_result_free(result);
}

/* With the smallest possible steps; returns their number. */
static unsigned count_steps(const struct tree *tree, const struct collect_options *options,
			    struct brig_result *result)
{
	struct collection *collection = NULL;
	unsigned steps = 1;

	assert_int_equal(collect_begin(tree->fd, options, result, &collection), 0);
	for (int r; (r = collect_step(collection, 0)) != 1; steps++) {
		assert_int_equal(r, 0);
	}
	collect_free(collection);
	return steps;
}

/* The number of changes is the program's choice: they are also sorted in steps. */
static void test_changes_are_sorted_in_steps(void **state)
{
	enum { MANY = 3000 };
	struct tree *tree = *state;
	struct spec_input input = { .name = "1500x", .data = "", .fd = -1 };
	struct collect_options options = { .changes = true, .inputs = &input, .inputs_count = 1 };
	unsigned steps[3];
	char name[16];
	int made = 0;

	for (int i = 0; i < 3; i++) {
		struct brig_result *result = calloc(1, sizeof(*result));

		for (int end = i < 2 ? i + 1 : MANY; made < end; made++) {
			snprintf(name, sizeof(name), "%04d", made * 7 % MANY);
			write_file(tree->fd, name, "");
		}
		steps[i] = count_steps(tree, &options, result);
		assert_int_equal(result->changes_count, made + 1);
		for (int j = 1; j <= made; j++) {
			assert_true(strcmp(result->changes[j - 1].path, result->changes[j].path) <
				    0);
		}
		brig_result_free(result);
	}
	/* The size of all entries together, and more than one step to sort them. */
	assert_true(steps[2] > steps[0] + (MANY - 1) * (steps[1] - steps[0]) + 10);
}

/* Freed at any step of that, it leaves nothing behind. */
static void test_abandoned_while_sorting(void **state)
{
	struct tree *tree = *state;
	struct collect_options options = { .changes = true };
	char name[16];
	int r = 0;

	for (int i = 0; i < 600; i++) {
		snprintf(name, sizeof(name), "%03d", i * 7 % 600);
		write_file(tree->fd, name, "");
	}
	for (int last = 1; r == 0; last += last < 1200 ? 400 : 1) {
		struct brig_result *result = calloc(1, sizeof(*result));
		struct collection *collection = NULL;

		assert_int_equal(collect_begin(tree->fd, &options, result, &collection), 0);
		for (int i = 0; i < last && r == 0; i++) {
			r = collect_step(collection, 0);
		}
		collect_free(collection);
		brig_result_free(result);
	}
	assert_int_equal(r, 1);
}

/* Ignored names also cost a bounded step: a program may have made nothing else. */
static void test_steps_over_odd_names(void **state)
{
	struct tree *tree = *state;
	struct walk_entry entry;
	struct walk *walk = NULL;
	unsigned pauses = 0, entries = 0;
	int r;

	for (unsigned i = 0; i < 1000; i++) {
		char name[32];
		snprintf(name, sizeof(name), "odd\n%u", i);
		write_file(tree->fd, name, "");
	}
	assert_int_equal(walk_new(tree->fd, &walk), 0);
	while ((r = walk_next(walk, &entry)) > 0) {
		pauses += r == 2;
		entries += r == 1;
	}
	assert_int_equal(r, 0);
	assert_int_equal(entries, 1); /* out */
	assert_true(pauses >= 3);
	assert_int_equal(walk_report_of(walk)->odd_names, 1000);
	walk_free(walk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_out_comes_back, make_tree, drop_tree),
		cmocka_unit_test_setup_teardown(test_globs, make_tree, drop_tree),
		cmocka_unit_test_setup_teardown(test_slices, make_tree, drop_tree),
		cmocka_unit_test_setup_teardown(test_abandoned, make_tree, drop_tree),
		cmocka_unit_test_setup_teardown(test_work, make_tree, drop_tree),
		cmocka_unit_test_setup_teardown(test_hostile_entries, make_tree, drop_tree),
		cmocka_unit_test_setup_teardown(test_budgets, make_tree, drop_tree),
		cmocka_unit_test_setup_teardown(test_deep_tree_ends, make_tree, drop_tree),
		cmocka_unit_test_setup_teardown(test_unreadable_modes, make_tree, drop_tree),
		cmocka_unit_test_setup_teardown(test_changes, make_tree, drop_tree),
		cmocka_unit_test_setup_teardown(test_changes_links, make_tree, drop_tree),
		cmocka_unit_test_setup_teardown(test_changes_budget, make_tree, drop_tree),
		cmocka_unit_test_setup_teardown(test_changes_large_input, make_tree, drop_tree),
		cmocka_unit_test_setup_teardown(test_changes_are_sorted_in_steps, make_tree,
						drop_tree),
		cmocka_unit_test_setup_teardown(test_abandoned_while_sorting, make_tree, drop_tree),
		cmocka_unit_test_setup_teardown(test_steps_over_odd_names, make_tree, drop_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
