/* SPDX-License-Identifier: Apache-2.0 */
/* Closures: order, links, covered and refused items; of runtimes and of any program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "runtime/closure/closure_rules.h"
#include "runtime/closure/closure_set.h"
#include "runtime/runtime.h"

static const struct closure_item *find_item(const struct closure *closure, const char *path)
{
	for (size_t i = 0; i < closure->count; i++) {
		if (strcmp(closure->items[i].path, path) == 0) {
			return &closure->items[i];
		}
	}
	return NULL;
}

static bool is_inside(const char *path, const char *dir)
{
	size_t size = strlen(dir);

	return strncmp(path, dir, size) == 0 && path[size] == '/';
}

/* The guarantees in the header about every closure. */
static void check_promises(const struct closure *closure)
{
	for (size_t i = 0; i < closure->count; i++) {
		const struct closure_item *item = &closure->items[i];
		char parent[PATH_MAX], real[PATH_MAX];
		struct stat st;

		assert_int_equal(item->path[0], '/');
		assert_null(closure_refuses(item->path));
		assert_int_equal(item->kind == CLOSURE_LINK, item->target != NULL);
		(void)snprintf(parent, sizeof(parent), "%s", item->path);
		*strrchr(parent, '/') = '\0';
		assert_non_null(realpath(parent[0] ? parent : "/", real));
		assert_string_equal(parent[0] ? parent : "/", real);
		assert_int_equal(lstat(item->path, &st), 0);
		assert_true(item->kind == CLOSURE_DIR    ? S_ISDIR(st.st_mode)
			    : item->kind == CLOSURE_FILE ? S_ISREG(st.st_mode)
							 : S_ISLNK(st.st_mode));
		for (size_t k = 0; k < closure->count; k++) {
			const struct closure_item *other = &closure->items[k];

			assert_true(k == i || strcmp(item->path, other->path) != 0);
			assert_false(other->kind == CLOSURE_DIR &&
				     is_inside(item->path, other->path));
			assert_false(k > i && is_inside(item->path, other->path));
		}
	}
}

/* Inside the cell `path` must lead to an item: each link of the host is an item or inside one. */
static void check_reachable(const struct closure *closure, const char *path)
{
	char real[PATH_MAX];
	bool found = false;

	assert_non_null(realpath(path, real));
	for (size_t i = 0; i < closure->count && !found; i++) {
		found = strcmp(closure->items[i].path, real) == 0 ||
			(closure->items[i].kind == CLOSURE_DIR &&
			 is_inside(real, closure->items[i].path));
	}
	assert_true(found);
}

static void test_every_runtime(void **state)
{
	struct runtime_source source = { 0 };
	struct brig_error err = { 0 };
	struct runtime **all = NULL;
	size_t count = 0, seen = 0;

	(void)state;
	assert_int_equal(runtime_load_all(&source, &all, &count, &err), 0);
	for (size_t i = 0; i < count; i++) {
		int compiled = all[i]->compile.count ? 1 : 0;

		for (int with = 0; with <= compiled && runtime_find(all[i], &err) == 0; with++) {
			struct closure closure = { 0 };

			if (runtime_closure(all[i], with == 1, &closure, &err) < 0) {
				fail_msg("%s", err.message);
			}
			check_promises(&closure);
			if (all[i]->program && (with || !compiled)) {
				check_reachable(&closure, all[i]->program);
			}
			closure_done(&closure);
			seen++;
		}
		runtime_free(all[i]);
	}
	free(all);
	assert_true(seen >= 2); /* command and bash are everywhere */
}

/* Of the real path: "/usr/lib" and "/python3.11". */
static bool is_joined(const char *path, const char *dir, const char *name)
{
	size_t length = strlen(dir);

	return strncmp(path, dir, length) == 0 && strcmp(path + length, name) == 0;
}

/*
 * All files of the host that a cell of Python sees, also where Debian's matplotlib and fonts are.
 */
static bool is_pythons_place(const struct runtime *python, const char *path)
{
	static const char *const places[] = {
		"/usr/lib/locale",     "/usr/lib/python3",      "/usr/lib/x86_64-linux-gnu",
		"/usr/share/zoneinfo", "/usr/share/matplotlib", "/usr/share/fonts",
	};
	const char *version = strrchr(python->real_program, '/');
	char shell[PATH_MAX];
	bool found = strcmp(path, python->real_program) == 0 ||
		     is_joined(path, "/usr/lib", version) ||
		     is_joined(path, "/usr/local/lib", version) ||
		     (realpath("/bin/sh", shell) && strcmp(path, shell) == 0);

	for (size_t i = 0; i < ARRAY_SIZE(places) && !found; i++) {
		found = strcmp(path, places[i]) == 0 || is_inside(path, places[i]);
	}
	return found;
}

static void test_python_is_small(void **state)
{
	struct runtime_source source = { 0 };
	struct closure closure = { 0 };
	struct runtime *python = NULL;
	size_t mounts = 0;

	(void)state;
	assert_int_equal(runtime_load(&source, "python", &python, NULL), 0);
	if (runtime_find(python, NULL) < 0) {
		runtime_free(python);
		skip();
	}
	assert_int_equal(runtime_closure(python, false, &closure, NULL), 0);
	for (size_t i = 0; i < closure.count; i++) {
		if (closure.items[i].kind != CLOSURE_LINK) {
			mounts++;
			if (!is_pythons_place(python, closure.items[i].path)) {
				fail_msg("%s is no place of Python's", closure.items[i].path);
			}
		}
	}
	assert_true(mounts <= 10);
	assert_null(find_item(&closure, "/usr/bin"));
	closure_done(&closure);
	runtime_free(python);
}

static void test_compiler_only_when_asked(void **state)
{
	struct runtime_source source = { 0 };
	struct closure closure = { 0 };
	struct runtime *c = NULL;

	(void)state;
	assert_int_equal(runtime_load(&source, "c", &c, NULL), 0);
	if (runtime_find(c, NULL) < 0) {
		runtime_free(c);
		skip();
	}
	assert_int_equal(runtime_closure(c, false, &closure, NULL), 0);
	assert_null(find_item(&closure, c->real_program));
	assert_null(find_item(&closure, "/usr/include"));
	closure_done(&closure);
	assert_int_equal(runtime_closure(c, true, &closure, NULL), 0);
	assert_non_null(find_item(&closure, c->real_program));
	closure_done(&closure);
	runtime_free(c);
}

static void test_not_looked_for(void **state)
{
	struct runtime_source source = { 0 };
	struct closure closure = { 0 };
	struct brig_error err = { 0 };
	struct runtime *python = NULL;

	(void)state;
	assert_int_equal(runtime_load(&source, "python", &python, NULL), 0);
	assert_int_equal(runtime_closure(python, false, &closure, &err), -EINVAL);
	assert_null(closure.items);
	runtime_free(python);
}

static void test_program(void **state)
{
	struct closure closure = { 0 };
	struct brig_error err = { 0 };

	(void)state;
	assert_int_equal(program_closure("/bin/sh", &closure, &err), 0);
	check_promises(&closure);
	check_reachable(&closure, "/bin/sh");
	check_reachable(&closure, closure_loader);
	closure_done(&closure);
	assert_int_equal(program_closure("/usr/bin/ldd", &closure, &err), 0); /* a script */
	check_promises(&closure);
	check_reachable(&closure, "/bin/sh");
	closure_done(&closure);
	assert_int_equal(program_closure("/etc/passwd", &closure, &err), -ENOEXEC);
	assert_int_equal(program_closure("/nonexistent", &closure, &err), -ENOENT);
	assert_int_equal(program_closure("sh", &closure, &err), -EINVAL);
}

/* Below a place that closures may reach into. */
static int make_tree(void **state)
{
	char *root = strdup("/var/tmp/brig-test-XXXXXX");
	char command[512];

	if (!root || !mkdtemp(root)) {
		free(root);
		return -1;
	}
	(void)snprintf(
		command, sizeof(command),
		"cd '%s' && mkdir -p a/b c && echo x > a/b/f && ln -s ../a/b c/l && "
		"ln -s l/f c/m && ln -s loop c/loop && ln -s /etc c/etc && ln -s no c/gone && "
		"ln -s /dev/null c/null && mkfifo c/fifo && echo y > a-b && "
		"printf '#!/bin/sh\\nsecret\\n' > mine && ln -s mine also && "
		"printf '#!%s/also\\n' > reads && printf '#!/usr/bin/ldd\\n' > wraps && "
		"printf '#!%s/a-b\\n' > text",
		root, root, root);
	*state = root;
	return system(command);
}

static int drop_tree(void **state)
{
	char command[128];
	int r;

	(void)snprintf(command, sizeof(command), "rm -rf '%s'", (char *)*state);
	r = system(command);
	free(*state);
	return r;
}

/* A hostile script names another one of the caller's, which would be shown to it. */
static void test_scripts_of_others(void **state)
{
	const char *root = *state;
	static const char *const refused[] = { "reads", "text" };
	struct closure closure = { 0 };
	char path[256];

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct brig_error err = { 0 };
		(void)snprintf(path, sizeof(path), "%s/%s", root, refused[i]);
		assert_int_equal(program_closure(path, &closure, &err), -ENOEXEC);
		assert_null(closure.items);
		assert_non_null(strstr(err.message, "#! line"));
		assert_non_null(strstr(err.remedy, "#! line"));
	}
	struct brig_error err = { 0 };
	(void)snprintf(path, sizeof(path), "%s/wraps", root);
	assert_int_equal(program_closure(path, &closure, &err), 0);
	check_reachable(&closure, "/usr/bin/ldd");
	check_reachable(&closure, "/bin/sh");
	closure_done(&closure);
}

static int add(struct closure_set *set, const char *root, const char *path)
{
	char full[PATH_MAX];

	(void)snprintf(full, sizeof(full), "%s/%s", root, path);
	return closure_set_add(set, full, NULL, NULL);
}

static void test_walk(void **state)
{
	const char *root = *state;
	struct closure_set set = { 0 };
	struct closure closure = { 0 };
	static const char *const want[] = { "a/b", "a-b", "c/l", "c/m" };

	assert_int_equal(add(&set, root, "c/m"), 0);
	assert_int_equal(add(&set, root, "c/m"), 0);
	assert_int_equal(add(&set, root, "a-b"), 0);
	assert_int_equal(add(&set, root, "c/gone"), -ENOENT);
	assert_int_equal(add(&set, root, "a/b/f/x"), -ENOENT);
	assert_int_equal(add(&set, root, "c/loop"), -ELOOP);
	assert_int_equal(add(&set, root, "c/etc"), -EPERM);
	assert_int_equal(add(&set, root, "c/etc/shadow"), -EPERM);
	assert_int_equal(add(&set, root, "c/null"), -EPERM);
	assert_int_equal(add(&set, root, "c/fifo"), -EPERM);
	assert_int_equal(add(&set, root, "c/../a/./b"), 0);
	closure_set_finish(&set, &closure);
	check_promises(&closure);
	/* The file is covered by a/b, which sorts before a-b: its contents come after it. */
	assert_int_equal(closure.count, ARRAY_SIZE(want));
	for (size_t i = 0; i < closure.count; i++) {
		assert_string_equal(closure.items[i].path + strlen(root) + 1, want[i]);
	}
	assert_string_equal(closure.items[2].target, "../a/b");
	closure_done(&closure);
}

/* A program names its loader and its libraries; those that are none are not shown to it. */
static void test_names_in_a_program(void **state)
{
	const char *root = *state;
	char command[2048], program[PATH_MAX], path[PATH_MAX];
	struct closure closure = { 0 };
	struct brig_error err = { 0 };

	(void)snprintf(command, sizeof(command),
		       "cd '%s' && library() { cc -shared -nostdlib -Wl,-soname,$1 -o $2 -x c "
		       "/dev/null; } && library $PWD/a dir.so && library f file.so && "
		       "library real.so c/real.so && cc -pie -nostdlib -Wl,--no-as-needed,-e,0 "
		       "-Wl,-rpath,$PWD/a/b:$PWD/c -Wl,--dynamic-linker=$PWD/a-b -o hostile "
		       "dir.so file.so c/real.so -x c /dev/null",
		       root);
	assert_int_equal(system(command), 0);
	(void)snprintf(program, sizeof(program), "%s/hostile", root);
	assert_int_equal(program_closure(program, &closure, &err), 0);
	check_promises(&closure);
	(void)snprintf(path, sizeof(path), "%s/c/real.so", root);
	check_reachable(&closure, path);
	for (size_t i = 0; i < closure.count; i++) {
		assert_true(!is_inside(closure.items[i].path, root) ||
			    strcmp(closure.items[i].path, path) == 0 ||
			    strcmp(closure.items[i].path, program) == 0);
	}
	closure_done(&closure);
}

static void test_rules(void **state)
{
	(void)state;
	assert_null(closure_refuses("/usr/lib/python3"));
	assert_null(closure_refuses("/opt/go"));
	assert_null(closure_refuses("/etc/php/8.2/cli"));
	assert_null(closure_refuses("/home/someone/.local/lib"));
	assert_null(closure_refuses("/tmpfiles"));
	assert_non_null(closure_refuses("/"));
	assert_non_null(closure_refuses("/etc"));
	assert_non_null(closure_refuses("/var"));
	assert_non_null(closure_refuses("/usr"));
	assert_non_null(closure_refuses("/tmp/x"));
	assert_non_null(closure_refuses("/proc/1/root"));
	assert_non_null(closure_refuses("/etc/ssh/ssh_host_key"));
	assert_non_null(closure_group("@libs"));
	assert_null(closure_group("@nothing"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_runtime),
		cmocka_unit_test(test_python_is_small),
		cmocka_unit_test(test_compiler_only_when_asked),
		cmocka_unit_test(test_not_looked_for),
		cmocka_unit_test(test_program),
		cmocka_unit_test_setup_teardown(test_walk, make_tree, drop_tree),
		cmocka_unit_test_setup_teardown(test_names_in_a_program, make_tree, drop_tree),
		cmocka_unit_test_setup_teardown(test_scripts_of_others, make_tree, drop_tree),
		cmocka_unit_test(test_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
