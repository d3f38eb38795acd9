/* SPDX-License-Identifier: Apache-2.0 */
/* A program that failed because its cell has no network: told by names that it asked for, or by its
 * last words. */
#ifndef BRIG_RUN_OFFLINE_H
#define BRIG_RUN_OFFLINE_H

#include <brig/brig.h>

/*
 * For cells without a network. host is a name that the program asked for; NULL: none is known.
 * words is the end of what it printed: there an address without a route is found. Both are the
 * program's own, so nothing but the two remedies depends on them.
 */
void offline_remedy(const char *host, const char *words, struct brig_result *result);
#endif
