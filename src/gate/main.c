/* SPDX-License-Identifier: Apache-2.0 */
/* brig-gate, for cells whose TLS is never opened: the C library alone. See gate.c. */
#include "gate/gate.h"

int main(void)
{
	return gate_program(NULL);
}
