# SPDX-License-Identifier: Apache-2.0
"""V7: every set-up call is made to fail at every one of its occurrences.

strace injects the error. Whatever fails, the program either does not start, and brig says which
step failed, or it starts with every wall around it; nothing hangs and nothing is left behind.
The policy used may miss no layer, so "without it" is never a way out.
"""

import collections
import glob
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

# The calls that build a cell. Reads and closes of brig's own bookkeeping are not set-up.
CALLS = """clone3 clone fork vfork unshare mount umount2 pivot_root fsopen fsconfig fsmount
move_mount open_tree mount_setattr mkdirat symlinkat fchownat fchown openat write chdir fchdir
sethostname setdomainname ioctl socket socketpair pipe2 sendmsg recvmsg setresuid setresgid
setgroups prctl capset landlock_create_ruleset landlock_add_rule landlock_restrict_self seccomp
close_range keyctl setsid dup2 prlimit64 rt_sigprocmask execve epoll_create1 epoll_ctl
timerfd_create timerfd_settime signalfd4 fcntl bind""".split()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("fault")
    subprocess.run(["gcc", "-O1", "-static", "-o", place / "sealed", HERE / "sealed.c"], check=True)
    (place / "config" / "policies").mkdir(parents=True)
    missing = [] if ROOT else ["uidrange", "cgroup-memory", "cgroup-pids", "cgroup-cpu"]
    policy = place / "config" / "policies" / "whole.json"
    policy.write_text(json.dumps({"extends": "default", "may_miss": missing}))
    policy.chmod(0o600)
    return place


def command(place):
    return [BRIG, "run", "--json", "--config", place / "config", "--policy", "whole",
            "--timeout", "20s", "--", place / "sealed"]


def traced(place, options, timeout=60):
    log = place / "trace"
    words = ["strace", "--seccomp-bpf", "-f", "-qq", "-o", log, *options, *command(place)]
    env = {**os.environ, "BRIG_NO_CGROUP": "1"} if not ROOT else dict(os.environ)
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, env=env,
                          timeout=timeout, stdin=subprocess.DEVNULL)
    return done, log.read_text(errors="replace")


def left_behind():
    groups = [path for path in glob.glob("/sys/fs/cgroup/**/brig-[0-9]*", recursive=True)]
    found = subprocess.run(["pgrep", "-x", "sealed"], capture_output=True, text=True).stdout
    return groups + found.split()


def occurrences(place):
    """How often each call is made by the process that makes it most often."""
    done, log = traced(place, ["-e", "trace=" + ",".join("?" + c for c in CALLS)])
    assert "SEALED" in done.stdout and "HALF" not in done.stdout, done
    counts = collections.Counter()
    for line in log.splitlines():
        match = re.match(r"(\d+) +(\w+)\(", line)
        if match:
            counts[match.groups()] += 1
    most = collections.Counter()
    for (_, call), n in counts.items():
        most[call] = max(most[call], n)
    return most


def test_V7_sealed_program_can_fail(place):
    """The control: outside a cell the same program finds its holes."""
    done = subprocess.run([place / "sealed"], capture_output=True, text=True)
    assert "HALF-SEALED" in done.stdout and done.stdout.count("HOLE") > 5


def sweep(place, error):
    bad = []
    tried = 0
    for call, most in sorted(occurrences(place).items()):
        for nth in range(1, most + 1):
            tried += 1
            try:
                done, _ = traced(place, ["-e", f"trace={call}",
                                         "-e", f"inject={call}:error={error}:when={nth}"])
            except subprocess.TimeoutExpired:
                bad.append(f"{call} {nth} {error}: hung")
                continue
            if "HALF-SEALED" in done.stdout:
                bad.append(f"{call} {nth} {error}: half-sealed: {done.stdout}")
            elif done.returncode < 0:
                bad.append(f"{call} {nth} {error}: crashed {done.returncode}")
            elif "SEALED" not in done.stdout and not done.stdout + done.stderr:
                bad.append(f"{call} {nth} {error}: no word of what failed")
    return bad, tried


@pytest.mark.parametrize("error", ERRORS)
def test_V7_every_call_fails_once(place, error):
    bad, tried = sweep(place, error)
    assert tried > 100
    assert not bad, "\n".join(bad)
    assert not left_behind()
