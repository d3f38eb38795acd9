/* SPDX-License-Identifier: Apache-2.0 */
/* Virtualenvs: their configuration file, and the runtime that is made of one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtime/venv/venv.h"

static struct pyvenv_cfg parse(const char *text)
{
	struct pyvenv_cfg cfg;

	pyvenv_cfg_parse(text, strlen(text), &cfg);
	return cfg;
}

static void test_cfg(void **state)
{
	(void)state;
	struct pyvenv_cfg cfg = parse("home = /usr/bin\ninclude-system-site-packages = false\n"
				      "version = 3.11.2\n");

	assert_string_equal(cfg.home, "/usr/bin");
	assert_string_equal(cfg.version, "3.11.2");
	assert_false(cfg.system_packages);
	cfg = parse("HOME=/opt/a b/bin\r\nVersion_Info =3.12.8.final.0\nother = home = /x\n"
		    "Include-System-Site-Packages=True");
	assert_string_equal(cfg.home, "/opt/a b/bin");
	assert_string_equal(cfg.version, "3.12.8.final.0");
	assert_true(cfg.system_packages);
}

static void test_odd_cfg(void **state)
{
	static const char zero[] = "home = /a\0b\nversion = 3.1\n";
	char longest[2 * PATH_MAX];

	(void)state;
	struct pyvenv_cfg cfg = parse("");
	assert_string_equal(cfg.home, "");
	cfg = parse("home\n=\nhome =\nhomes = /x\nversion = ");
	assert_string_equal(cfg.home, "");
	assert_string_equal(cfg.version, "");
	pyvenv_cfg_parse(zero, sizeof(zero) - 1, &cfg);
	assert_string_equal(cfg.home, "");
	assert_string_equal(cfg.version, "3.1");
	memset(longest, 'x', sizeof(longest));
	memcpy(longest, "home = /", 8);
	pyvenv_cfg_parse(longest, sizeof(longest), &cfg);
	assert_string_equal(cfg.home, "");
}

static struct venv made(const char *base)
{
	struct venv venv = { .path = "/opt/v",
			     .real = "/opt/v",
			     .program = "/opt/v/bin/python3",
			     .minor = "3.12",
			     .cfg = { .version = "3.12.8" } };

	snprintf(venv.real_program, sizeof(venv.real_program), "%.1000s/bin/python3.12", base);
	snprintf(venv.cfg.home, sizeof(venv.cfg.home), "%.1000s/bin", base);
	return venv;
}

static struct runtime *python(void)
{
	struct runtime_source built_in = { 0 };
	struct runtime *runtime = NULL;

	assert_int_equal(runtime_load(&built_in, "python", &runtime, NULL), 0);
	return runtime;
}

/* A prefix that the base shares with others is not shown; one of its own has libraries. */
static void test_closure(void **state)
{
	static const struct {
		const char *base, *has, *has_not;
	} cases[] = {
		{ "/usr", "/usr/lib/python3.12", "/usr/lib" },
		{ "/usr/local", "/usr/local/lib/python3.12", "/usr/local/lib" },
		{ "/opt", "/opt/lib/python3.12", "/opt/lib" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct runtime *runtime = python();
		struct venv venv = made(cases[i].base);

		assert_int_equal(runtime_use_venv(runtime, &venv, NULL), 0);
		assert_string_equal(runtime->program, "/opt/v/bin/python3");
		assert_string_equal(runtime->prefix, cases[i].base);
		assert_string_equal(runtime->version, "3.12.8");
		assert_true(strlist_has(&runtime->closure, "/opt/v"));
		assert_true(strlist_has(&runtime->closure, cases[i].has));
		assert_false(strlist_has(&runtime->closure, cases[i].has_not));
		runtime_free(runtime);
	}
}

/* Another prefix is shown if it has a standard library, and then its libraries alone. */
static void test_own_base(void **state)
{
	char base[] = "/var/tmp/brig-test-XXXXXX", library[64], command[256];

	(void)state;
	assert_non_null(mkdtemp(base));
	snprintf(library, sizeof(library), "%s/lib", base);
	for (int there = 0; there < 2; there++) {
		struct runtime *runtime = python();
		struct venv venv = made(base);

		assert_int_equal(runtime_use_venv(runtime, &venv, NULL), 0);
		assert_int_equal(strlist_has(&runtime->closure, library), there);
		assert_false(strlist_has(&runtime->closure, base));
		assert_false(strlist_has(&runtime->closure, "{prefix}/lib/{realname}"));
		runtime_free(runtime);
		snprintf(command, sizeof(command),
			 there ? "rm -r %s"
			       : "mkdir -p %1$s/lib/python3.12 && "
				 "touch %1$s/lib/python3.12/os.py",
			 base);
		assert_int_equal(system(command), 0);
	}
}

/* Variables that name files of the host's own packages are for these packages. */
static void test_env(void **state)
{
	struct venv venv = made("/usr");
	_cleanup_(strlist_done)
	struct strlist env = { 0 };

	(void)state;
	for (int own = 0; own < 2; own++) {
		struct runtime *runtime = python();

		venv.cfg.system_packages = !own;
		assert_int_equal(runtime_use_venv(runtime, &venv, NULL), 0);
		assert_true(strlist_has(&runtime->env, "PYTHONUNBUFFERED=1"));
		assert_int_equal(strlist_has(&runtime->env,
					     "MATPLOTLIBRC=/usr/share/matplotlib/mpl-data/"
					     "matplotlibrc"),
				 !own);
		runtime_free(runtime);
	}
	assert_int_equal(venv_env(&venv, &env), 0);
	assert_true(strlist_has(&env, "VIRTUAL_ENV=/opt/v"));
	assert_true(strlist_has(&env, "PATH=/opt/v/bin:/usr/local/bin:/usr/bin:/bin"));
}

static void test_bad_paths(void **state)
{
	static const char *const paths[] = { "relative", "",      "/opt/a:b", "/opt/a*",
					     "/opt/a{b", "/a\nb", "/a\\b",    "/no/such" };
	static struct venv venv;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct brig_error error = { 0 };

		assert_true(venv_open(NULL, paths[i], &venv, &error) < 0);
		assert_true(error.message[0] && error.remedy[0]);
	}
	assert_int_equal(venv_open(NULL, "/etc", &venv, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cfg),     cmocka_unit_test(test_odd_cfg),
		cmocka_unit_test(test_closure), cmocka_unit_test(test_own_base),
		cmocka_unit_test(test_env),     cmocka_unit_test(test_bad_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
