# SPDX-License-Identifier: Apache-2.0
# Attacks the connection from warden to front: single bytes alternating on both streams, each a
# packet.
import fcntl
import os

for fd in (1, 2):
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_DIRECT)
try:
    for _ in range(200000):
        os.write(1, b"o")
        os.write(2, b"e")
except OSError:
    pass
