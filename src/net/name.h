/* SPDX-License-Identifier: Apache-2.0 */
/* Names of hosts. There is one spelling for each: lower case, no dot at the end. */
#ifndef BRIG_NET_NAME_H
#define BRIG_NET_NAME_H

#include <stdbool.h>
#include <stddef.h>

#define NET_NAME_MAX 253

/*
 * The one spelling of a name: letters, digits, '-' and '_' in labels of 1 to 63, with dots between
 * them. Not what could be read as an address in any notation ("127.1", "0x7f000001", "1"), nothing
 * but ASCII (other scripts by their xn-- form). false: it is no such name.
 */
bool net_name_normal(const char *text, size_t size, char ret[NET_NAME_MAX + 1]);
/* Both in their one spelling. `below` is "example.org": true for "a.example.org", not itself. */
bool net_name_is_below(const char *name, const char *below);
#endif
