# SPDX-License-Identifier: Apache-2.0
# Attacks the warden, which answers sysinfo(2): processes that do nothing else.
# usage: endless_sysinfo.py [SECONDS [PROCESSES]]; prints the numbers of calls and of answers.
import ctypes
import os
import struct
import sys
import time

seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3600
processes = int(sys.argv[2]) if len(sys.argv) > 2 else 8
libc = ctypes.CDLL(None, use_errno=True)
room = ctypes.create_string_buffer(256)
told, tell = os.pipe()
children = []
for _ in range(processes):
    children.append(os.fork())
    if children[-1] == 0:
        end, asked, answered = time.monotonic() + seconds, 0, 0
        while time.monotonic() < end:
            answered += libc.sysinfo(room) == 0
            asked += 1
        os.write(tell, struct.pack("qq", asked, answered))
        os._exit(0)
counts = [struct.unpack("qq", os.read(told, 16)) for _ in children]
for child in children:
    os.waitpid(child, 0)
print(f"asked={sum(asked for asked, _ in counts)}")
print(f"answered={sum(answered for _, answered in counts)}")
