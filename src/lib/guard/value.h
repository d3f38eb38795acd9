/* SPDX-License-Identifier: Apache-2.0 */
/* The value of a program's last expression, as it left it: any bytes at all. */
#ifndef BRIG_LIB_GUARD_VALUE_H
#define BRIG_LIB_GUARD_VALUE_H

#include <stddef.h>
#include <sys/types.h>

#define VALUE_REPR_MARK  'r' /* which no JSON text begins with */
#define VALUE_REPR_BYTES 16384

/*
 * The JSON text in the memory file from `at` on, checked and written anew; NULL: there is none.
 * free() it. A value that JSON has nothing like comes as VALUE_REPR_MARK and a JSON string: that is
 * no value, and its text goes to *ret_repr, for free().
 */
char *value_read(int fd, off_t at, char **ret_repr);
/* The same for a text that is here already. */
char *value_check(const char *text, size_t size, char **ret_repr);
#endif
