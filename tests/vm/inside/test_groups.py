# SPDX-License-Identifier: Apache-2.0
"""Control groups of a real systemd host: the kind that a cell gets, that its limits hold, and its
removal.

Runs in the guest only. BRIG_VM_AS is the user: root, user, or user-delegated (see tests/vm/exec).
The guest is slow: every time here is either a limit under test or a generous bound.
"""

import os
import signal
import subprocess
import time

import pytest
from runs import AS, BRIG, MEANS, cells, finish, means_of, nothing_left, run, start  # noqa: F401

LAYERS = {"cgroup-memory", "cgroup-pids", "cgroup-cpu"}

ALLOCATE = "x = bytearray(200 << 20); print('too much')"
FORK = """
import os, time
made = 0
try:
    for _ in range(40):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        made += 1
except OSError as error:
    print(made, error.errno)
"""
BOMB = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
SPIN = """
import time
begin, used = time.monotonic(), time.process_time()
while time.process_time() - used < 1:
    pass
print(time.monotonic() - begin)
"""


# --- the kind of group --------------------------------------------------------------------------


def test_the_cell_has_a_group_of_the_right_kind():
    result = run("-c", "print(open('/proc/self/cgroup').read().strip())")
    assert result["status"] == "ok", result
    assert result["stdout"] == "0::/\n"
    assert means_of(result) == {MEANS}
    assert LAYERS <= set(result["layers"])


def test_doctor_agrees():
    done = subprocess.run([BRIG, "doctor", "--json"], capture_output=True, text=True, check=False,
                          timeout=120)
    assert done.returncode == 0, done
    assert f'"{MEANS}' in done.stdout
    text = subprocess.run([BRIG, "doctor"], capture_output=True, text=True, check=False,
                          timeout=120).stdout
    assert f"cgroups            {MEANS}" in text


def test_without_groups_the_policy_allows_the_next_best():
    result = run("--memory", "64M", "-c", ALLOCATE, env={"BRIG_NO_CGROUP": "1"})
    assert "too much" not in result["stdout"]
    assert result["status"] in ("memory_limit", "failed")
    assert not LAYERS & set(result["layers"])
    assert result["means"]["memory"] == "watch+rlimit"
    assert result["means"]["processes"] == "rlimit"


def test_a_delegated_scope_around_one_run_is_used():
    user = [] if AS == "root" else ["--user"]
    prefix = ["systemd-run", *user, "--scope", "--quiet", "-p", "Delegate=yes"]
    result = run("--memory", "64M", "-c", ALLOCATE, prefix=prefix)
    assert result["status"] == "memory_limit", result
    assert means_of(result) == {"cgroup2"}


# Root and a delegated scope do not use systemd.
if AS == "user":

    def test_without_a_way_to_systemd_the_run_says_so():
        env = {"XDG_RUNTIME_DIR": "/nonexistent", "DBUS_SESSION_BUS_ADDRESS": ""}
        result = run("-c", "print(1)", env=env)
        assert result["status"] == "ok", result
        assert "systemd-scope" not in means_of(result)
        assert not LAYERS & set(result["layers"])

    def test_the_message_bus_will_do_when_systemds_own_socket_is_out_of_reach(tmp_path):
        bus = os.environ["DBUS_SESSION_BUS_ADDRESS"]
        result = run("-c", "print(1)", env={"XDG_RUNTIME_DIR": str(tmp_path),
                                            "DBUS_SESSION_BUS_ADDRESS": bus})
        assert means_of(result) == {"systemd-scope"}, result


# --- the limits ---------------------------------------------------------------------------------


def test_memory_limit():
    result = run("--memory", "64M", "-c", "print('before', flush=True)\n" + ALLOCATE)
    assert (result["status"], result["stdout"]) == ("memory_limit", "before\n"), result
    verdict = result["verdict"]
    assert (verdict["cause"], verdict["limit"]) == ("memory", 64 << 20)
    assert 60 << 20 <= result["usage"]["memory_peak_bytes"] <= 64 << 20


def test_memory_of_all_processes_together():
    code = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        x = bytearray(20 << 20)
        time.sleep(30)
        os._exit(0)
time.sleep(30)
print('all had theirs')
"""
    result = run("--memory", "80M", "--timeout", "60s", "-c", code)
    assert result["status"] == "memory_limit", result


def test_files_of_the_cell_count_as_memory():
    code = "open('/tmp/f', 'wb').write(bytes(1 << 20) * 120); print('too much')"
    result = run("--memory", "64M", "--disk", "512M", "-c", code)
    assert result["status"] in ("memory_limit", "disk_limit"), result
    assert "too much" not in result["stdout"]


def test_enough_memory_is_enough():
    result = run("--memory", "128M", "-c", "x = bytearray(64 << 20); print(len(x))")
    assert result["status"] == "ok", result
    assert result["usage"]["memory_peak_bytes"] > 64 << 20


def test_process_limit():
    result = run("--processes", "8", "-c", FORK)
    assert (result["status"], result["stdout"]) == ("ok", "7 11\n"), result


def test_a_fork_bomb_is_ended():
    begin = time.monotonic()
    result = run("--processes", "16", "--timeout", "60s", "-c", BOMB)
    assert result["status"] == "process_limit", result
    assert result["usage"]["processes_peak"] >= 16
    assert time.monotonic() - begin < 60


def test_cpu_share():
    result = run("--cpu", "0.25", "--timeout", "60s", "-c", SPIN)
    assert result["status"] == "ok", result
    # One second of work at a quarter of a core.
    assert float(result["stdout"]) > 2.5


def test_cpu_time():
    result = run("--cpu-time", "1s", "--timeout", "60s", "-c", "while True: pass")
    assert (result["status"], result["verdict"]["cause"]) == ("cpu_limit", "cpu_time"), result
    assert 1000 <= result["usage"]["cpu_ms"] < 2000


def test_cpu_time_of_all_processes_together():
    code = "import os\nos.fork(); os.fork()\nwhile True: pass"
    result = run("--cpu-time", "2s", "--timeout", "60s", "-c", code)
    assert result["status"] == "cpu_limit", result
    assert 2000 <= result["usage"]["cpu_ms"] < 4000


# --- neighbours and ends ------------------------------------------------------------------------


def test_many_at_once():
    """Each makes and removes the parent of all groups, or a scope, while others do."""
    runs = [start("--memory", "64M", "-c", f"print({n})") for n in range(8)]
    results = [finish(process) for process in runs]
    assert [result["stdout"] for result in results] == [f"{n}\n" for n in range(8)]
    assert all(means_of(result) == {MEANS} for result in results)


def wait_for_cell():
    end = time.monotonic() + 60
    while not any(path.name.startswith("brig-") for path in cells()):
        assert time.monotonic() < end, "no group was made"
        time.sleep(0.05)


@pytest.mark.parametrize("code", ["import time; time.sleep(60)", BOMB], ids=["sleeping", "forking"])
def test_nothing_is_left_of_a_killed_brig(code):
    process = start("--processes", "16", "--timeout", "60s", "-c", code)
    wait_for_cell()
    time.sleep(2)
    process.kill()
    process.communicate()
    # No process of the cell survives; an empty group is removed by systemd, or by the next run.
    assert run("-c", "print(1)")["stdout"] == "1\n"


def test_kills_at_any_moment():
    for n in range(12):
        process = start("-c", "import time; time.sleep(60)")
        time.sleep(0.15 * n)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert run("-c", "print(1)")["stdout"] == "1\n"


def test_a_terminated_brig_ends_its_cell():
    process = start("--timeout", "60s", "-c", "import time; time.sleep(60)")
    wait_for_cell()
    time.sleep(1)
    process.terminate()
    result = finish(process)
    assert result["status"] == "cancelled", result
