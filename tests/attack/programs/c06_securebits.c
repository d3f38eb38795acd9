/* SPDX-License-Identifier: Apache-2.0 */
/* C6: unlocking the secure bits, raising capabilities, keeping them. */
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "say.h"

int main(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct all[2] = { { .effective = 1, .permitted = 1 }, { 0 } };
	unsigned ambient = 0;

	for (unsigned long cap = 0; cap < 41; cap++) {
		ambient += prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) > 0;
	}
	say("ambient", "%u", ambient);
	say("bits", "%#x", prctl(PR_GET_SECUREBITS, 0, 0, 0, 0));
	try("raise", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0));
	try("keep", prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0));
	try("nnp-off", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
	try("unlock", prctl(PR_SET_SECUREBITS, 0, 0, 0, 0));
	/* Last: outside it removes all the others. */
	try("capset", syscall(SYS_capset, &header, all));
}
