/* SPDX-License-Identifier: Apache-2.0 */
/* Argv templates, and the file names that code needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtime/runtime.h"

static void test_expand(void **state)
{
	_cleanup_(strlist_done)
	struct strlist argv = { 0 };
	_cleanup_(strlist_done)
	struct strlist got = { 0 };
	const char *args[] = { "one", "{source}", "", NULL };
	struct runtime_values values = {
		.program = "/usr/bin/x",
		.prefix = "/usr",
		.source = "/sandbox/code.x",
		.args = args,
		.memory_bytes = UINT64_C(256) << 20,
	};
	static const char *const want[] = { "/usr/bin/x", "-m256",    "-h153",
					    "{print}x{}", "/usr/lib", "/sandbox/code.x",
					    "one",        "{source}", "" };
	struct brig_error err = { 0 };

	(void)state;
	assert_int_equal(strlist_add(&argv, "{program}"), 0);
	assert_int_equal(strlist_add(&argv, "-m{memory_mb}"), 0);
	assert_int_equal(strlist_add(&argv, "-h{heap_mb}"), 0);
	assert_int_equal(strlist_add(&argv, "{print}x{}"), 0);
	assert_int_equal(strlist_add(&argv, "{prefix}/lib"), 0);
	assert_int_equal(strlist_add(&argv, "{source}"), 0);
	assert_int_equal(strlist_add(&argv, "{args}"), 0);
	assert_int_equal(runtime_expand(&argv, &values, &got, &err), 0);
	assert_int_equal(got.count, ARRAY_SIZE(want));
	for (size_t i = 0; i < got.count; i++) {
		assert_string_equal(got.items[i], want[i]);
	}
}

static void test_expand_missing(void **state)
{
	_cleanup_(strlist_done)
	struct strlist argv = { 0 };
	struct strlist got = { 0 };
	struct runtime_values values = { 0 };
	struct brig_error err = { 0 };

	(void)state;
	assert_int_equal(strlist_add(&argv, "x{output}"), 0);
	assert_int_equal(runtime_expand(&argv, &values, &got, &err), -EINVAL);
	assert_non_null(strstr(err.message, "{output}"));
	assert_null(got.items);
}

static void test_source_name(void **state)
{
	static const struct {
		const char *code, *file, *main;
	} cases[] = {
		{ "", "Main.java", "Main" },
		{ "public class Foo { }", "Foo.java", "Foo" },
		{ "public final class Foo{}", "Foo.java", "Foo" },
		{ "class A { static void main(String[] a) {} }", "Main.java", "A" },
		{ "class A {} class B { public static void main (String[] a) {} }", "Main.java",
		  "B" },
		{ "class H {} public class P { void main() {} }", "P.java", "P" },
		{ "class H { int x = main(1); } public class P {}", "P.java", "P" },
		{ "package a.b ; public record R(int x) {}", "R.java", "a.b.R" },
		{ "// public class X\n/* public class Y */ public enum E { A }", "E.java", "E" },
		{ "@A(v = \"public class Z {\") public class Q {}", "Q.java", "Q" },
		{ "@A(B.class) class Q { }", "Main.java", "Q" },
		{ "class O { public class I { void main() {} } }", "Main.java", "O" },
		{ "class T { String s = \"\"\" } public class \"\"\"; } public class U {}",
		  "U.java", "U" },
		{ "class C { char c = '{'; char d = '\\''; } public interface N {}", "N.java",
		  "N" },
		{ "public class ../../etc/x {}", "Main.java", "Main" },
		{ "public class Gr\xc3\xb6\xc3\x9f"
		  "e {}",
		  "Gr\xc3\xb6\xc3\x9f"
		  "e.java",
		  "Gr\xc3\xb6\xc3\x9f"
		  "e" },
		{ "public class \xff {}", "Main.java", "\xff" },
		{ "/* public class X {", "Main.java", "Main" },
		{ "\"", "Main.java", "Main" },
		{ "'\\", "Main.java", "Main" },
		{ "}}} public class D {}", "D.java", "D" },
	};
	struct runtime_source source = { 0 };
	struct runtime_source_name name = { 0 };
	struct runtime *java = NULL;
	char longest[1100];

	(void)state;
	assert_int_equal(runtime_load(&source, "java", &java, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		runtime_source_name(java, "x.java", cases[i].code, strlen(cases[i].code), &name);
		if (strcmp(name.file, cases[i].file) != 0 ||
		    strcmp(name.main, cases[i].main) != 0) {
			fail_msg("%s\ngives %s and %s", cases[i].code, name.file, name.main);
		}
	}
	(void)snprintf(longest, sizeof(longest), "public class %01000d", 0);
	runtime_source_name(java, NULL, longest, strlen(longest), &name);
	assert_string_equal(name.file, "Main.java");
	(void)snprintf(longest, sizeof(longest), "package %01000d; ", 0);
	runtime_source_name(java, NULL, longest, strlen(longest), &name);
	assert_string_equal(name.main, "Main");
	runtime_free(java);
}

static void test_source_extension(void **state)
{
	struct runtime_source source = { 0 };
	struct runtime_source_name name = { 0 };
	struct runtime *node = NULL;

	(void)state;
	assert_int_equal(runtime_load(&source, "javascript", &node, NULL), 0);
	runtime_source_name(node, NULL, "", 0, &name);
	assert_string_equal(name.file, "code.js");
	assert_string_equal(name.main, "");
	runtime_source_name(node, "/a.b/x.mjs", "", 0, &name);
	assert_string_equal(name.file, "code.mjs");
	runtime_source_name(node, "/a.mjs/x", "", 0, &name);
	assert_string_equal(name.file, "code.js");
	runtime_source_name(node, "x.txt", "", 0, &name);
	assert_string_equal(name.file, "code.js");
	runtime_free(node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expand),
		cmocka_unit_test(test_expand_missing),
		cmocka_unit_test(test_source_name),
		cmocka_unit_test(test_source_extension),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
