/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities: see caps.h. Async-signal-safe. */
#include "kernel/caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Higher than any kernel's last capability; the loop ends at the first unknown one, which
 * PR_CAPBSET_DROP refuses with EINVAL (capabilities(7)).
 */
#define CAPS_TRIED 64

int caps_give_up(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 }, { 0 } };

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0) {
		return -errno;
	}
	return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

int caps_keep(unsigned long long bits)
{
	for (int cap = 0; cap < CAPS_TRIED; cap++) {
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0) {
			if (errno == EINVAL && cap > 0) {
				break;
			}
			return -errno;
		}
	}
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0) {
		return -errno;
	}
	if (prctl(PR_SET_SECUREBITS,
		  SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
			  SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
			  SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
		  0, 0, 0) < 0) {
		return -errno;
	}
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct kept[2] = { { 0 }, { 0 } };
	if (syscall(SYS_capget, &header, kept) < 0) {
		return -errno;
	}
	for (int i = 0; i < 2; i++) {
		kept[i].permitted &= (unsigned)(bits >> (32 * i));
		kept[i].effective = kept[i].permitted;
		kept[i].inheritable = 0;
	}
	return syscall(SYS_capset, &header, kept) < 0 ? -errno : 0;
}

int caps_drop_all(void)
{
	return caps_keep(0);
}
