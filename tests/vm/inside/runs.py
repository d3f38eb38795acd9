# SPDX-License-Identifier: Apache-2.0
"""`brig run` in the guest, and its groups in the tree."""

import json
import os
import pathlib
import subprocess
import time

import pytest

BRIG = os.environ["BRIG"]
AS = os.environ["BRIG_VM_AS"]
GROUPS = pathlib.Path("/sys/fs/cgroup")
MEANS = {"root": "cgroup2", "user": "systemd-scope", "user-delegated": "cgroup2"}[AS]
LIMITED = ("memory", "processes", "cpu", "cpu_time")
WITHOUT_GROUP = {"BRIG_NO_CGROUP": "1"}


def start(*words, prefix=(), env=None, **more):
    return subprocess.Popen([*prefix, BRIG, "run", "--json", *words], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, **(env or {})}, **more)


def finish(process):
    out, err = process.communicate(timeout=120)
    assert out, (process.returncode, err)
    return json.loads(out)


def run(*words, **more):
    return finish(start(*words, **more))


def means_of(result):
    return {result["means"][limit] for limit in LIMITED}


def cells():
    """Groups of cells, and the parent of root's, wherever they are in the tree."""
    found = [path for path in GROUPS.rglob("brig*") if path.is_dir()]
    return [path for path in found if path.name != "brig-supervisor"]


def children():
    return pathlib.Path("/proc/self/task").joinpath(str(os.getpid()), "children").read_text()


@pytest.fixture(autouse=True)
def nothing_left():
    """systemd removes a scope a moment after its last process."""
    yield
    end = time.monotonic() + 20
    while cells() and time.monotonic() < end:
        time.sleep(0.1)
    assert cells() == []
    assert children() == ""
