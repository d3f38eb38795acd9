/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advice for a program that failed because its cell has no network. The signs are the names that it
 * tried to resolve, or the end of its output.
 */
#ifndef BRIG_RUN_NETWORK_ADVICE_H
#define BRIG_RUN_NETWORK_ADVICE_H

#include <brig/brig.h>

/*
 * For cells without a network. host is a name that the program tried to resolve; NULL: none is
 * known. output is the end of its output, which shows failed connections to addresses. The program
 * controls both, so nothing but the two remedies depends on them.
 */
void network_advice(const char *host, const char *output, struct brig_result *result);
#endif
