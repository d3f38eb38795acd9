# SPDX-License-Identifier: Apache-2.0
# Attacks the warden's memory, in a session: a large file that takes no disk space, to be read many
# times.
import os

fd = os.open("big", os.O_CREAT | os.O_RDWR, 0o644)
os.ftruncate(fd, 64 << 20)
os.pwrite(fd, b"middle", 32 << 20)
os.close(fd)
