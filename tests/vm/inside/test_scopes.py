# SPDX-License-Identifier: Apache-2.0
"""Groups under attack from the cell, from a neighbour and from the owner of the tree. In every case
a run ends in time, with a verdict, and leaves nothing."""

import contextlib
import os
import pathlib
import signal
import subprocess

import pytest
from runs import AS, GROUPS, cells, finish, nothing_left, run, start  # noqa: F401
from service import PATIENCE_S, Shell, groups, is_alive, wait_for

root = pytest.mark.root
STUBBORN = "import signal, time\nsignal.signal(15, signal.SIG_IGN)\ntime.sleep(100)"
IGNORES_TERM = 1 << 14  # in a process's SigIgn
SLEEP = "import time; time.sleep(100)"
LOOK = """
import ctypes, os
print(open('/proc/self/cgroup').read().strip())
print([line for line in open('/proc/self/mountinfo') if 'cgroup' in line])
print(os.path.exists('/proc/1/cgroup'), os.path.exists('/sys/fs/cgroup'))
libc = ctypes.CDLL(None, use_errno=True)
os.mkdir('/tmp/group')
print(libc.mount(b'group', b'/tmp/group', b'cgroup2', 0, None), ctypes.get_errno())
print(libc.unshare(0x02000000), ctypes.get_errno())
"""


def own_group():
    own = pathlib.Path("/proc/self/cgroup").read_text().strip().removeprefix("0::/")
    return GROUPS / own


def group_above():
    """The group that all cells of this user are in."""
    if AS == "root":
        return GROUPS / "brig"
    if AS == "user":
        user = os.geteuid()
        return GROUPS / f"user.slice/user-{user}.slice/user@{user}.service/app.slice"
    own = own_group()
    return own.parent if own.name == "brig-supervisor" else own


def busy_cell():
    """The group of a cell whose program runs: it has a process besides pid 1."""
    def find():
        for group in cells():
            try:
                if len((group / "cgroup.procs").read_text().split()) > 1:
                    return group
            except OSError:
                continue
        return None

    return wait_for(find, "a cell")


def ignored_signals(pid):
    """From /proc; none of a process that is gone."""
    with contextlib.suppress(OSError):
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("SigIgn:"):
                return int(line.split()[1], 16)
    return 0


def stubborn_cell():
    """The group of a cell whose program ignores SIGTERM by now."""
    group = busy_cell()

    def ignores():
        pids = (group / "cgroup.procs").read_text().split()
        return any(ignored_signals(pid) & IGNORES_TERM for pid in pids)

    wait_for(ignores, "a program that ignores SIGTERM")
    return group


# --- from the cell ------------------------------------------------------------------------------


def test_a_program_sees_and_mounts_no_group():
    result = run("-c", LOOK)
    assert result["stdout"].splitlines() == ["0::/", "[]", "False False", "-1 1", "-1 1"], result


@pytest.mark.parametrize("option", ["--ro", "--rw"])
def test_no_group_is_ever_mounted(option):
    for path in (GROUPS, own_group()):
        assert "never mounted" in run(option, path, "-c", "1")["error"]["message"]


# --- from beside it -----------------------------------------------------------------------------


def test_a_cell_that_another_killed():
    """As systemd-oomd does it: all of the group at once."""
    process = start("--timeout", "100s", "-c", STUBBORN)
    (stubborn_cell() / "cgroup.kill").write_text("1")
    result = finish(process)
    assert (result["status"], result["verdict"]["cause"]) == ("error", "vanished"), result


if AS == "user":

    @pytest.mark.parametrize("order", [("stop", "--no-block"), ("freeze",)], ids=["stop", "freeze"])
    def test_a_scope_that_was_stopped_or_frozen_ends_in_time(order):
        process = start("--timeout", "10s", "-c", STUBBORN)
        subprocess.run(["systemctl", "--user", *order, stubborn_cell().name], check=True)
        result = finish(process)
        assert result["status"] == "timeout", result
        assert result["usage"]["wall_ms"] < 15000

    def test_limits_stay_when_systemd_starts_anew():
        process = start("--memory", "99M", "--timeout", "10s", "-c", SLEEP)
        group = busy_cell()
        for order in ("daemon-reload", "daemon-reexec"):
            subprocess.run(["systemctl", "--user", order], check=True)
        assert (group / "memory.max").read_text() == f"{99 << 20}\n"
        assert finish(process)["status"] == "timeout"

    def test_in_a_pid_namespace_systemd_is_not_asked():
        """It would take our pid for another process, and move that."""
        result = run("-c", "print(1)", prefix=["unshare", "-U", "-c", "-p", "-f", "--mount-proc"])
        assert (result["status"], result["stdout"]) == ("ok", "1\n"), result
        assert "cgroup-memory" not in result["layers"]


# --- from above ---------------------------------------------------------------------------------


@pytest.fixture
def above():
    """above(file, more): the limit of the group above is its present usage, and this."""
    keeper = start("--timeout", "5m", "-c", "import time; time.sleep(280)")
    busy_cell()
    group = group_above()
    changed = []

    def change(file, more):
        now = {"pids.max": "pids.current"}.get(file, "memory.current")
        changed.append(file)
        (group / file).write_text(str(int((group / now).read_text()) + more))

    yield change
    for file in changed:
        (group / file).write_text("max")
    keeper.kill()
    keeper.communicate()
    assert run("-c", "print(1)")["stdout"] == "1\n"


def test_no_process_is_left_above(above):
    above("pids.max", 2 if AS == "user-delegated" else 0)  # brig itself is in that group
    assert "Resource temporarily unavailable" in run("-c", "print(1)")["error"]["message"]


# In a delegated scope the tests themselves are in that group, and would be killed.
if AS != "user-delegated":

    def test_memory_runs_out_above(above):
        """Not the program's fault: its own limit is far."""
        above("memory.max", 30 << 20)
        result = run("--memory", "200M", "-c", "x = bytearray(100 << 20); print('too much')")
        assert (result["status"], result["verdict"]["cause"]) == ("error", "host_memory"), result

    def test_its_own_limit_is_its_own_fault(above):
        above("memory.max", 200 << 20)
        result = run("--memory", "64M", "-c", "x = bytearray(100 << 20); print('too much')")
        assert result["status"] == "memory_limit", result

    def test_memory_is_throttled_above(above):
        """Throttled processes die as fast as others."""
        above("memory.high", 20 << 20)
        result = run("--memory", "200M", "--timeout", "10s", "-c",
                     f"x = bytearray(100 << 20)\n{SLEEP}")
        assert result["status"] == "timeout", result
        assert result["usage"]["wall_ms"] < 15000


# --- services, sessions -------------------------------------------------------------------------


def begin(service):
    status, answer = service.ask("POST", "/v1/executions",
                                 {"code": SLEEP, "limits": {"wall_ms": 100000}})
    assert status == 202, answer
    place = f"/v1/executions/{answer['id']}"
    wait_for(lambda: service.ask("GET", place)[1]["status"] == "running", "a run")
    return place


def test_two_services_of_one_user():
    """The death of one, with all its roles, does not affect the other, nor does its return."""
    first, second = Shell().start(), Shell().start()
    try:
        begin(first)
        place = begin(second)
        roles = first.roles().values()
        for pid in (first.pid, *roles):  # which may end by themselves when the first is gone
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        first.process.wait(PATIENCE_S)
        wait_for(lambda: not any(is_alive(pid) for pid in roles), "roles gone")
        first.start()
        assert first.run("print(1)")["stdout"] == "1\n"
        assert second.ask("GET", place)[1]["status"] == "running"
        assert second.ask("DELETE", place)[0] in (200, 202, 204)
        first.process.terminate()
        assert first.process.wait(PATIENCE_S) == 0
        second.stop()
        assert groups() == []
    finally:
        first.close()
        second.close()


@root
def test_nothing_is_left_of_a_user_who_was_thrown_out():
    """Processes of a user's session and scopes end with `loginctl terminate-user`."""
    command = ["systemd-run", "--quiet", "--collect", "-p", "User=tester", "-p", "PAMName=login",
               "--", os.environ["BRIG"], "run", "--timeout", "5m", "-c", STUBBORN]
    subprocess.run(command, check=True)
    group = stubborn_cell()
    assert "user@" in str(group)
    pids = [int(pid) for pid in (group / "cgroup.procs").read_text().split()]
    subprocess.run(["loginctl", "terminate-user", "tester"], check=True)
    wait_for(lambda: not any(is_alive(pid) for pid in pids), "the cell's end")
    wait_for(lambda: not group.exists(), "the end of its group")
