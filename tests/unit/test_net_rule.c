/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses, names and rules of the network. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "net/rule.h"

static struct net_rule rule(const char *text)
{
	struct net_rule got;
	struct brig_error err = { 0 };

	assert_int_equal(net_rule_parse(text, &got, &err), 0);
	assert_true(net_rule_is_sound(&got));
	return got;
}

static void test_classes(void **state)
{
	static const struct {
		const char *address;
		enum net_class class;
	} cases[] = {
		{ "93.184.216.34", NET_PUBLIC },
		{ "8.8.8.8", NET_PUBLIC },
		{ "172.15.255.255", NET_PUBLIC },
		{ "172.32.0.0", NET_PUBLIC },
		{ "100.63.255.255", NET_PUBLIC },
		{ "2606:2800:220:1::34", NET_PUBLIC },
		{ "64:ff9b::808:808", NET_PUBLIC },
		{ "127.0.0.1", NET_LOCAL },
		{ "127.255.255.255", NET_LOCAL },
		{ "10.1.2.3", NET_LOCAL },
		{ "172.16.0.1", NET_LOCAL },
		{ "172.31.255.255", NET_LOCAL },
		{ "192.168.0.1", NET_LOCAL },
		{ "100.64.0.1", NET_LOCAL },
		{ "::1", NET_LOCAL },
		{ "fc00::1", NET_LOCAL },
		{ "fdff::1", NET_LOCAL },
		{ "::ffff:10.0.0.1", NET_LOCAL },
		{ "64:ff9b::7f00:1", NET_LOCAL },
		{ "169.254.169.254", NET_LINK },
		{ "100.100.100.200", NET_LINK },
		{ "fe80::1", NET_LINK },
		{ "fd00:ec2::254", NET_LINK },
		{ "::ffff:169.254.169.254", NET_LINK },
		{ "0.0.0.0", NET_NEVER },
		{ "0.1.2.3", NET_NEVER },
		{ "224.0.0.1", NET_NEVER },
		{ "255.255.255.255", NET_NEVER },
		{ "240.0.0.1", NET_NEVER },
		{ "198.18.0.1", NET_NEVER },
		{ "192.0.2.1", NET_NEVER },
		{ "::", NET_NEVER },
		{ "::7f00:1", NET_NEVER },
		{ "ff02::1", NET_NEVER },
		{ "2002:7f00:1::", NET_NEVER },
		{ "2001::1", NET_NEVER },
		{ "2001:db8::1", NET_NEVER },
		{ "64:ff9b:1::1", NET_NEVER },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct net_address address;
		char text[NET_ADDRESS_TEXT];
		assert_int_equal(net_address_parse(cases[i].address, &address), 0);
		if (net_classify(&address) != cases[i].class) {
			fail_msg("%s", net_address_format(&address, text));
		}
	}
}

static void test_names(void **state)
{
	static const char *const bad[] = {
		"",           "a..b",  ".a",        "-a.b", "a-.b",  "127.0.0.1", "127.1",
		"0x7f000001", "a.0x1", "1",         "a b",  "a/b",   "a@b",       "a%2e",
		"a:b",        "*.a",   "p\xc3\xbc", "a\0b", "a.b..", "a.123",
	};
	char name[NET_NAME_MAX + 1], longest[300];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		size_t size = i == 17 ? 3 : strlen(bad[i]);
		if (net_name_normal(bad[i], size, name)) {
			fail_msg("%s", bad[i]);
		}
	}
	assert_true(net_name_normal("Example.ORG.", 12, name));
	assert_string_equal(name, "example.org");
	assert_true(net_name_normal("_srv.a-b.x1", 11, name));
	memset(longest, 'a', sizeof(longest));
	assert_true(net_name_normal(longest, 63, name));
	assert_false(net_name_normal(longest, 64, name));
	for (int i = 63; i < 300; i += 64) {
		longest[i] = '.';
	}
	assert_true(net_name_normal(longest, 253, name));
	assert_false(net_name_normal(longest, 254, name));
	assert_true(net_name_is_below("a.b.c", "b.c"));
	assert_false(net_name_is_below("b.c", "b.c"));
	assert_false(net_name_is_below("ab.c", "b.c"));
}

static void test_rules(void **state)
{
	static const char *const same[] = {
		"example.org:80,443", "*.example.org:443",   "*:1-65535",
		"10.0.0.0/8:22",      "local:10.0.0.1:5432", "[2001:500::]/32:8000-8010",
		"local:[::1]:80",     "local:localhost:1",
	};
	char text[NET_RULE_TEXT];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		struct net_rule got = rule(same[i]);
		assert_string_equal(net_rule_format(&got, text), same[i]);
	}
	struct net_rule got = rule("PyPI.org");
	assert_string_equal(net_rule_format(&got, text), "pypi.org:80,443");
	got.name[0] = '!';
	assert_false(net_rule_is_sound(&got));
	got = rule("*:1");
	got.ports_count = 200;
	assert_false(net_rule_is_sound(&got));
	memset(&got, 0xff, sizeof(got));
	assert_false(net_rule_is_sound(&got));
}

static void test_covers(void **state)
{
	static const struct {
		const char *wide, *narrow;
		bool covers;
	} cases[] = {
		{ "*:443", "a.b:443", true },
		{ "*:443", "a.b:80", false },
		{ "*:80-90", "a.b:80,85-90", true },
		{ "*.b.c:443", "a.b.c:443", true },
		{ "*.b.c:443", "b.c:443", false },
		{ "*.b.c:443", "*.a.b.c:443", true },
		{ "*.a.b.c:443", "*.b.c:443", false },
		{ "b.c:443", "*.b.c:443", false },
		{ "*:443", "*:443", true },
		{ "*.b:443", "*:443", false },
		{ "10.0.0.0/8:1", "10.1.0.0/16:1", true },
		{ "10.1.0.0/16:1", "10.0.0.0/8:1", false },
		{ "*:1", "10.0.0.1:1", false },
		{ "0.0.0.0/0:1", "a.b:1", false },
		{ "0.0.0.0/0:1", "[::1]:1", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct net_rule wide = rule(cases[i].wide), narrow = rule(cases[i].narrow);
		if (net_rule_covers(&wide, &narrow) != cases[i].covers) {
			fail_msg("%s %s", cases[i].wide, cases[i].narrow);
		}
	}
}

static void test_ports(void **state)
{
	uint16_t ports[NET_PORTS_MAX];
	struct net_rule rules[] = { rule("a.b:443,80"), rule("c.d:80,50-54") };

	(void)state;
	assert_int_equal(net_rules_ports(rules, 2, ports), 6);
	assert_int_equal(ports[0], 50);
	assert_int_equal(ports[3], 54); /* not 53 */
	assert_int_equal(ports[5], 443);
	rules[0] = rule("*:1000-1063");
	assert_int_equal(net_rules_ports(rules, 1, ports), 64);
	rules[0] = rule("*:1000-1064");
	assert_int_equal(net_rules_ports(rules, 1, ports), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes), cmocka_unit_test(test_names),
		cmocka_unit_test(test_rules),   cmocka_unit_test(test_covers),
		cmocka_unit_test(test_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
