/* SPDX-License-Identifier: Apache-2.0 */
/* N7: the names of the host. */
#include <sys/utsname.h>
#include <unistd.h>

#include "say.h"

int main(void)
{
	struct utsname name;

	try("sethostname", sethostname("brig-attack", 11));
	try("setdomainname", setdomainname("brig-attack", 11));
	uname(&name);
	say("nodename", "%s", name.nodename);
	say("domainname", "%s", name.domainname);
}
