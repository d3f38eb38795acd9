# SPDX-License-Identifier: Apache-2.0
"""Bytes that wait in sockets: how much of the host's memory a cell of 64 MB uses by them.

The guest does nothing else, so the change of free memory is the cell's.
"""

import subprocess
import sys
import time

import pytest
from runs import WITHOUT_GROUP, finish, nothing_left, start  # noqa: F401
from service import TREE

HOSTILE = TREE / "tests/programs/hostile/socket_buffers.py"
LIMIT_MIB = 64
GOAL_MIB = 200
SLACK_MIB = 40  # brig and the cell's programs


def available_mib():
    with open("/proc/meminfo", encoding="ascii") as file:
        words = next(line for line in file if line.startswith("MemAvailable")).split()
    return int(words[1]) >> 10


def taken_while(process, before):
    """The maximum of the host's memory that was used while it ran, in MiB."""
    least = before
    while process.poll() is None:
        least = min(least, available_mib())
        time.sleep(0.02)
    return before - least


def attack(kind, env):
    before = available_mib()
    process = start("--memory", f"{LIMIT_MIB}M", "--timeout", "100s", HOSTILE, "--", kind, "8",
                    str(GOAL_MIB), env=env)
    return taken_while(process, before), finish(process)


def test_the_measure_sees_what_the_attack_takes_outside_of_a_cell():
    before = available_mib()
    process = subprocess.Popen([sys.executable, HOSTILE, "netlink", "8", str(GOAL_MIB)],
                               stdout=subprocess.DEVNULL)
    assert taken_while(process, before) > LIMIT_MIB + SLACK_MIB
    assert process.returncode == 0


@pytest.mark.parametrize("env", [None, WITHOUT_GROUP], ids=["group", "no-group"])
@pytest.mark.parametrize("kind", ["udp", "tcp", "unix-stream", "unix-dgram"])
def test_what_waits_counts_as_memory(kind, env):
    taken, result = attack(kind, env)
    assert taken <= LIMIT_MIB + SLACK_MIB
    assert (result["status"], result["verdict"]["limit"]) == ("memory_limit", LIMIT_MIB << 20)


@pytest.mark.parametrize("env", [None, WITHOUT_GROUP], ids=["group", "no-group"])
def test_netlink_which_is_charged_to_nobody_is_refused(env):
    taken, result = attack("netlink", env)
    assert taken <= SLACK_MIB
    assert (result["status"], result["stdout"].splitlines()[-1]) == ("ok", "netlink=0"), result
    assert "refused=Address family not supported by protocol" in result["stdout"]
