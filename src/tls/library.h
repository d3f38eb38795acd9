/* SPDX-License-Identifier: Apache-2.0 */
/* libtls and OpenSSL as a whole: what must be said before either is used. */
#ifndef BRIG_TLS_LIBRARY_H
#define BRIG_TLS_LIBRARY_H

#include "base/error.h"

/* Any number of times. */
int library_init(struct brig_error *err);
/* Why OpenSSL's last call failed, in its words; forgets it. */
const char *library_reason(void);
#endif
