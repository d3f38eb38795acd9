/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The free memory between a template's objects. What a clone puts there has the page around it
 * copied, and the objects that it makes one after the other are spread over many pages. So the
 * holes are given back or filled before any clone is made: it then starts on pages of its own.
 */
#ifndef BRIG_TEMPLATE_HEAP_HOLES_H
#define BRIG_TEMPLATE_HEAP_HOLES_H

#include <stddef.h>

/* The interpreter's own memory for small objects. */
struct heap_holes_allocator {
	void *(*allocate)(size_t size);
	void (*release)(void *block);
};

void heap_holes_fill(const struct heap_holes_allocator *allocator);
#endif
