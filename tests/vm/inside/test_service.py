# SPDX-License-Identifier: Apache-2.0
"""Every kind of request, by every way to run the service on a systemd host."""

import json
import os
import subprocess

import pytest
from service import AS, BRIG, GROUPS, IS_ROOT, Shell, Unit, groups, read, wait_for

LIMITED = ("memory", "processes", "cpu", "cpu_time")
# Where the user of the tests is already in a delegated scope, that is the way to be tested.
WAYS = {"root": ("unit", "shell"), "user": ("unit", "shell", "scope"),
        "user-delegated": ("shell",)}[AS]
SHELL_MEANS = "systemd-scope" if AS == "user" else "cgroup2"
C_CODE = "#include <stdio.h>\nint main(void) { puts(\"built\"); }\n"


def make(way):
    if way == "unit":
        return Unit()
    if way == "shell":
        return Shell(means=SHELL_MEANS)
    return Shell(["systemd-run", "--user", "--scope", "--quiet", "-p", "Delegate=yes"])


@pytest.fixture(scope="module", params=WAYS)
def service(request):
    """Started once for each way. In the end it stops cleanly, and leaves no group."""
    one = make(request.param).start()
    yield one
    complaints = one.complaints() if IS_ROOT or request.param != "unit" else []
    one.stop()
    one.close()
    assert complaints == []


@pytest.fixture(scope="module")
def alone():
    """The same user's `brig run`."""
    done = subprocess.run([BRIG, "run", "--json", "-c", "print(1)"], capture_output=True,
                          check=True, timeout=60)
    return json.loads(done.stdout)


def check_walls(service, result, alone):
    assert result["layers"] == alone["layers"], result
    assert {result["means"][limit] for limit in LIMITED} == {service.means}, result


def test_a_run_has_every_wall(service, alone):
    result = service.run("print(open('/proc/self/cgroup').read())", start="cold")
    assert (result["status"], result["stdout"]) == ("ok", "0::/\n\n"), result
    check_walls(service, result, alone)


def test_a_warm_cell_has_every_wall(service, alone):
    def warm():
        result = service.run("print(open('/proc/self/cgroup').read())")
        assert (result["status"], result["stdout"]) == ("ok", "0::/\n\n"), result
        check_walls(service, result, alone)
        return result["start"] == "warm"

    wait_for(warm, "a warm start")


def test_memory_limit(service):
    result = service.run("x = bytearray(200 << 20); print('too much')",
                         limits={"memory_bytes": 64 << 20})
    assert (result["status"], result["stdout"]) == ("memory_limit", ""), result


def test_process_limit(service):
    code = "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass"
    result = service.run(code, limits={"processes": 16})
    assert result["status"] == "process_limit", result


def test_cpu_time(service):
    result = service.run("while True: pass", limits={"cpu_ms": 1000, "wall_ms": 60000})
    assert result["status"] == "cpu_limit", result
    assert 1000 <= result["usage"]["cpu_ms"] < 3000


def test_a_program_is_built_once(service, alone):
    first, second = (service.run(C_CODE, "c") for _ in range(2))
    for result in (first, second):
        assert (result["status"], result["stdout"]) == ("ok", "built\n"), result
        check_walls(service, result, alone)
    assert second["build_cached"]


def test_a_session(service, alone):
    status, session = service.ask("POST", "/v1/sessions", {"language": "python"})
    assert status == 201, session
    place = f"/v1/sessions/{session['id']}"
    for code, output in (("x = 41", ""), ("print(x + 1)", "42\n")):
        status, result = service.ask("POST", f"{place}/execute", {"code": code})
        assert (status, result["status"], result["stdout"]) == (200, "ok", output), result
        check_walls(service, result, alone)
    # Its group exists as long as the session.
    before = groups()
    assert service.ask("DELETE", place)[0] == 204
    wait_for(lambda: set(before) - set(groups()), "the session's group is gone")


def test_where_the_groups_are(service):
    """In the service's own group, in the scope, in /sys/fs/cgroup/brig, or beside it."""
    status, answer = service.ask("POST", "/v1/executions", {
        "language": "python", "code": "import time; time.sleep(60)",
        "limits": {"memory_bytes": 99 << 20, "wall_ms": 60000}})
    assert status == 202, answer

    def mine():
        return next((group for group in groups()
                     if read(group / "memory.max").strip() == str(99 << 20)), None)

    group = wait_for(mine, "a group with the run's limit")
    wait_for(lambda: read(group / "cgroup.procs"), "processes in it")
    if isinstance(service, Unit):
        assert service.group in group.parents
    elif IS_ROOT:
        assert GROUPS / "brig" in group.parents
    if IS_ROOT:
        check_delegation(service, group.parent)
    assert service.ask("DELETE", f"/v1/executions/{answer['id']}")[0] in (200, 202, 204)
    wait_for(lambda: not group.exists(), "the run's group is gone")


def check_delegation(service, group):
    """The warden may make groups in it and move processes, but lift no limit of its own."""
    assert group.name.endswith("-warden")
    warden = service.roles()["warden"]
    owner = os.stat(f"/proc/{warden}").st_uid
    assert owner != 0
    theirs = {path.name for path in group.iterdir() if path.is_file()
              and path.stat().st_uid == owner}
    assert theirs == {"cgroup.procs", "cgroup.subtree_control", "cgroup.threads"}
    assert group.stat().st_uid == owner
    assert f"{group.name}/brig-supervisor" in open(f"/proc/{warden}/cgroup").read()


def test_many_at_once(service):
    ids = [service.ask("POST", "/v1/executions", {"code": f"print({n})"})[1]["id"]
           for n in range(6)]

    def ended(one):
        status, record = service.ask("GET", f"/v1/executions/{one}")
        assert status == 200, record
        return record if record["status"] not in ("queued", "running") else None

    for number, one in enumerate(ids):
        record = wait_for(lambda one=one: ended(one), f"run {number}")
        assert record["status"] == "ok", record
