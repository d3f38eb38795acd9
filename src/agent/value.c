/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory file in which a program leaves its value, as its descriptor 3. Its size is fixed, and
 * the program may write anything to it. A driver that guards the code sets the last seals itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/cleanup.h"

int value_make(struct agent *agent)
{
	int seals = F_SEAL_SHRINK | F_SEAL_GROW | (agent->value_sealed ? F_SEAL_SEAL : 0);

	if (agent->value_size == 0) {
		return 0;
	}
	agent->value = agent_lift(memfd_create("brig-value", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	if (agent->value < 0 || ftruncate(agent->value, agent->value_size) < 0 ||
	    fcntl(agent->value, F_ADD_SEALS, seals) < 0) {
		return -errno;
	}
	return 0;
}

void value_send(struct agent *agent)
{
	static unsigned char data[4 + FRAME_VALUE_MAX];
	ssize_t n = pread(agent->value, data + 4, agent->value_size, 0);
	int seals = fcntl(agent->value, F_GET_SEALS);

	while (n > 0 && data[4 + n - 1] == 0) {
		n--;
	}
	frame_put_u32(data, seals < 0 ? 0 : (uint32_t)seals);
	agent_send(agent, FRAME_VALUE, data, (uint32_t)(4 + (n > 0 ? n : 0)));
	close_fd(&agent->value);
}
