/* SPDX-License-Identifier: Apache-2.0 */
/* Host names. Each has one normal form: lower case, no dot at the end. */
#ifndef BRIG_NET_NAME_H
#define BRIG_NET_NAME_H

#include <stdbool.h>
#include <stddef.h>

#define NET_NAME_MAX 253

/*
 * The normal form of a name: letters, digits, '-' and '_' in labels of 1 to 63 characters, with
 * dots between them. Not a name that could be read as an address in any notation ("127.1",
 * "0x7f000001", "1"), nothing but ASCII (other scripts by their xn-- form). false: not a valid
 * name.
 */
bool net_name_normal(const char *text, size_t size, char ret[NET_NAME_MAX + 1]);
/* Both in their normal form. `below` is "example.org": true for "a.example.org", not for itself. */
bool net_name_is_below(const char *name, const char *below);
#endif
