/* SPDX-License-Identifier: Apache-2.0 */
/*
 * I1 I2 L5: named objects in the kernel. usage: i1_sysv make|find|drop KEY
 *
 * Makes or finds a shared memory segment, a queue and a semaphore of System V under the key, and a
 * POSIX queue and shared memory named after it.
 */
#include <fcntl.h>
#include <mqueue.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include "say.h"

int main(int argc, char **argv)
{
	if (argc < 3) {
		return 99;
	}
	int make = strcmp(argv[1], "make") == 0;
	key_t key = atoi(argv[2]);
	int flags = make ? IPC_CREAT | 0666 : 0;
	int open_flags = make ? O_CREAT | O_RDWR : O_RDWR;
	char name[64];

	snprintf(name, sizeof(name), "/brig-i-%d", key);
	long shm = try("shm", shmget(key, 4096, flags));
	long msg = try("msg", msgget(key, flags));
	long sem = try("sem", semget(key, 1, flags));
	try("mq", mq_open(name, open_flags, 0666, NULL));
	try("posix_shm", shm_open(name, open_flags, 0666));
	/* Not by key, but by number: the highest index that is in use. */
	struct shm_info info;
	int last = shmctl(0, SHM_INFO, (struct shmid_ds *)&info);
	say("segments", "%d", last < 0 ? -1 : info.used_ids);
	if (strcmp(argv[1], "drop") == 0) {
		shmctl((int)shm, IPC_RMID, NULL);
		msgctl((int)msg, IPC_RMID, NULL);
		semctl((int)sem, 0, IPC_RMID);
		mq_unlink(name);
		shm_unlink(name);
	}
	return 0;
}
