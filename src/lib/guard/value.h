/* SPDX-License-Identifier: Apache-2.0 */
/* The value of a program's last expression, which the program wrote: it may be any bytes. */
#ifndef BRIG_LIB_GUARD_VALUE_H
#define BRIG_LIB_GUARD_VALUE_H

#include <stddef.h>
#include <sys/types.h>

#define VALUE_REPR_MARK  'r' /* no JSON text begins with this */
#define VALUE_REPR_BYTES 16384

/*
 * The JSON text in the memory file from `at` on, checked and serialized again; NULL: there is none.
 * free() it. A value that JSON cannot express is VALUE_REPR_MARK and a JSON string: that is no
 * value, and its text goes to *ret_repr, for free().
 */
char *value_read(int fd, off_t at, char **ret_repr);
/* The same for a text in memory. */
char *value_check(const char *text, size_t size, char **ret_repr);
#endif
