/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doubly linked lists of structs that have a struct list_node as a member. The list owns nothing.
 * A zero-initialised list is empty; a zero-initialised node is in no list.
 *
 *	struct list jobs = { 0 };
 *	list_append(&jobs, &job->node);
 *	LIST_EACH(struct job, it, &jobs, node) { ... }
 *	while ((job = LIST_FIRST(&jobs, struct job, node))) { list_remove(&jobs, &job->node); ... }
 */
#ifndef BRIG_BASE_LIST_H
#define BRIG_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct list_node {
	struct list_node *next, *previous; /* NULL at the ends */
};

struct list {
	struct list_node *first, *last; /* NULL: empty */
};

static inline bool list_empty(const struct list *list)
{
	return !list->first;
}

static inline void list_append(struct list *list, struct list_node *node)
{
	*node = (struct list_node){ .previous = list->last };
	*(list->last ? &list->last->next : &list->first) = node;
	list->last = node;
}

static inline void list_prepend(struct list *list, struct list_node *node)
{
	*node = (struct list_node){ .next = list->first };
	*(list->first ? &list->first->previous : &list->last) = node;
	list->first = node;
}

/* The node must be in this list. */
static inline void list_remove(struct list *list, struct list_node *node)
{
	*(node->previous ? &node->previous->next : &list->first) = node->next;
	*(node->next ? &node->next->previous : &list->last) = node->previous;
	*node = (struct list_node){ 0 };
}

static inline void list_move_last(struct list *list, struct list_node *node)
{
	list_remove(list, node);
	list_append(list, node);
}

/* The struct around a node that is `offset` bytes into it; NULL for NULL. */
static inline void *list_container(const struct list_node *node, size_t offset)
{
	return node ? (void *)((uintptr_t)node - offset) : NULL;
}

#define LIST_CONTAINER(node, type, member) ((type *)list_container(node, offsetof(type, member)))
/* The first struct of a list, and the one behind another; NULL: none. */
#define LIST_FIRST(list, type, member) LIST_CONTAINER((list)->first, type, member)
#define LIST_LAST(list, type, member)  LIST_CONTAINER((list)->last, type, member)
#define LIST_NEXT(item, type, member)  LIST_CONTAINER((item)->member.next, type, member)
/* NOLINTBEGIN(bugprone-macro-parentheses): a type and a name cannot be in parentheses */
/* `item` must stay in the list while its block runs; use LIST_FIRST to empty a list. */
#define LIST_EACH(type, item, list, member)                                                        \
	for (type *item = LIST_FIRST(list, type, member); item;                                    \
	     item = LIST_NEXT(item, type, member))
/* NOLINTEND(bugprone-macro-parentheses) */
#endif
