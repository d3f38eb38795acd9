# SPDX-License-Identifier: Apache-2.0
"""W4, W5: all state that an interpreter could have kept of an earlier run, as one JSON object."""
import ctypes
import fcntl
import json
import locale
import os
import resource
import signal
import stat
import sys
import threading
import time

KINDS = {stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket", stat.S_IFREG: "file", stat.S_IFCHR: "device",
         stat.S_IFDIR: "directory"}
libc = ctypes.CDLL(None, use_errno=True)


def descriptors():
    found = {}
    for fd in range(4096):
        try:
            kind = KINDS.get(stat.S_IFMT(os.fstat(fd).st_mode), "anonymous")
            flags = [fcntl.fcntl(fd, fcntl.F_GETFL), fcntl.fcntl(fd, fcntl.F_GETFD)]
            found[fd] = [kind, *flags]
        except OSError:
            pass
    return found


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read().decode("latin-1")
    except OSError as error:
        return error.errno


def status():
    """Without sizes and counts that change from moment to moment."""
    left_out = ("Vm", "Rss", "State", "FDSize", "Huge", "voluntary", "nonvoluntary", "Mems", "Cpus")
    lines = (line.split(":\t", 1) for line in read("/proc/self/status").splitlines())
    return {name: value for name, value in lines if not name.startswith(left_out)}


def actions():
    """The kernel's action for each signal: default, ignore, or a handler."""
    found = {}
    for number in range(1, 65):
        action = (ctypes.c_ulong * 32)()
        if libc.sigaction(number, None, ctypes.byref(action)) == 0 and action[0]:
            found[number] = "ignored" if action[0] == 1 else "handled"
    return found


def prctls():
    asked = {"pdeathsig": 2, "subreaper": 37}
    found = {}
    for name, option in asked.items():
        value = ctypes.c_int(-1)
        libc.prctl(option, ctypes.byref(value), 0, 0, 0)
        found[name] = value.value
    direct = {"dumpable": 3, "keepcaps": 7, "name": 16, "seccomp": 21, "securebits": 27,
              "timerslack": 30, "nnp": 39, "thp": 42, "timing": 13}
    for name, option in direct.items():
        if name != "name":
            found[name] = libc.prctl(option, 0, 0, 0, 0)
    return found


def environment():
    pointer = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, "environ")
    entries, at = [], 0
    while pointer[at] is not None:
        entries.append(pointer[at].decode())
        at += 1
    return sorted(entries)


def altstack():
    stack = (ctypes.c_long * 3)()
    libc.sigaltstack(None, ctypes.byref(stack))
    return list(stack)[1] & 0xFFFFFFFF


facts = {
    "descriptors": descriptors(),
    "timers": {which: signal.getitimer(which) for which in (0, 1, 2)},
    "posix timers": read("/proc/self/timers"),
    "actions": actions(),
    "python handlers": {number: str(signal.getsignal(number)).split(" at ")[0]
                        for number in signal.valid_signals()},
    "wakeup": signal.set_wakeup_fd(-1),
    "mask": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
    "pending": sorted(signal.sigpending()),
    "alternate stack": altstack(),
    "environ": dict(os.environ),
    "posix environ": sorted(map(str, sys.modules["posix"].environ.items())),
    "C environ": environment(),
    # The space of a clone is longer than its contents: zeros follow. See warm.md.
    "environ area": read("/proc/self/environ").rstrip("\0"),
    "argument area": read("/proc/self/cmdline").rstrip("\0"),
    "argv": [os.path.basename(word) for word in sys.argv],
    "orig_argv": sys.orig_argv[:-1],
    "executable": [sys.executable, sys.prefix, sys.base_prefix, sys.exec_prefix],
    "flags": str(sys.flags),
    "cwd": os.getcwd(),
    "umask": os.umask(0o022),
    "locale": [locale.setlocale(locale.LC_ALL), locale.getpreferredencoding(),
               sys.getfilesystemencoding(), sys.stdout.encoding, sys.stdout.errors,
               sys.stdin.encoding, sys.stdout.line_buffering, sys.stdout.write_through],
    "timezone": [time.tzname, time.timezone],
    "limits": {number: resource.getrlimit(number) for number in range(16)},
    "ids": [os.getresuid(), os.getresgid(), os.getgroups()],
    "process": [os.getpid(), os.getppid(), os.getpgrp(), os.getsid(0)],
    "nice": os.getpriority(os.PRIO_PROCESS, 0),
    "affinity": len(os.sched_getaffinity(0)),
    "policy": os.sched_getscheduler(0),
    "uname": [os.uname().nodename, os.uname().sysname],
    "clocks": [time.clock_gettime(time.CLOCK_MONOTONIC) < 10, time.clock_gettime(7) < 10,
               time.process_time() < 5],
    "status": status(),
    "prctl": prctls(),
    "files of its own": {name: read(f"/proc/self/{name}") for name in (
        "comm", "oom_score_adj", "coredump_filter", "loginuid", "sessionid", "timerslack_ns",
        "personality", "setgroups", "uid_map", "gid_map", "cgroup", "limits")},
    "threads": [thread.name for thread in threading.enumerate()] + os.listdir("/proc/self/task"),
    "native id": threading.get_native_id() == threading.main_thread().native_id == os.getpid(),
    "recursion": sys.getrecursionlimit(),
    "switch": sys.getswitchinterval(),
    "path": sys.path,
    "main": sorted(name for name in vars(sys.modules["__main__"]) if name.startswith("__")),
    "exe": os.readlink("/proc/self/exe"),
    "layout": len(read("/proc/self/maps").splitlines()),
}
print(json.dumps(facts))
