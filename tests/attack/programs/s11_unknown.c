/* SPDX-License-Identifier: Apache-2.0 */
/* S11: numbers that no kernel has yet, and calls that this kernel has but a cell does not allow. */
#include <sys/syscall.h>
#include <unistd.h>

#include "say.h"

int main(int argc, char **argv)
{
	static const long future[] = { 400, 423, 512, 600, 1000, 1023, 4096, 0x1fffffff };
	char name[32];

	(void)argv;
	for (size_t i = 0; i < sizeof(future) / sizeof(future[0]); i++) {
		snprintf(name, sizeof(name), "%ld", future[i]);
		try(name, syscall(future[i], 0, 0, 0, 0, 0, 0));
	}
	try("set_mempolicy_home_node", syscall(450, 0, 0, 0, 0));
	try("statmount", syscall(457, 0, 0, 0, 0));
	try("listmount", syscall(458, 0, 0, 0, 0));
	try("lsm_list_modules", syscall(461, 0, 0, 0));
	try("lsm_get_self_attr", syscall(459, 100, 0, 0, 0));
	/* Not 335 and 336 (uretprobe, uprobe): the kernel itself takes them past every filter. */
	if (argc > 1) {
		for (long number = 471; number < 512; number++) {
			if (syscall(number, -1, 0, 0, 0, 0, 0) >= 0 || errno != ENOSYS) {
				say("known", "%ld", number);
			}
		}
	}
}
