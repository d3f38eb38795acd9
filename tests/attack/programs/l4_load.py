# SPDX-License-Identifier: Apache-2.0
"""L3 L4: indicators of the work of others: load, pressure, counters, contents of the page cache."""

import ctypes
import errno
import os

FILES = ["/proc/loadavg", "/proc/pressure/cpu", "/proc/pressure/memory", "/proc/schedstat",
         "/proc/stat", "/proc/uptime", "/proc/vmstat", "/proc/interrupts", "/proc/diskstats",
         "/proc/meminfo", "/proc/buddyinfo", "/proc/zoneinfo", "/proc/softirqs",
         "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "/sys/fs/cgroup",
         "/proc/sys/kernel/random/boot_id", "/proc/net/dev"]
for path in FILES:
    try:
        if os.path.isdir(path):
            os.listdir(path)
        else:
            with open(path, "rb") as file:
                file.read(64)
        print(f"{path}=OK")
    except OSError as error:
        print(f"{path}={errno.errorcode[error.errno]}")

libc = ctypes.CDLL(None, use_errno=True)


def call(name, number, *args):
    ctypes.set_errno(0)
    result = libc.syscall(number, *args)
    print(f"{name}={'OK' if result >= 0 else errno.errorcode[ctypes.get_errno()]}")


attr = ctypes.create_string_buffer(128)
attr[4] = 128
attr.raw = attr.raw[:4] + (128).to_bytes(4, "little") + (0).to_bytes(8, "little") + attr.raw[16:]
attr.raw = (1).to_bytes(4, "little") + attr.raw[4:]
call("perf", 298, attr, 0, -1, -1, 0)
fd = os.open("/usr/bin/env" if os.path.exists("/usr/bin/env") else os.__file__, os.O_RDONLY)
room = ctypes.create_string_buffer(64)
span = (ctypes.c_ulonglong * 2)(0, 4096)
call("cachestat", 451, fd, span, room, 0)
try:
    print("load=" + " ".join(str(number) for number in os.getloadavg()))
except OSError:
    print("load=none")
