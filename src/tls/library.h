/* SPDX-License-Identifier: Apache-2.0 */
/* Initialization of OpenSSL as a whole, before it is used. */
#ifndef BRIG_TLS_LIBRARY_H
#define BRIG_TLS_LIBRARY_H

#include "base/error.h"

/* May be called any number of times. */
int library_init(struct brig_error *err);
/* Why OpenSSL's last call failed, in its words; clears the error. */
const char *library_reason(void);
#endif
