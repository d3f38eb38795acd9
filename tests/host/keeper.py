# SPDX-License-Identifier: Apache-2.0
"""Keeps one daemon and everything that it starts: a program for daemons.py.

It is no descendant of the tests, so that these count the daemon's processes neither as their own
nor as brig's. It adopts what the daemon leaves alone. Its standard input is the tests': "kill" ends
the daemon with SIGKILL, "start" starts it again, and at the end of file (the tests ended, by
themselves or not) every process below is ended, the groups of these are removed, and it ends.
The mounts are in a namespace of its own, and end with it.
"""

import ctypes
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import time

CLONE_NEWNS = 0x20000
MS_BIND, MS_REC, MS_PRIVATE, MS_MOVE = 0x1000, 0x4000, 1 << 18, 0x2000
PR_SET_CHILD_SUBREAPER = 36
GROUPS = pathlib.Path("/sys/fs/cgroup")
SECONDS = 20  # for an end in order, and again for the rest
libc = ctypes.CDLL(None, use_errno=True)


def call(name, *words):
    if getattr(libc, name)(*words) < 0:
        raise OSError(ctypes.get_errno(), f"{name} {words}")


def mount(source, target, kind, flags, data=None):
    words = [word if word is None else str(word).encode() for word in (source, target, kind)]
    call("mount", *words, ctypes.c_ulong(flags), data and data.encode())


def own_view(place):
    """A directory with the entries of the host's; new ones are the daemon's alone."""
    new = pathlib.Path("/mnt")
    mount("tmpfs", new, "tmpfs", 0, "mode=755,size=64m")
    for entry in pathlib.Path(place).iterdir():
        if entry.is_symlink():
            (new / entry.name).symlink_to(os.readlink(entry))
        elif entry.is_dir():
            (new / entry.name).mkdir()
            mount(entry, new / entry.name, None, MS_BIND | MS_REC)
    mount(new, place, None, MS_MOVE)


def set_up(order):
    if os.geteuid() == 0:
        call("unshare", CLONE_NEWNS)
        mount(None, "/", None, MS_REC | MS_PRIVATE)
        for place in order["views"]:
            own_view(place)
        for place, size in order["tmpfs"].items():
            mount("tmpfs", place, "tmpfs", 0, f"mode=711,size={size}")
        for place in order["empty"]:
            if os.path.isdir(place):
                # crun makes directories and files there, some for each container.
                mount("tmpfs", place, "tmpfs", 0, "mode=755,size=64m,nr_inodes=65536")
    call("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def below():
    """Processes that this one has started or adopted, with those that wait to be reaped."""
    children = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                stat = pathlib.Path(entry.path, "stat").read_bytes()
            except OSError:
                continue
            parent = int(stat.rpartition(b")")[2].split()[1])
            children.setdefault(parent, []).append(int(entry.name))
    found, queue = [], [os.getpid()]
    while queue:
        new = children.get(queue.pop(), [])
        found += new
        queue += new
    return found


def groups_of(pids):
    """The control groups of these processes that are not ours too."""
    own = set(pathlib.Path("/proc/self/cgroup").read_text().splitlines())
    found = set()
    for pid in pids:
        try:
            lines = pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines()
        except OSError:
            continue
        found.update(line for line in lines if line not in own)
    return found


def remove_groups(lines, parents):
    """With those above that are empty now, and of the daemon."""
    for line in lines:
        _, names, path = line.split(":", 2)
        for tree in {*names.split(","), "unified", ""}:
            place = GROUPS / tree.removeprefix("name=") / path.strip("/")
            remove_upwards(place)
    for parent in parents:
        for place in [*GROUPS.glob(f"*/{parent}"), *GROUPS.glob(parent)]:
            for directory, _, _ in os.walk(place, topdown=False):
                remove_upwards(pathlib.Path(directory), only_this=True)


def remove_upwards(place, only_this=False):
    try:
        while place not in (GROUPS, *GROUPS.iterdir(), GROUPS.parent):
            place.rmdir()
            if only_this:
                return
            place = place.parent
    except OSError:
        pass


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def signal_to(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def wait_until(condition):
    deadline = time.monotonic() + SECONDS
    while not condition() and time.monotonic() < deadline:
        reap()
        time.sleep(0.02)


class Daemon:
    def __init__(self, order):
        self.order, self.pid, self.groups = order, 0, set()

    def start(self):
        with open(self.order["log"], "ab") as log:
            # pylint: disable=consider-using-with
            self.pid = subprocess.Popen(self.order["command"], stdin=subprocess.DEVNULL, stdout=log,
                                        stderr=log, env=self.order["env"], start_new_session=True,
                                        cwd=os.path.dirname(self.order["log"])).pid

    def has_ended(self):
        return not os.path.exists(f"/proc/{self.pid}")

    def kill(self):
        """The daemon and its other processes of the same name: a rootless one has two."""
        name = os.path.basename(self.order["command"][0]).encode()
        for pid in below():
            try:
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if os.path.basename(words[0]) == name:
                signal_to(pid, signal.SIGKILL)
        wait_until(self.has_ended)

    def end(self):
        self.groups |= groups_of(below())
        signal_to(self.pid, signal.SIGTERM)
        wait_until(self.has_ended)
        self.groups |= groups_of(below())

        def end_rest():
            for pid in below():
                signal_to(pid, signal.SIGKILL)
            reap()
            return not below()

        wait_until(end_rest)
        remove_groups(self.groups, self.order["groups"])


def main():
    order = json.loads(sys.argv[1])
    if os.fork() > 0:
        os._exit(0)  # what follows has no parent among the tests
    os.setsid()
    set_up(order)
    daemon = Daemon(order)
    daemon.start()
    print("started", flush=True)
    answers = {b"kill": daemon.kill, b"start": daemon.start}
    try:
        while True:
            ready, _, _ = select.select([0], [], [], 0.2)
            reap()
            words = os.read(0, 100).split() if ready else None
            if words == []:
                break
            for word in words or []:
                answers[word]()
                print("done", flush=True)
    finally:
        daemon.end()


if __name__ == "__main__":
    main()
