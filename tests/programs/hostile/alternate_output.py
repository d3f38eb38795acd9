# Attacks the list of output segments: 80,000 single bytes alternating on stdout and stderr, each
# read alone.
import os
import time

for _ in range(40000):
    os.write(1, b"o")
    time.sleep(0.00001)
    os.write(2, b"e")
    time.sleep(0.00001)
