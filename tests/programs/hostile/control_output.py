# Attacks the size of a result: 64 MiB of a byte that JSON writes as six.
import os

piece = b"\x01" * (1 << 20)
for _ in range(64):
    os.write(1, piece)
