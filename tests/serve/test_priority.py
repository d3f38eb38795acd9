# SPDX-License-Identifier: Apache-2.0
"""Priority of the processor: the roles come before the cells that they serve."""

import contextlib
import os
import time
from pathlib import Path

import pytest

from conftest import wait_for

RESET_ON_FORK = 0x40000000
LOOK = "import os; print(os.getpriority(0, 0), os.sched_getscheduler(0))"


def groups_of(pid):
    """controller -> path"""
    found = {}
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        found.update({name: path for name in names.split(",")})
    return found


def test_roles_have_slices_and_programs_do_not(make_server):
    server = make_server().start()
    for pid in server.roles().values():
        assert os.sched_getscheduler(pid) == os.SCHED_OTHER | RESET_ON_FORK
    for start in ("cold", "warm", "auto"):
        answer = server.request("POST", "/v1/execute", {"code": LOOK, "start": start}).json()
        assert answer["stdout"] == "0 0\n", answer


@pytest.mark.root
def test_the_warden_is_not_among_its_cells(make_server):
    """For the scheduler it was one of them: thirty spinning programs left it a thirtieth."""
    server = make_server().start()
    warden = server.roles()["warden"]
    groups = groups_of(warden)
    own = groups.get("pids") or groups[""]
    if "pids" in groups:
        # In a pid namespace of its own the name has the namespace's number behind it.
        assert "-warden" in own.rpartition("/")[2]
        assert "-warden" not in groups["cpu"].rpartition("/")[2]
    else:
        leaf = Path("/sys/fs/cgroup" + own)
        assert leaf.name == "brig-supervisor"
        assert (leaf / "cpu.weight").read_text() == "10000\n"


def weights_of(server):
    """A function that returns the weights of all cells now; and the weight of the oldest."""
    groups = groups_of(server.roles()["warden"])
    if "pids" in groups:
        name = groups["pids"].rpartition("/")[2]
        cells, file, old = Path("/sys/fs/cgroup/cpu" + groups["cpu"]) / name, "cpu.shares", "40\n"
    else:
        cells, file, old = Path("/sys/fs/cgroup" + groups[""]).parent, "cpu.weight", "4\n"

    def weights():
        found = set()
        for path in cells.glob("brig-*/" + file):
            with contextlib.suppress(OSError):  # it has just ended
                found.add(path.read_text())
        return found

    return weights, old


@pytest.mark.root
def test_a_long_run_makes_way(make_server):
    """The weight of its group decreases with the processor time that it has used; its own is not
    shown."""
    server = make_server().start()
    weights, old = weights_of(server)
    made = server.request("POST", "/v1/executions", {"code": "while True: pass"}).json()
    wait_for(lambda: old in weights(), 60, "it has become old")
    server.request("DELETE", "/v1/executions/" + made["id"])


@pytest.mark.root
@pytest.mark.parametrize("start", ["cold", "warm"])
def test_what_a_tenant_has_used_makes_its_next_run_older(make_server, start):
    """A tenant with many short runs was always new. A run that sleeps does not age by itself."""
    server = make_server().start()
    weights, old = weights_of(server)
    sleep = {"code": "import time; time.sleep(60)", "start": start}
    burn = {"code": "import time\nwhile time.process_time() < 1.5: pass", "timeout_ms": 60000}

    def is_old():
        made = server.request("POST", "/v1/executions", sleep).json()["id"]
        wait_for(lambda: server.request("GET", "/v1/executions/" + made).json()["status"] == "running",
                 60, "it runs")
        seen = [old in weights() for _ in range(10) if time.sleep(0.02) is None]
        server.request("DELETE", "/v1/executions/" + made)
        return any(seen)

    assert not is_old()
    for _ in range(10):  # alone it recovers in a second: a busy host may be slower
        assert server.request("POST", "/v1/execute", burn).json()["status"] == "ok"
        if is_old():
            return
    pytest.fail("it is young in spite of all")
