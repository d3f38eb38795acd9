/* SPDX-License-Identifier: Apache-2.0 */
/* Policy files: the built-in ones, errors in bad ones with their position, and how they combine. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
/* after the four that it needs */
#include <cmocka.h>

#include "base/bytes/sha256.h"
#include "base/cleanup.h"
#include "base/embedded.h"
#include "policy/policy.h"

#define SEC UINT64_C(1000000000)
#define MIB UINT64_C(1048576)

static const struct policy_source built_in = { 0 };

static struct policy *load(const struct policy_source *source, const char *name)
{
	struct policy *policy = NULL;
	struct brig_error err = { 0 };

	if (policy_load(source, name, &policy, &err) < 0) {
		fail_msg("%s: %s", name, err.message);
	}
	return policy;
}

static void test_built_in(void **state)
{
	struct policy *standard = load(&built_in, "default");
	struct policy *strict = load(&built_in, "strict");
	struct policy *open = load(&built_in, "open");

	(void)state;
	assert_int_equal(standard->limits.wall_ns, 30 * SEC);
	assert_int_equal(standard->ceiling.wall_ns, 300 * SEC);
	assert_int_equal(standard->limits.memory_bytes, 256 * MIB);
	assert_int_equal(standard->limits.cpu_millicores, 1000);
	assert_int_equal(standard->compile_limits.wall_ns, 120 * SEC);
	assert_int_equal(standard->compile_limits.stdout_bytes, MIB);
	assert_int_equal(standard->auto_run, AUTO_RUN_YES);
	assert_true(standard->filter.count > 300);
	assert_int_equal(strlen(standard->hash), 64);

	assert_int_equal(strict->may_miss, LAYER_BIT(LAYER_UIDRANGE));
	assert_int_equal(strict->caller_mounts, CALLER_MOUNTS_NONE);
	assert_false(strict->exec_writable);
	assert_true(policy_runtime_allowed(strict, "python"));
	assert_false(policy_runtime_allowed(strict, "c"));
	assert_true(policy_runtime_allowed(standard, "c"));

	assert_ptr_equal(open->provider, &local_provider);
	assert_int_equal(open->auto_run, AUTO_RUN_ASK);
	assert_int_equal(open->filter.count, 0);
	policy_free(standard);
	policy_free(strict);
	policy_free(open);
}

/* default.json contains the table's default values; strict stays below them everywhere. */
static void test_limit_table(void **state)
{
	struct policy *standard = load(&built_in, "default");
	struct policy *strict = load(&built_in, "strict");

	(void)state;
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		const struct limit_info *info = &limit_table[i];

		assert_int_equal(*limit_of(&standard->limits, info), info->usual);
		assert_true(*limit_of(&strict->limits, info) <= *limit_of(&standard->limits, info));
		assert_true(*limit_of(&strict->ceiling, info) <=
			    *limit_of(&standard->ceiling, info));
		assert_true(info->least <= info->most);
		assert_int_equal(strncmp(info->option, "--", 2), 0);
	}
	assert_int_equal(LIMITS_COUNT * sizeof(uint64_t), sizeof(struct brig_limits));
	policy_free(standard);
	policy_free(strict);
}

static void test_hash_is_of_the_text(void **state)
{
	struct policy *policy = load(&built_in, "default");

	(void)state;
	for (size_t i = 0; i < embedded_files_count; i++) {
		struct sha256 hash;
		char hex[SHA256_HEX_SIZE];

		if (strcmp(embedded_files[i].path, "policies/default.json") == 0) {
			sha256_init(&hash);
			sha256_add(&hash, embedded_files[i].data, embedded_files[i].size);
			sha256_hex(&hash, hex);
			assert_string_equal(policy->hash, hex);
			policy_free(policy);
			return;
		}
	}
	fail();
}

#define BASE "\"syscalls\": [\"@basic\"]"

/* Each: the position of the error, and the words of the message and the remedy. */
static void test_bad_policies(void **state)
{
	static const struct {
		const char *text, *place, *message, *remedy;
	} cases[] = {
		{ "{\n  \"limts\": {},\n " BASE " }", "x.json:2:3", "did you mean \"limits\"",
		  "may_miss" },
		{ "{ \"limits\": { \"memry\": 1 } }", "x.json:1:15", "did you mean \"memory\"",
		  "wall" },
		{ "{ \"limits\": { \"memory\": \"256Q\" } }", "1:15", "is not a size", "" },
		{ "{ \"limits\": { \"memory\": true } }", "1:15", "not true or false", "" },
		{ "{ \"limits\": { \"memory\": -1 } }", "1:15", "is not", "" },
		{ "{ \"limits\": { \"wall\": \"0s\" } }", "1:15", "out of range", "" },
		{ "{ \"limits\": { \"wall\": 1e999 } }", "x.json:1:", "", "" },
		{ "{ \"limits\": { \"wall\": \"400d\" } }", "1:15", "is not", "" },
		{ "{ \"limits\": { \"processes\": 1.5 } }", "1:15", "is not", "" },
		{ "{ \"limits\": { \"net\": \"100T\" } }", "1:15", "out of range", "" },
		{ "{ \"limits\": [] }", "1:3", "must be an object", "" },
		{ "{ \"limits\": {\"wall\": \"9s\"}, \"ceiling\": {\"wall\": \"3s\"}, " BASE " }",
		  "1:14", "above the ceiling", "raise ceiling.wall" },
		{ "{ \"ceiling\": {\"wall\": \"3s\"}, " BASE " }", "1:15", "above the ceiling",
		  "" },
		{ "{ \"provider\": \"jailer\" }", "1:3", "unknown value",
		  "native, local, oci, launcher" },
		{ "{ \"provider\": \"launcher\", " BASE " }", "1:3", "no launcher is named",
		  "bubblewrap" },
		{ "{ \"launcher\": { \"name\": \"../x\" } }", "1:17", "no name of a launcher",
		  "bubblewrap" },
		{ "{ \"provider\": \"local\", \"auto_run\": \"yes\" }", "1:", "person's consent",
		  "ask" },
		{ "{ \"provider\": \"local\", " BASE " }", "1:24", "does not filter system calls",
		  "" },
		{ "{ \"provider\": \"local\", \"network\": \"none\" }", "1:24", "network", "" },
		{ "{ \"provider\": \"native\" }", "1:1", "needs a list", "extends" },
		{ "{ \"syscalls\": [] }", "1:3", "needs a list", "" },
		{ "{ \"syscalls\": [\"@basic\", \"@nope\"] }", "1:26", "not a group", "@basic" },
		{ "{ \"syscalls\": [\"@basic\", \"@basic\"] }", "1:26", "twice", "" },
		{ "{ \"syscalls\": [\"opne\"] }", "1:16", "did you mean \"open\"", "" },
		{ "{ \"syscalls\": \"@basic\" }", "1:3", "must be a list", "" },
		{ "{ \"auto_run\": \"maybe\" }", "1:3", "unknown value", "yes, ask, never" },
		{ "{ \"may_miss\": [\"landlok\"] }", "1:16", "did you mean \"landlock\"",
		  "userns" },
		{ "{ \"may_miss\": [\"seccomp\"], " BASE " }", "1:3", "without: seccomp", "" },
		{ "{ \"may_miss\": [\"*\"] }", "1:16", "unknown layer", "" },
		{ "{ \"network\": \"all\" }", "1:3", "unknown value", "none" },
		{ "{ \"guard\": \"tight\" }", "1:3", "unknown value", "off, imports, strict" },
		{ "{ \"guard\": { \"mode\": \"tight\" } }", "1:14", "unknown value", "strict" },
		{ "{ \"guard\": { \"modules\": [] } }", "1:14", "unknown key", "allowed_modules" },
		{ "{ \"guard\": { \"allowed_modules\": [\"a b\"] } }", "1:34",
		  "not a valid module name", "os.path" },
		{ "{ \"guard\": { \"allowed_modules\": [\"a..b\"] } }", "1:34",
		  "not a valid module name", "os.path" },
		{ "{ \"guard\": { \"recursion\": 3 } }", "1:14", "", "" },
		{ "{ \"auto_run\": { \"ask_from\": 0 } }", "1:17", "", "" },
		{ "{ \"auto_run\": { \"ask_from\": 101 } }", "1:17", "", "" },
		{ "{ \"extends\": \"open\", \"guard\": \"strict\" }", "1:22", "cannot guard code",
		  "native" },
		{ "{ \"extends\": \"open\", \"auto_run\": { \"ask_from\": 5 } }", "1:22",
		  "person's consent", "ask" },
		{ "{ \"exec_writable\": \"no\" }", "1:3", "must be true or false", "" },
		{ "{ \"denials_max\": -3 }", "1:3", "", "" },
		{ "{ \"runtimes\": [\"*\"] }", "1:16", "not a valid runtime name",
		  "empty list means all" },
		{ "{ \"runtimes\": [\"../x\"] }", "1:16", "not a valid runtime name", "" },
		{ "{ \"env\": { \"set\": { \"A=B\": \"x\" } } }", "1:21",
		  "not a valid variable name", "" },
		{ "{ \"env\": { \"allow\": [\"A B\"] } }", "1:22", "not a valid variable name",
		  "PREFIX_*" },
		{ "{ \"env\": { \"allow\": [\"\"] } }", "1:22", "not a valid variable name", "" },
		{ "{ \"env\": { \"pass\": [] } }", "1:12", "unknown key", "set, allow" },
		{ "{ \"mounts\": [{\"name\": \"d\", \"path\": \"data\", \"mode\": \"ro\"}] }",
		  "1:28", "absolute", "full path" },
		{ "{ \"mounts\": [{\"name\": \"d\", \"path\": \"/a/../b\", \"mode\": \"ro\"}] }",
		  "1:28", "", "" },
		{ "{ \"mounts\": [{\"name\": \"d\", \"path\": \"\", \"mode\": \"ro\"}] }", "1:28",
		  "absolute", "" },
		{ "{ \"mounts\": [{\"name\": \"d\", \"path\": \"/\", \"mode\": \"ro\"}] }", "1:28",
		  "whole host", "" },
		{ "{ \"mounts\": [{\"name\": \"d\", \"path\": \"/home/*\", \"mode\": \"ro\"}] }",
		  "1:28", "not a pattern", "" },
		{ "{ \"mounts\": [{\"name\": \"d\", \"path\": \"/d\", \"mode\": \"r\"}] }", "1:42",
		  "unknown value", "ro, rw" },
		{ "{ \"mounts\": [{\"name\": \"../d\", \"path\": \"/d\", \"mode\": \"ro\"}] }",
		  "1:15", "not a valid name", "" },
		{ "{ \"mounts\": [{\"name\": \"d\", \"path\": \"/d\"}] }", "1:14",
		  "\"mode\" is missing", "" },
		{ "{ \"mounts\": [{\"nam\": \"d\"}] }", "1:15", "unknown key", "name, path, mode" },
		{ "{ \"mounts\": [{\"name\": \"d\", \"path\": \"/d\", \"mode\": \"ro\"}, "
		  "{\"name\": \"d\", "
		  "\"path\": \"/e\", \"mode\": \"ro\"}] }",
		  "1:58", "twice", "" },
		{ "{ \"caller_mounts\": \"all\" }", "1:3", "unknown value", "none, ro, rw" },
		{ "{ \"extends\": \"nosuch\" }", "1:3", "policy not found", "" },
		{ "{ \"extends\": \"../default\" }", "1:3", "policy not found", "" },
		{ "{ \"extends\": 3 }", "1:3", "must be a text", "" },
		{ "{ \"compile\": { \"wall\": 3 } }", "1:16", "unknown key", "limits" },
		{ "{ \"files\": { \"in_count\": 1000000 } }", "1:14", "out of range", "" },
		{ "{ \"description\": \"a\", \"description\": \"b\" }", "x.json:1:", "", "" },
		{ "[]", "x.json:1:1", "must be an object", "" },
		{ "", "x.json:1:", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct policy *policy = NULL;
		struct brig_error err = { 0 };
		int r = policy_parse("x.json", cases[i].text, strlen(cases[i].text), &policy, &err);

		if (r >= 0 || policy || err.code != BRIG_E_POLICY ||
		    !strstr(err.message, cases[i].place) ||
		    !strstr(err.message, cases[i].message) ||
		    !strstr(err.remedy, cases[i].remedy)) {
			fail_msg("%s\n  %d %s\n  %s", cases[i].text, r, err.message, err.remedy);
		}
	}
}

static void test_minimal_policy(void **state)
{
	static const char text[] = "{ \"limits\": { \"wall\": 5, \"cpu\": 0.5 }, " BASE " }";
	struct policy *policy = NULL;

	(void)state;
	assert_int_equal(policy_parse("dir/mine.json", text, strlen(text), &policy, NULL), 0);
	assert_string_equal(policy->name, "mine");
	assert_int_equal(policy->limits.wall_ns, 5 * SEC);
	assert_int_equal(policy->limits.cpu_millicores, 500);
	/* everything unset is closed: no ceiling above the limit, no consent, no mounts */
	assert_int_equal(policy->ceiling.wall_ns, 5 * SEC);
	assert_int_equal(policy->auto_run, AUTO_RUN_ASK);
	assert_int_equal(policy->caller_mounts, CALLER_MOUNTS_NONE);
	assert_int_equal(policy->may_miss, 0);
	assert_false(policy->exec_writable);
	assert_false(policy_env_allowed(policy, "X"));
	policy_free(policy);
}

static void test_extends(void **state)
{
	static const char text[] = "{ \"extends\": \"default\", \"limits\": { \"wall\": \"5s\" },"
				   "  \"env\": { \"set\": { \"LANG\": \"C\", \"A\": \"b=c\" } } }";
	struct policy *policy = NULL;
	struct policy *parent = load(&built_in, "default");

	(void)state;
	assert_int_equal(policy_parse("x", text, strlen(text), &policy, NULL), 0);
	assert_int_equal(policy->limits.wall_ns, 5 * SEC);
	assert_int_equal(policy->ceiling.wall_ns, 300 * SEC);
	assert_int_equal(policy->filter.count, parent->filter.count);
	assert_int_equal(policy->may_miss, parent->may_miss);
	assert_int_equal(policy->env_set.count, 2);
	assert_true(strlist_has(&policy->env_set, "LANG=C"));
	assert_true(strlist_has(&policy->env_set, "A=b=c"));
	assert_string_not_equal(policy->hash, parent->hash);
	policy_free(policy);
	policy_free(parent);
}

static void test_limits(void **state)
{
	struct policy *policy = load(&built_in, "default");
	struct brig_limits got, wanted = { .wall_ns = 5 * SEC, .memory_bytes = 512 * MIB };
	struct brig_error err = { 0 };

	(void)state;
	assert_int_equal(policy_limits(policy, &wanted, &got, &err), 0);
	assert_int_equal(got.wall_ns, 5 * SEC);
	assert_int_equal(got.memory_bytes, 512 * MIB);
	assert_int_equal(got.processes, 64);
	assert_int_equal(policy_limits(policy, NULL, &got, &err), 0);
	assert_int_equal(got.wall_ns, 30 * SEC);
	wanted.memory_bytes = 5000 * MIB;
	assert_int_equal(policy_limits(policy, &wanted, &got, &err), -ERANGE);
	assert_non_null(strstr(err.message, "memory"));
	assert_non_null(strstr(err.message, "4G"));
	wanted.memory_bytes = 1;
	assert_int_equal(policy_limits(policy, &wanted, &got, &err), -ERANGE);
	wanted = (struct brig_limits){ .net_bytes = UINT64_C(65) << 40 };
	assert_int_equal(policy_limits(policy, &wanted, &got, &err), -ERANGE);
	wanted = (struct brig_limits){ .wall_ns = UINT64_MAX };
	assert_int_equal(policy_limits(policy, &wanted, &got, &err), -ERANGE);
	policy_free(policy);
}

static void test_environment(void **state)
{
	static const char *const refused[] = {
		"LD_PRELOAD",
		"LD_LIBRARY_PATH",
		"LD_",
		"PYTHONPATH",
		"PYTHONSTARTUP",
		"PYTHONINSPECT",
		"NODE_OPTIONS",
		"GCONV_PATH",
		"BASH_ENV",
		"IFS",
		"ENV",
		"PERL5OPT",
		"PERL5LIB",
		"RUBYOPT",
		"JAVA_TOOL_OPTIONS",
		"_JAVA_OPTIONS",
		"GLIBC_TUNABLES",
		"PATH",
		"BASH_FUNC_x",
		"BRIG_X",
		"",
		"A=B",
		"A B",
		"1A",
		"A-B",
		"\xc3\xa4",
		"A\n",
	};
	static const char *const allowed[] = {
		"FOO", "_x", "HOME", "PYTHONHASHSEED", "PYTHONUNBUFFERED", "NODE_ENV", "LDX", "TZ"
	};
	static const char text[] = "{ \"extends\": \"default\", \"env\": { \"allow\": "
				   "[\"LD_*\", \"PYTHONPATH\", \"APP_*\", \"X\"] } }";
	struct policy *policy = load(&built_in, "default");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		assert_false(policy_env_allowed(policy, refused[i]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
		assert_true(policy_env_allowed(policy, allowed[i]));
	}
	policy_free(policy);
	assert_int_equal(policy_parse("x", text, strlen(text), &policy, NULL), 0);
	assert_false(policy_env_allowed(policy, "LD_PRELOAD"));
	assert_true(policy_env_allowed(policy, "PYTHONPATH"));
	assert_true(policy_env_allowed(policy, "APP_KEY"));
	assert_true(policy_env_allowed(policy, "X"));
	assert_false(policy_env_allowed(policy, "XY"));
	policy_free(policy);
}

struct place {
	char dir[64];
	struct policy_source source;
};

static void put(const struct place *place, const char *name, const char *text, mode_t mode)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", place->dir, name);
	_cleanup_fclose_ FILE *file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fchmod(fileno(file), mode), 0);
}

static void set_mode(const struct place *place, const char *name, mode_t mode)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", place->dir, name);
	assert_int_equal(chmod(path, mode), 0);
}

static int make_place(void **state)
{
	struct place *place = calloc(1, sizeof(*place));
	char path[128];

	assert_non_null(place);
	snprintf(place->dir, sizeof(place->dir), "/tmp/brig-test-policy-XXXXXX");
	assert_non_null(mkdtemp(place->dir));
	snprintf(path, sizeof(path), "%s/policies", place->dir);
	assert_int_equal(mkdir(path, 0755), 0);
	place->source.config_dir = place->dir;
	*state = place;
	return 0;
}

static int remove_place(void **state)
{
	static const char *const names[] = { "policies/mine.json",
					     "policies/link.json",
					     "policies/two.json",
					     "policies/default.json",
					     "policies/dir.json",
					     "policies/bad name.json",
					     "policies/fifo.json",
					     "ceiling.json",
					     "really",
					     "link",
					     "policies",
					     "" };
	struct place *place = *state;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char path[256];

		snprintf(path, sizeof(path), "%s/%s", place->dir, names[i]);
		remove(path);
	}
	free(place);
	return 0;
}

static void assert_refused(const struct place *place, const char *name, const char *message,
			   const char *remedy)
{
	struct policy *policy = NULL;
	struct brig_error err = { 0 };

	if (policy_load(&place->source, name, &policy, &err) >= 0 ||
	    !strstr(err.message, message) || !strstr(err.remedy, remedy)) {
		fail_msg("%s: %s (%s)", name, err.message, err.remedy);
	}
	assert_null(policy);
}

static void test_trust(void **state)
{
	struct place *place = *state;
	char path[256];

	put(place, "policies/mine.json", "{ \"extends\": \"strict\" }", 0644);
	policy_free(load(&place->source, "mine"));
	set_mode(place, "policies/mine.json", 0664);
	assert_refused(place, "mine", "others may write", "chmod go-w");
	set_mode(place, "policies/mine.json", 0646);
	assert_refused(place, "mine", "others may write", "chmod go-w");
	set_mode(place, "policies/mine.json", 0644);
	set_mode(place, "policies", 0777);
	assert_refused(place, "mine", "policies: others may write", "chmod go-w");
	/* also a built-in one: another default could have been put there */
	assert_refused(place, "default", "others may write", "chmod go-w");
	set_mode(place, "policies", 0755);
	set_mode(place, "", 0777);
	assert_refused(place, "mine", "others may write", "chmod go-w");
	set_mode(place, "", 0700);

	snprintf(path, sizeof(path), "%s/policies/link.json", place->dir);
	assert_int_equal(symlink("mine.json", path), 0);
	assert_refused(place, "link", "a link", "in its place");
	snprintf(path, sizeof(path), "%s/policies/dir.json", place->dir);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_refused(place, "dir", "not a regular file", "");
	snprintf(path, sizeof(path), "%s/policies/fifo.json", place->dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_refused(place, "fifo", "not a regular file", "");
	if (geteuid() == 0) {
		snprintf(path, sizeof(path), "%s/policies/mine.json", place->dir);
		assert_int_equal(chown(path, 12345, 12345), 0);
		assert_refused(place, "mine", "owned by user 12345", "chown root");
	}
}

static void test_names(void **state)
{
	struct place *place = *state;
	_cleanup_(strlist_done)
	struct strlist names = { 0 };
	static const char *const bad[] = { "",   "../default", "/etc/passwd",     ".hidden",
					   "-x", "a b",        "policies/default" };

	put(place, "policies/mine.json", "{}", 0644);
	put(place, "policies/default.json", "{}", 0644);
	put(place, "policies/bad name.json", "{}", 0644);
	assert_int_equal(policy_names(&place->source, &names, NULL), 0);
	assert_int_equal(names.count, 4);
	assert_string_equal(names.items[0], "default");
	assert_string_equal(names.items[1], "mine");
	assert_refused(place, "nosuch", "policy not found", "default, mine, open, strict");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_refused(place, bad[i], "not a valid policy name", "");
	}
}

static void test_own_default(void **state)
{
	struct place *place = *state;
	struct policy *policy;

	put(place, "policies/default.json",
	    "{ \"extends\": \"default\", \"limits\": {\"wall\": 1} }", 0644);
	policy = load(&place->source, "default");
	assert_int_equal(policy->limits.wall_ns, SEC);
	assert_int_equal(policy->limits.memory_bytes, 256 * MIB);
	policy_free(policy);
	/* one level only */
	put(place, "policies/two.json", "{ \"extends\": \"default\" }", 0644);
	assert_refused(place, "two", "only one level", "");
}

static void test_operator_ceiling(void **state)
{
	struct place *place = *state;
	struct policy *policy = load(&place->source, "default");
	char hash[65];

	memcpy(hash, policy->hash, sizeof(hash));
	policy_free(policy);
	put(place, "ceiling.json",
	    "{ \"ceiling\": { \"wall\": \"10s\", \"memory\": \"1G\" }, // all of them\n"
	    "  \"auto_run\": \"ask\", \"caller_mounts\": \"ro\" }",
	    0644);
	policy = load(&place->source, "default");
	assert_int_equal(policy->limits.wall_ns, 10 * SEC);
	assert_int_equal(policy->ceiling.wall_ns, 10 * SEC);
	assert_int_equal(policy->compile_limits.wall_ns, 10 * SEC);
	assert_int_equal(policy->limits.memory_bytes, 256 * MIB);
	assert_int_equal(policy->ceiling.memory_bytes, 1024 * MIB);
	assert_int_equal(policy->auto_run, AUTO_RUN_ASK);
	assert_int_equal(policy->caller_mounts, CALLER_MOUNTS_RO);
	assert_string_not_equal(policy->hash, hash);
	policy_free(policy);
	/* it tightens and never loosens */
	policy = load(&place->source, "strict");
	assert_int_equal(policy->caller_mounts, CALLER_MOUNTS_NONE);
	assert_int_equal(policy->ceiling.memory_bytes, 512 * MIB);
	policy_free(policy);

	put(place, "ceiling.json", "{ \"limits\": {} }", 0644);
	assert_refused(place, "default", "unknown key",
		       "ceiling, auto_run, caller_mounts, network, guard");
	/* Values that were read before a mistake are freed: the sanitizers look. */
	put(place, "ceiling.json",
	    "{ \"network\": { \"allow\": [\"a.example:443\"] }, \"monitor\": { \"calls\": "
	    "[\"socket\"], \"end_after\": 1 } }",
	    0644);
	assert_refused(place, "default", "end_after", "");
	put(place, "ceiling.json", "{}", 0666);
	assert_refused(place, "default", "others may write", "chmod go-w");
}

static void test_mount_paths(void **state)
{
	struct place *place = *state;
	char path[256], real[128], text[1024];

	snprintf(real, sizeof(real), "%s/really", place->dir);
	assert_int_equal(mkdir(real, 0755), 0);
	snprintf(path, sizeof(path), "%s/link", place->dir);
	assert_int_equal(symlink("really", path), 0);
	snprintf(text, sizeof(text),
		 "{ \"extends\": \"default\",\n\"mounts\": [{\"name\": \"d\", \"path\": \"%s\", "
		 "\"mode\": \"ro\"}] }",
		 path);
	put(place, "policies/mine.json", text, 0644);
	assert_refused(place, "mine", "link", "realpath");

	snprintf(text, sizeof(text),
		 "{ \"extends\": \"default\",\n\"mounts\": [{\"name\": \"d\", \"path\": \"%s\", "
		 "\"mode\": \"ro\"}] }",
		 real);
	put(place, "policies/mine.json", text, 0644);
	policy_free(load(&place->source, "mine"));

	/* Y2: no program writes to policies from a cell */
	snprintf(text, sizeof(text),
		 "{ \"extends\": \"default\",\n\"mounts\": [{\"name\": \"d\", \"path\": \"%s\", "
		 "\"mode\": \"rw\"}] }",
		 place->dir);
	put(place, "policies/mine.json", text, 0644);
	assert_refused(place, "mine", "brig's own policies", "ro");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_built_in),
		cmocka_unit_test(test_limit_table),
		cmocka_unit_test(test_hash_is_of_the_text),
		cmocka_unit_test(test_bad_policies),
		cmocka_unit_test(test_minimal_policy),
		cmocka_unit_test(test_extends),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_environment),
		cmocka_unit_test_setup_teardown(test_trust, make_place, remove_place),
		cmocka_unit_test_setup_teardown(test_names, make_place, remove_place),
		cmocka_unit_test_setup_teardown(test_own_default, make_place, remove_place),
		cmocka_unit_test_setup_teardown(test_operator_ceiling, make_place, remove_place),
		cmocka_unit_test_setup_teardown(test_mount_paths, make_place, remove_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
