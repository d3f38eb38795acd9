/* SPDX-License-Identifier: Apache-2.0 */
/* The search for a file that has reached its limit: what it finds, and where it stops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "run/files/file_limit.h"

#define LIMIT  4096u
#define LEVELS 30

struct tree {
	char path[64];
	int fd;
};

static int make_tree(void **state)
{
	struct tree *tree = calloc(1, sizeof(*tree));

	strcpy(tree->path, "/tmp/brig-unit-XXXXXX");
	assert_non_null(mkdtemp(tree->path));
	tree->fd = open(tree->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(tree->fd >= 0);
	*state = tree;
	return 0;
}

static int drop_tree(void **state)
{
	struct tree *tree = *state;
	char command[128];

	close(tree->fd);
	snprintf(command, sizeof(command), "rm -rf %s", tree->path);
	int r = system(command);
	free(tree);
	return r;
}

static void make_file(int dir, const char *name, off_t size)
{
	_cleanup_close_ int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
}

/* Names that brig does not return, of files that are irrelevant to the limit. */
static void make_odd_names(int dir, unsigned count)
{
	char name[32];

	for (unsigned i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%u\x01", i);
		make_file(dir, name, 0);
	}
}

/* A full file beneath this many levels, with this many odd names in each of them. */
static void make_deep(int root, unsigned odd)
{
	int dir = dup(root);

	for (int i = 0; i < LEVELS; i++) {
		assert_int_equal(mkdirat(dir, "d", 0755), 0);
		make_odd_names(dir, odd);
		int next = openat(dir, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(dir);
		dir = next;
		assert_true(dir >= 0);
	}
	make_file(dir, "full", LIMIT);
	close(dir);
}

static void test_found(void **state)
{
	struct tree *tree = *state;

	make_file(tree->fd, "small", LIMIT - 1);
	assert_false(file_limit_reached(tree->fd, LIMIT));
	make_deep(tree->fd, 3);
	assert_true(file_limit_reached(tree->fd, LIMIT));
	assert_false(file_limit_reached(tree->fd, LIMIT + 1));
	assert_false(file_limit_reached(-1, LIMIT));
}

/* In any order of listing: thousands of them come before the file. */
static void test_odd_names_cost_like_others(void **state)
{
	struct tree *tree = *state;

	make_deep(tree->fd, 300);
	assert_false(file_limit_reached(tree->fd, LIMIT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_found, make_tree, drop_tree),
		cmocka_unit_test_setup_teardown(test_odd_names_cost_like_others, make_tree,
						drop_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
