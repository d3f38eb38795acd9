/* SPDX-License-Identifier: Apache-2.0 */
/* C3: lives for a while, so that it can be inspected from outside. */
#include <unistd.h>

#include "say.h"

int main(void)
{
	say("uid", "%d", getuid());
	sleep(20);
}
