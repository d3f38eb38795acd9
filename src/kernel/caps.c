/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capabilities: see caps.h. Raw calls, errno untouched: brig-init may share its memory with the
 * payload process meanwhile.
 */
#include "kernel/caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>

#include "kernel/sys.h"

/*
 * Higher than any kernel's last capability; the loop ends at the first unknown one, which
 * PR_CAPBSET_DROP refuses with EINVAL (capabilities(7)).
 */
#define CAPS_TRIED 64

static int clear_ambient(void)
{
	return (int)sys_raw5(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

int caps_give_up(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 }, { 0 } };
	int r = clear_ambient();

	return r < 0 ? r : (int)sys_raw(SYS_capset, (long)&header, (long)none, 0);
}

static int shrink_bounding(void)
{
	for (int cap = 0; cap < CAPS_TRIED; cap++) {
		int r = (int)sys_raw5(SYS_prctl, PR_CAPBSET_DROP, cap, 0, 0, 0);
		if (r < 0) {
			return r == -EINVAL && cap > 0 ? 0 : r;
		}
	}
	return 0;
}

int caps_keep(unsigned long long bits)
{
	const long secure = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
			    SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
			    SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct kept[2] = { { 0 }, { 0 } };
	int r = shrink_bounding();

	if (r < 0) {
		return r;
	}
	r = clear_ambient();
	if (r < 0) {
		return r;
	}
	r = (int)sys_raw5(SYS_prctl, PR_SET_SECUREBITS, secure, 0, 0, 0);
	if (r < 0) {
		return r;
	}
	r = (int)sys_raw(SYS_capget, (long)&header, (long)kept, 0);
	if (r < 0) {
		return r;
	}
	for (int i = 0; i < 2; i++) {
		kept[i].permitted &= (unsigned)(bits >> (32 * i));
		kept[i].effective = kept[i].permitted;
		kept[i].inheritable = 0;
	}
	return (int)sys_raw(SYS_capset, (long)&header, (long)kept, 0);
}

int caps_drop_all(void)
{
	return caps_keep(0);
}
