# SPDX-License-Identifier: Apache-2.0
"""V7: every call of brig, its init and the payload process before exec is made to fail once.

`inject.c` makes exactly one call of one process return an error. Whatever fails, the program
either does not start, and brig says what failed, or it starts with every wall around it; nothing
hangs and nothing is left behind. The policy used may miss no layer that the host has, so "without
it" is never a way out; files, a directory and a limit are handed in, so that every kind of step is
in the plan.
"""

import collections
import concurrent.futures
import ctypes
import errno
import json
import os
import pathlib
import re
import subprocess

import pytest

BRIG = os.environ.get("BRIG", "build/brig")
HERE = pathlib.Path(__file__).parent
ROOT = os.geteuid() == 0
ERRORS = ["EPERM", "ENOMEM", "EINTR", "ENOSYS"]
NAMESPACES = ["user", "pid", "mnt", "net", "ipc", "uts", "cgroup", "time"]
LANDLOCK_CREATE_RULESET = 444
LANDLOCK_ABI_IOCTL = 5
WORKERS = 2

Outcome = collections.namedtuple("Outcome", "stdout stderr report status")


def compile_c(source, target, *flags):
    words = ["gcc", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", *flags]
    subprocess.run([*words, "-o", target, source], check=True)


def call_names():
    """System calls by number, as the headers have them."""
    text = subprocess.run(["gcc", "-E", "-dM", "-include", "asm/unistd.h", "-x", "c", "/dev/null"],
                          capture_output=True, text=True, check=True).stdout
    return {int(n): name for name, n in re.findall(r"#define __NR_(\w+) (\d+)\n", text)}


def landlock_abi():
    return ctypes.CDLL(None).syscall(LANDLOCK_CREATE_RULESET, None, 0, 1)


class Sweep:
    def __init__(self, place):
        self.place = place
        self.names = call_names()
        compile_c(HERE / "sealed.c", place / "sealed", "-static")
        compile_c(HERE / "inject.c", place / "inject")
        (place / "data").write_text("input\n")
        (place / "shared").mkdir()
        self.write_policy()
        walls = [f"{name}={os.readlink('/proc/self/ns/' + name)}" for name in NAMESPACES]
        if landlock_abi() >= LANDLOCK_ABI_IOCTL:
            walls.append("landlock")
        self.command = [os.path.abspath(BRIG), "run", "--json", "--config", place / "config",
                        "--policy", "whole", "--timeout", "20s", "--in", f"data={place}/data",
                        "--rw", place / "shared", "--", place / "sealed", *walls]
        self.env = dict(os.environ) if ROOT else {**os.environ, "BRIG_NO_CGROUP": "1"}

    def write_policy(self):
        policies = self.place / "config" / "policies"
        policies.mkdir(parents=True)
        missing = [] if ROOT else ["uidrange", "cgroup-memory", "cgroup-pids", "cgroup-cpu"]
        policy = policies / "whole.json"
        policy.write_text(json.dumps({"extends": "default", "may_miss": missing}))
        policy.chmod(0o600)

    def run(self, role, index, error):
        report = self.place / f"report-{role}-{index}-{error}"
        words = [self.place / "inject", report, role, index, error, *self.command]
        done = subprocess.run([str(w) for w in words], capture_output=True, text=True,
                              env=self.env, timeout=60, stdin=subprocess.DEVNULL, check=True)
        text = report.read_text()
        report.unlink()
        lines = [line.split() for line in text.splitlines()]
        return Outcome(done.stdout, done.stderr, lines, int(lines[-1][1], 16))

    def calls(self):
        """(role, index, name) of every call, from brig's own first to the program's start."""
        whole = self.run(-1, 0, 0)
        assert whole.status == 0 and "SEALED" in whole.stdout and "HALF" not in whole.stdout, whole
        found = [(int(role), int(index), self.names[int(number)])
                 for word, role, index, number in
                 (line for line in whole.report if line[0] == "call")]
        # The C library's own start is not brig's; it ends with the protection of its tables.
        start = next(i for role, i, name in found if role == 0 and name == "mprotect")
        return [call for call in found if call[0] != 0 or call[1] > start]

    def judge(self, call, error):
        """None, or what is wrong with the run in which this call failed."""
        role, index, name = call
        outcome = self.run(role, index, getattr(errno, error))
        wrong = verdict(outcome)
        return wrong and f"{name} (process {role}, call {index}) {error}: {wrong}\n{outcome}"


def verdict(outcome):
    left = [line for line in outcome.report if line[0] in ("hung", "left")]
    if left:
        return f"processes hang or are left (role, call): {left}"
    if outcome.status & 0x7F:
        return f"brig died of signal {outcome.status & 0x7F}"
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


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    return Sweep(tmp_path_factory.mktemp("fault"))


def stale_groups():
    """Control groups of brigs that live no more: the name holds the owner's pid."""
    found = set()
    for path, _, _ in os.walk("/sys/fs/cgroup"):
        match = re.match(r"brig-(\d+)-", os.path.basename(path))
        if match and not os.path.exists(f"/proc/{match[1]}"):
            found.add(path)
    return found


def test_V7_sealed_program_can_fail(sweep):
    """The control: outside a cell the same program finds its holes."""
    done = subprocess.run([sweep.place / "sealed"], capture_output=True, text=True)
    assert "HALF-SEALED" in done.stdout and done.stdout.count("HOLE") > 15


def test_V7_injection_hits(sweep):
    """The control: the call that is told to fail does, and brig names the step."""
    role, index, _ = next(call for call in sweep.calls() if call[2] == "pivot_root")
    outcome = sweep.run(role, index, errno.EPERM)
    assert outcome.report[0][0] == "injected"
    assert sweep.names[int(outcome.report[0][1])] == "pivot_root"
    assert json.loads(outcome.stdout)["error"]["step"] == "mount.pivot"


@pytest.mark.parametrize("error", ERRORS)
def test_V7_every_call_fails_once(sweep, error):
    before = stale_groups()
    calls = sweep.calls()
    assert len(calls) > 500
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        wrong = [w for w in pool.map(lambda call: sweep.judge(call, error), calls) if w]
    assert not wrong, f"{len(wrong)} of {len(calls)}:\n" + "\n".join(wrong[:20])
    # The next start is the recovery from whatever a failed clean-up has left.
    subprocess.run([str(w) for w in sweep.command], env=sweep.env, check=True, timeout=30,
                   stdout=subprocess.DEVNULL)
    assert not ROOT or not stale_groups() - before
