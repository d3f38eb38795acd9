/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The free memory between a template's objects. When a clone allocates there, the page around it is
 * copied, and objects that it makes one after the other are spread over many pages. So the holes
 * are freed or filled before any clone is made: a clone then starts on pages of its own.
 */
#ifndef BRIG_TEMPLATE_HEAP_HOLES_H
#define BRIG_TEMPLATE_HEAP_HOLES_H

#include <stddef.h>

/* The interpreter's own allocator for small objects. */
struct heap_holes_allocator {
	void *(*allocate)(size_t size);
	void (*release)(void *block);
};

void heap_holes_fill(const struct heap_holes_allocator *allocator);
#endif
