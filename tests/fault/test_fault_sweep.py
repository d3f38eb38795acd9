# SPDX-License-Identifier: Apache-2.0
"""V7: every call of brig, its init and the payload process before exec is made to fail once.

`inject.c` makes exactly one call of one process return an error. For every failure, the program
either does not start, and brig reports what failed, or it starts with every wall around it; nothing
hangs and nothing is left behind. The policy used may miss no layer that the host has, so "without
it" is never a way out; files, a directory and a limit are given, so that every kind of step is in
the plan.
"""

import concurrent.futures
import errno
import json
import subprocess

import pytest
from own import lasting
from sweep import ROOT, Place, Sweep, stale_groups, walls

ERRORS = ["EPERM", "ENOMEM", "EINTR", "ENOSYS"]
WORKERS = 2
# root's build cache belongs to the host: in a mount namespace of its own each run finds it empty.
EMPTY_CACHE = ["unshare", "--mount", "--propagation", "private", "sh", "-ec",
               'mount -t tmpfs none /var/cache; exec "$@"', "sh"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return Place(tmp_path_factory.mktemp("fault"))


@pytest.fixture(scope="module")
def sweep(place):
    here = place.place
    return Sweep(place, ["--policy", "whole", "--timeout", "20s", "--in", f"data={here}/data",
                         "--rw", here / "shared", "--", here / "sealed", *walls()], 500)


@pytest.fixture(scope="module")
def compiling(place):
    """The first half of the processes: the program's cell is the same as in the other sweep."""
    words = ["--policy", "whole", "--timeout", "20s", place.place / "sealed.self", "--", *walls()]
    return Sweep(place, words, 600, roles=0.5, before=EMPTY_CACHE if ROOT else ())


@pytest.fixture(scope="module")
def local(place):
    here = place.place
    return Sweep(place, ["--policy", "open", "--yes", "--timeout", "20s", "--open-files", "256",
                         "--file-size", "64M", "--cpu-time", "30s", "--in", f"data={here}/data",
                         "--", here / "sealed", "local"], 150)


def test_V7_sealed_program_can_fail(place):
    """The control: outside a cell the same program finds its holes."""
    for words, least in (([], 15), (["local"], 3)):
        done = subprocess.run([place.place / "sealed", *words], capture_output=True, text=True)
        assert "HALF-SEALED" in done.stdout and done.stdout.count("HOLE") > least


def test_V7_injection_hits(sweep):
    """The control: the selected call fails, and brig names the step."""
    role, index, _ = next(call for call in sweep.calls() if call[2] == "pivot_root")
    outcome = sweep.run(role, index, errno.EPERM)
    assert outcome.report[0][0] == "injected"
    assert sweep.names[int(outcome.report[0][1])] == "pivot_root"
    assert json.loads(outcome.stdout)["error"]["step"] == "mount.pivot"


def fail_each(sweep, pairs):
    """Every (call, error), each in a run of its own."""
    before = stale_groups()
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        wrong = [w for w in pool.map(lambda pair: sweep.judge(*pair), pairs) if w]
    assert not wrong, f"{len(wrong)} of {len(pairs)}:\n" + "\n".join(wrong[:20])

    # The next start recovers from everything that a failed clean-up has left.
    def recover():
        subprocess.run([str(w) for w in sweep.command], env=sweep.env, check=True, timeout=30,
                       stdout=subprocess.DEVNULL)

    recover()
    assert not ROOT or not lasting(30, lambda: stale_groups() - before, between=recover)


@pytest.mark.parametrize("error", ERRORS)
def test_V7_every_call_fails_once(sweep, error):
    fail_each(sweep, [(call, error) for call in sweep.calls()])


def in_turn(calls):
    """One error for each call: the sweep above covers the other errors."""
    return [(call, ERRORS[i % len(ERRORS)]) for i, call in enumerate(calls)]


def test_V7_compiler(compiling):
    """No compiler outside its walls ever makes a program."""
    fail_each(compiling, in_turn(compiling.calls()))


def test_V7_local(local):
    fail_each(local, in_turn(local.calls()))
