/* The value of a program's last expression, as it left it: any bytes at all. */
#ifndef BRIG_LIB_VALUE_H
#define BRIG_LIB_VALUE_H

#include <stddef.h>

/* The JSON text in the memory file, checked and written anew; NULL: there is none. free() it. */
char *value_read(int fd);
/* The same for a text that is here already. */
char *value_check(const char *text, size_t size);
#endif
