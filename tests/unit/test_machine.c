/* SPDX-License-Identifier: Apache-2.0 */
/* Files of machines, and the command lines that they make. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "vm/vm.h"

#define MIB  (1ull << 20)
#define ALL  "\"{kernel}\", \"{initrd}\", \"{image}\", \"{cmdline}\", \"{memory_mib}\""
#define HEAD "{ \"program\": \"x\", "

static int parse(const char *text, struct machine *ret, struct brig_error *err)
{
	return machine_parse("x", "machines/x.json", text, strlen(text), ret, err);
}

static void test_built_in(void **state)
{
	_cleanup_(strlist_done)
	struct strlist names = { 0 };

	(void)state;
	assert_int_equal(machine_names(&names), 0);
	assert_int_equal(names.count, 2);
	for (size_t i = 0; i < names.count; i++) {
		_cleanup_(machine_done)
		struct machine file = { 0 };
		struct brig_error err = { 0 };
		assert_int_equal(machine_built_in(names.items[i], &file, &err), 0);
		assert_string_equal(file.name, names.items[i]);
		assert_true(file.probe.count > 0);
		assert_int_equal(file.accel, VM_ACCEL_KVM);
		/* No test has run them. */
		assert_null(file.tried);
	}
	struct machine none = { 0 };
	assert_int_equal(machine_built_in("../policies/default", &none, NULL), -ENOENT);
	assert_int_equal(machine_built_in(MACHINE_QEMU, &none, NULL), -ENOENT);
}

static void test_expanded(void **state)
{
	_cleanup_(machine_done)
	struct machine file = { 0 };
	_cleanup_(strlist_done)
	struct strlist command = { 0 };
	_cleanup_(buf_done)
	struct buf config = { 0 };
	struct brig_error err = { 0 };

	(void)state;
	assert_int_equal(parse(HEAD "\"arguments\": [\"-k={kernel},{initrd}\", \"{config}\"], "
				    "\"config\": { \"m\": \"{memory_mib}\", \"t\": "
				    "\"{memory_mib}M\", \"c\": [\"{cmdline}\", \"{image}\"] } }",
			       &file, &err),
			 0);
	const struct vm_machine machine = { .program = "/usr/bin/x",
					    .file = &file,
					    .memory_bytes = 256 * MIB };
	assert_int_equal(vm_command(&machine, &command), 0);
	assert_int_equal(command.count, 3);
	assert_string_equal(command.items[0], "/usr/bin/x");
	assert_string_equal(command.items[1], "-k=/proc/self/fd/3,/proc/self/fd/4");
	assert_string_equal(command.items[2], "/proc/self/fd/6");
	assert_int_equal(vm_monitor_config(&machine, &config), 0);
	assert_non_null(strstr(config.data, "\"m\":256,\"t\":\"256M\""));
	assert_non_null(strstr(config.data, "brig.port=ttyS0\",\"/proc/self/fd/5\""));
	assert_null(strstr(config.data, "console=ttyS0"));
}

static void test_refused(void **state)
{
	static const char *const texts[] = {
		HEAD "\"arguments\": [] }",
		HEAD "\"arguments\": [\"{kernel}\"] }",
		HEAD "\"arguments\": [" ALL ", \"{root}\"] }",
		HEAD "\"arguments\": [" ALL ", \"/.brig\"] }",
		HEAD "\"arguments\": [" ALL ", \"{config}\"] }",
		HEAD "\"arguments\": [" ALL ", \"{socket}\"] }",
		HEAD "\"arguments\": [" ALL "], \"stream\": \"socket\" }",
		HEAD "\"arguments\": [" ALL "], \"config\": {} }",
		HEAD "\"arguments\": [" ALL ", \"{config}\"], \"config\": 7 }",
		HEAD "\"arguments\": [" ALL ", \"{config}\"], \"config\": { \"{kernel}\": 7 } }",
		HEAD "\"arguments\": [" ALL "], \"accel\": \"auto\" }",
		"{ \"arguments\": [" ALL "] }",
		"[]",
		"",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct machine file = { 0 };
		struct brig_error err = { 0 };
		assert_true(parse(texts[i], &file, &err) < 0);
		assert_non_null(strstr(err.message, "machines/x.json"));
		assert_null(file.program);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_built_in),
		cmocka_unit_test(test_expanded),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
