/* SPDX-License-Identifier: Apache-2.0 */
/* Linked lists: base/list.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/list.h"

struct item {
	char name;
	struct list_node node; /* not the first member */
};

/* The names, in both directions: they must agree. */
static void assert_names(const struct list *list, const char *expected)
{
	size_t count = strlen(expected), at = 0;

	LIST_EACH(const struct item, it, list, node) {
		assert_true(at < count);
		assert_int_equal(it->name, expected[at++]);
	}
	assert_int_equal(at, count);
	for (const struct list_node *node = list->last; node; node = node->previous) {
		assert_true(at > 0);
		assert_int_equal(LIST_CONTAINER(node, const struct item, node)->name,
				 expected[--at]);
	}
	assert_int_equal(at, 0);
	assert_int_equal(list_empty(list), count == 0);
}

static void test_empty(void **state)
{
	struct list list = { 0 };

	(void)state;
	assert_names(&list, "");
	assert_null(LIST_FIRST(&list, struct item, node));
}

static void test_both_ends(void **state)
{
	struct item a = { .name = 'a' }, b = { .name = 'b' }, c = { .name = 'c' };
	struct list list = { 0 };

	(void)state;
	list_append(&list, &b.node);
	assert_names(&list, "b");
	list_append(&list, &c.node);
	list_prepend(&list, &a.node);
	assert_names(&list, "abc");
	assert_ptr_equal(LIST_FIRST(&list, struct item, node), &a);
	assert_ptr_equal(LIST_NEXT(&a, struct item, node), &b);
	assert_null(LIST_NEXT(&c, struct item, node));
}

static void test_prepend_to_empty(void **state)
{
	struct item a = { .name = 'a' }, b = { .name = 'b' };
	struct list list = { 0 };

	(void)state;
	list_prepend(&list, &b.node);
	list_prepend(&list, &a.node);
	assert_names(&list, "ab");
}

static void test_remove(void **state)
{
	struct item items[] = {
		{ .name = 'a' }, { .name = 'b' }, { .name = 'c' }, { .name = 'd' }
	};
	struct list list = { 0 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		list_append(&list, &items[i].node);
	}
	list_remove(&list, &items[1].node); /* in the middle */
	assert_names(&list, "acd");
	list_remove(&list, &items[3].node); /* the last */
	assert_names(&list, "ac");
	list_remove(&list, &items[0].node); /* the first */
	assert_names(&list, "c");
	list_remove(&list, &items[2].node); /* the only one */
	assert_names(&list, "");
	assert_true(!items[2].node.next && !items[2].node.previous);
	list_append(&list, &items[1].node); /* a node can be used again */
	assert_names(&list, "b");
}

static void test_move_last(void **state)
{
	struct item a = { .name = 'a' }, b = { .name = 'b' };
	struct list list = { 0 };

	(void)state;
	list_append(&list, &a.node);
	list_move_last(&list, &a.node);
	assert_names(&list, "a");
	list_append(&list, &b.node);
	list_move_last(&list, &a.node);
	assert_names(&list, "ba");
}

static void test_emptying(void **state)
{
	struct item items[] = { { .name = 'a' }, { .name = 'b' } };
	struct list list = { 0 };
	struct item *item;
	unsigned count = 0;

	(void)state;
	list_append(&list, &items[0].node);
	list_append(&list, &items[1].node);
	while ((item = LIST_FIRST(&list, struct item, node))) {
		list_remove(&list, &item->node);
		memset(item, 0xff, sizeof(*item)); /* as if it were freed */
		count++;
	}
	assert_int_equal(count, 2);
	assert_names(&list, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),     cmocka_unit_test(test_both_ends),
		cmocka_unit_test(test_remove),    cmocka_unit_test(test_prepend_to_empty),
		cmocka_unit_test(test_move_last), cmocka_unit_test(test_emptying),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
