/* SPDX-License-Identifier: Apache-2.0 */
/* The things that the program can be started for: see serve/tls/tls_program.h. */
#ifndef BRIG_TLS_PROGRAM_TLS_PROGRAM_H
#define BRIG_TLS_PROGRAM_TLS_PROGRAM_H

#include <stdbool.h>

#include "serve/tls/tls_program.h"

enum { TLS_STATUS_FINE, TLS_STATUS_CUT, TLS_STATUS_WRONG_START };

/* Each with its own words of the command line; the exit status. */
int tls_check_main(char *const words[]);
int tls_client_main(char *const words[]);
/* `result` is that of the function that filled in the error. false: the caller is gone. */
bool tls_answer_send(struct tls_answer *answer, int result);
#endif
