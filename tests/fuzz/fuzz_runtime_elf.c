/* SPDX-License-Identifier: Apache-2.0 */
/* The ELF reader, on any bytes: it ends, stays inside them, and its results are text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/closure/elf_needs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition) {
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_needs needs = { 0 };
	int fd = memfd_create("elf", MFD_CLOEXEC);

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	if (elf_needs_read(fd, &needs) == 0) {
		require(memchr(needs.loader, '\0', sizeof(needs.loader)) != NULL);
		require(memchr(needs.runpath, '\0', sizeof(needs.runpath)) != NULL);
		require(!needs.loader[0] || needs.loader[0] == '/');
		for (size_t i = 0; i < needs.libraries.count; i++) {
			require(strlen(needs.libraries.items[i]) < ELF_TEXT_MAX);
		}
		elf_needs_done(&needs);
	} else {
		require(needs.libraries.count == 0);
	}
	close(fd);
	return 0;
}
