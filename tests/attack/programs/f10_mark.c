/* SPDX-License-Identifier: Apache-2.0 */
/* F10: leaves a mark in the mounted directory. */
#include <fcntl.h>

#include "say.h"

int main(void)
{
	try("mark", open("/mnt/ws/mark", O_WRONLY | O_CREAT, 0644));
}
