/* SPDX-License-Identifier: Apache-2.0 */
/* The providers that a policy names: lists, what each lacks, and the operator's ceiling. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
/* after the four that it needs */
#include <cmocka.h>

#include "base/bytes/buf.h"
#include "policy/policy.h"

#define CELL "\"syscalls\": [\"@basic\", \"@process\"]"

static struct policy *parse(const char *text)
{
	struct policy *policy = NULL;
	struct brig_error err = { 0 };

	if (policy_parse("x.json", text, strlen(text), &policy, &err) < 0) {
		fail_msg("%s: %s", text, err.message);
	}
	return policy;
}

static void assert_refused(const char *text, const char *words)
{
	struct policy *policy = NULL;
	struct brig_error err = { 0 };

	assert_true(policy_parse("x.json", text, strlen(text), &policy, &err) < 0);
	if (!strstr(err.message, words)) {
		fail_msg("%s: %s", text, err.message);
	}
	assert_null(policy);
}

/* A list that is meant for one provider takes nothing from another. */
static void test_essential_layers(void **state)
{
	struct policy *policy = parse("{ \"provider\": [\"native\", \"docker\"], \"may_miss\": "
				      "[\"userns\", \"proc\", \"landlock\"], " CELL " }");
	const layer_set essential = LAYER_BIT(LAYER_USERNS) | LAYER_BIT(LAYER_PROC);
	const layer_set other = LAYER_BIT(LAYER_LANDLOCK);

	(void)state;
	assert_int_equal(policy_may_miss(policy, &docker_provider), essential | other);
	assert_int_equal(policy_may_miss(policy, &native_provider), other);
	policy_free(policy);
	assert_refused("{ \"provider\": [\"native\", \"oci\"], \"may_miss\": [\"userns\"], " CELL
		       " }",
		       "without: userns");
}

static void test_lists(void **state)
{
	struct policy *policy = parse("{ \"provider\": [\"oci\", \"native\"], " CELL " }");
	char list[64], tiny[6];

	(void)state;
	assert_int_equal(policy->candidates_count, 2);
	assert_ptr_equal(policy->provider, &oci_provider);
	assert_ptr_equal(policy->candidates[1].provider, &native_provider);
	assert_non_null(policy_candidate(policy, "native"));
	assert_null(policy_candidate(policy, "local"));
	assert_null(policy_candidate(policy, ""));
	assert_string_equal(policy_candidates_list(policy, list, sizeof(list)), "oci, native");
	assert_string_equal(policy_candidates_list(policy, tiny, sizeof(tiny)), "oci, ");
	policy_free(policy);

	policy = parse("{ \"provider\": [\"oci\"], " CELL " }");
	assert_int_equal(policy->candidates_count, 1);
	policy_free(policy);
	policy = parse("{ " CELL " }");
	assert_int_equal(policy->candidates_count, 1);
	assert_ptr_equal(policy->provider, &native_provider);
	policy_free(policy);
}

static void test_bad_lists(void **state)
{
	static const struct {
		const char *value, *words;
	} bad[] = {
		{ "[]", "empty list" },
		{ "[\"oci\", \"oci\"]", "listed twice" },
		{ "[\"native\", \"jailer\"]", "unknown value \"jailer\"" },
		{ "[\"native\", \"OCI\"]", "unknown value" },
		{ "[\"native\", \"\"]", "unknown value" },
		{ "[\"native\", 1]", "must be a text" },
		{ "[\"native\", null]", "must be a text" },
		{ "[[\"native\"]]", "must be a text" },
		{ "null", "must be a text" },
		{ "{}", "must be a text" },
		{ "\"\"", "unknown value" },
	};
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "{ \"provider\": %s, " CELL " }", bad[i].value);
		assert_refused(text, bad[i].words);
	}
}

/* However many: the count is refused before a name is read. */
static void test_long_list(void **state)
{
	struct buf text = { 0 };

	(void)state;
	buf_adds(&text, "{ \"provider\": [\"native\"");
	for (int i = 1; i < 10000; i++) {
		buf_addf(&text, ", \"p%d\"", i);
	}
	buf_adds(&text, "], " CELL " }");
	buf_addc(&text, '\0');
	assert_refused(text.data, "10000 items, at most 16");
	buf_done(&text);
}

/* A provider that lacks something is never the one; the others are. */
static void test_lacks(void **state)
{
	struct policy *policy;

	(void)state;
	policy =
		parse("{ \"provider\": [\"local\", \"native\"], \"guard\": \"strict\", " CELL " }");
	assert_non_null(policy_candidate(policy, "local")->lack);
	assert_null(policy_candidate(policy, "native")->lack);
	assert_ptr_equal(policy->provider, &native_provider);
	policy_free(policy);

	policy = parse("{ \"provider\": [\"local\", \"oci\"], " CELL " }");
	assert_string_equal(policy_candidate(policy, "local")->lack,
			    "does not filter system calls");
	assert_ptr_equal(policy->provider, &oci_provider);
	assert_false(policy_without_walls(policy));
	policy_free(policy);

	assert_refused("{ \"provider\": [\"local\"], \"guard\": \"strict\", " CELL " }",
		       "provider local cannot guard code");
	/* The list does not help: nothing without walls is run unasked. */
	assert_refused("{ \"provider\": [\"native\", \"local\"], \"auto_run\": \"yes\", " CELL " }",
		       "person's consent");
	assert_refused("{ \"provider\": [\"native\", \"local\"] }", "needs a list of system calls");
	/* A child inherits the list with its rules, or sets its own. */
	policy = parse("{ \"extends\": \"default\", \"provider\": [\"oci\", \"native\"] }");
	assert_ptr_equal(policy->provider, &oci_provider);
	policy_free(policy);
	assert_refused("{ \"extends\": \"default\", \"provider\": [\"native\", \"local\"] }",
		       "person's consent");
}

/* --- the ceiling ------------------------------------------------------------------------------ */

static char dir[] = "/tmp/brig-test-XXXXXX";

static void put(const char *name, const char *text)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static int load(const char *name, struct policy **ret, struct brig_error *err)
{
	const struct policy_source source = { .config_dir = dir };

	*err = (struct brig_error){ 0 };
	*ret = NULL;
	return policy_load(&source, name, ret, err);
}

static void test_ceiling(void **state)
{
	struct policy *policy;
	struct brig_error err;
	char path[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	chmod(dir, 0755);
	snprintf(path, sizeof(path), "%s/policies", dir);
	assert_int_equal(mkdir(path, 0755), 0);
	put("policies/both.json",
	    "{ \"extends\": \"default\", \"provider\": [\"oci\", \"native\"] }");

	/* The policy's order stays; what is not in the ceiling is never used. */
	put("ceiling.json", "{ \"provider\": [\"local\", \"native\", \"oci\"] }");
	assert_int_equal(load("both", &policy, &err), 0);
	assert_ptr_equal(policy->provider, &oci_provider);
	policy_free(policy);
	put("ceiling.json", "{ \"provider\": \"native\" }");
	assert_int_equal(load("both", &policy, &err), 0);
	assert_ptr_equal(policy->provider, &native_provider);
	assert_string_equal(policy_candidate(policy, "oci")->lack,
			    "is not in the operator's ceiling");
	policy_free(policy);
	assert_true(load("open", &policy, &err) < 0);
	assert_non_null(strstr(err.message, "the ceiling allows no provider"));
	assert_non_null(strstr(err.remedy, "native"));
	put("ceiling.json", "{ \"provider\": [\"oci\"] }");
	assert_true(load("default", &policy, &err) < 0);
	put("ceiling.json", "{ \"provider\": [] }");
	assert_true(load("default", &policy, &err) < 0);

	/* A ceiling that needs more than one of the list has. */
	put("ceiling.json", "{ \"guard\": \"strict\" }");
	assert_int_equal(load("both", &policy, &err), 0);
	assert_ptr_equal(policy->provider, &oci_provider); /* it has a guard too */
	policy_free(policy);
	put("ceiling.json", "{ \"monitor\": { \"calls\": [\"socket\"] } }");
	assert_int_equal(load("both", &policy, &err), 0);
	assert_ptr_equal(policy->provider, &oci_provider);
	assert_int_equal(policy->monitor.calls.count, 1);
	policy_free(policy);

	static const char *const names[] = { "ceiling.json", "policies/both.json" };
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/policies", dir);
	rmdir(path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),     cmocka_unit_test(test_essential_layers),
		cmocka_unit_test(test_bad_lists), cmocka_unit_test(test_long_list),
		cmocka_unit_test(test_lacks),     cmocka_unit_test(test_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
