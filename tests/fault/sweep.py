# SPDX-License-Identifier: Apache-2.0
"""Runs brig with one call of one of its processes made to fail, and checks the outcome.

Three kinds of runs: a cell, a compiler's cell followed by the program's, and the trusted local
mode. In each the program is `sealed.c`, which checks that every wall is in place.
"""

import collections
import ctypes
import errno
import json
import os
import pathlib
import re
import shutil
import subprocess

from own import stale_group

BRIG = os.environ.get("BRIG", "build/brig")
HERE = pathlib.Path(__file__).parent
ROOT = os.geteuid() == 0
NAMESPACES = ["user", "pid", "mnt", "net", "ipc", "uts", "cgroup", "time"]
LANDLOCK_CREATE_RULESET = 444
LANDLOCK_ABI_IOCTL = 5
LOADER = "/lib64/ld-linux-x86-64.so.2"

Outcome = collections.namedtuple("Outcome", "stdout stderr report status left")


def compile_c(source, target, *flags):
    words = ["gcc", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", *flags]
    subprocess.run([*words, "-o", target, source], check=True)


def call_names():
    """System calls by number, from the headers."""
    text = subprocess.run(["gcc", "-E", "-dM", "-include", "asm/unistd.h", "-x", "c", "/dev/null"],
                          capture_output=True, text=True, check=True).stdout
    return {int(n): name for name, n in re.findall(r"#define __NR_(\w+) (\d+)\n", text)}


def landlock_abi():
    return ctypes.CDLL(None).syscall(LANDLOCK_CREATE_RULESET, None, 0, 1)


def walls():
    """The arguments of `sealed` on this host."""
    found = [f"{name}={os.readlink('/proc/self/ns/' + name)}" for name in NAMESPACES]
    found.append(f"groups={len(os.getgroups()) if os.getuid() else 0}")
    return [*found, "landlock"] if landlock_abi() >= LANDLOCK_ABI_IOCTL else found


class Place:
    """Programs, files and a configuration for the sweeps."""

    def __init__(self, place):
        self.place = place
        self.names = call_names()
        compile_c(HERE / "sealed.c", place / "sealed", "-static")
        compile_c(HERE / "sealed.c", place / "sealed.self")  # the loader starts it: no exec bit
        compile_c(HERE / "inject.c", place / "inject")
        (place / "data").write_text("input\n")
        (place / "shared").mkdir()
        limits = {"cpu_time": "30s", "processes": 64, "open_files": 256, "file_size": "64M"}
        missing = [] if ROOT else ["uidrange", "cgroup-memory", "cgroup-pids", "cgroup-cpu"]
        self.write("policies/whole", {"extends": "default", "may_miss": missing,
                                      "compile": {"limits": limits}})
        # A language whose code is a program, and whose compiler is that program.
        self.write("runtimes/self", {
            "extensions": ["self"], "source": "code.self", "program": [LOADER],
            "compile": {"argv": ["{program}", "{source}", "copy={output}", *walls()],
                        "output": "program"},
            "run": {"argv": ["{output}", "{args}"]}, "closure": ["@libs"]})

    def write(self, name, value):
        file = self.place / "config" / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(value))
        file.chmod(0o600)


class Sweep:
    """One kind of run. At least `least` calls must be found, or the sweep has lost some."""

    def __init__(self, place, options, least, roles=1.0, before=()):
        self.place = place.place
        self.names = place.names
        self.command = [os.path.abspath(BRIG), "run", "--json", "--config",
                        self.place / "config", *options]
        self.least = least
        self.roles = roles  # the fraction of the processes that is checked, by order of birth
        self.before = before  # the command that starts the injector
        self.env = dict(os.environ) if ROOT else {**os.environ, "BRIG_NO_CGROUP": "1"}

    def run(self, role, index, error):
        own = self.place / f"run-{role}-{index}-{error}"
        own.mkdir()
        report = own / "report"
        (own / "tmp").mkdir()
        words = [*self.before, self.place / "inject", report, role, index, error, *self.command]
        env = {**self.env, "TMPDIR": str(own / "tmp"), "XDG_CACHE_HOME": str(own / "cache")}
        done = subprocess.run([str(w) for w in words], capture_output=True, text=True, env=env,
                              timeout=60, stdin=subprocess.DEVNULL, check=True)
        lines = [line.split() for line in report.read_text().splitlines()]
        left = os.listdir(own / "tmp")
        shutil.rmtree(own)
        return Outcome(done.stdout, done.stderr, lines, int(lines[-1][1], 16), left)

    def calls(self):
        """(role, index, name) of every call, from brig's own first to the program's start."""
        whole = self.run(-1, 0, 0)
        assert whole.status == 0 and "SEALED" in whole.stdout and "HALF" not in whole.stdout, whole
        assert whole.left == []
        found = [(int(role), int(index), self.names[int(number)])
                 for word, role, index, number in
                 (line for line in whole.report if line[0] == "call")]
        last = max(role for role, _, _ in found) * self.roles
        # The start of the C library does not belong to brig; it ends with the protection of its
        # tables.
        start = next(i for role, i, name in found if role == 0 and name == "mprotect")
        found = [call for call in found if call[0] <= last and (call[0] or call[1] > start)]
        assert len(found) > self.least
        return found

    def judge(self, call, error):
        """None, or the error of the run in which this call failed."""
        role, index, name = call
        outcome = self.run(role, index, getattr(errno, error))
        # A busy host makes more or fewer calls before this one: the report has the call that
        # failed.
        injected = [self.names[int(line[1])] for line in outcome.report if line[0] == "injected"]
        wrong = verdict(outcome, *injected or [name])
        return wrong and f"{name} (process {role}, call {index}) {error}: {wrong}\n{outcome}"


# Removing a directory is itself made of these; a later run removes the rest.
REMOVAL = {"openat", "unlinkat", "unlink", "rmdir", "getdents64", "newfstatat", "fstat", "fcntl"}


def verdict(outcome, name):
    left = [line for line in outcome.report if line[0] in ("hung", "left")]
    if left:
        return f"processes hang or are left (role, call): {left}"
    if outcome.status & 0x7F:
        return f"brig died of signal {outcome.status & 0x7F}"
    if outcome.left and name not in REMOVAL:
        return f"files are left: {outcome.left}"
    if "HALF-SEALED" in outcome.stdout:
        return "the program started half-sealed"
    if "SEALED" in outcome.stdout:
        return None
    if outcome.status == 0:
        return "success, and no word from the program"
    if not outcome.stdout:
        return None if outcome.stderr.startswith("brig: ") else "no word of what failed"
    answer = json.loads(outcome.stdout)
    if "error" in answer:
        return None if len(answer["error"]["message"]) > 10 else "no word of what failed"
    return None if answer["status"] == "error" else "no result of the program"


def stale_groups():
    """Control groups of brigs that have ended: the name holds the owner's pid."""
    found = set()
    for place in own_groups():
        for path, below, _ in os.walk(place):
            # brig makes its groups in its own group; those below others belong to others.
            below[:] = [name for name in below if name.startswith("brig-")]
            if stale_group(path):
                found.add(path)
    return found


def own_groups():
    """Where this process's groups are: the groups of others on the host do not matter."""
    lines = pathlib.Path("/proc/self/cgroup").read_text().splitlines()
    places = ["/sys/fs/cgroup/" + (controllers and controllers.split(",")[0] + "/") + own.strip("/")
              for _, controllers, own in (line.split(":", 2) for line in lines)]
    return [place for place in places if os.path.isdir(place)] or ["/sys/fs/cgroup"]
