# Attacks the bound of a result: 64 MiB on stdout and 64 MiB on stderr, none of it text.
import os

piece = b"\xff" * (1 << 20)
for _ in range(64):
    for fd in (1, 2):
        os.write(fd, piece)
