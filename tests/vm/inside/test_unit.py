# SPDX-License-Identifier: Apache-2.0
"""The life of the unit under systemd: started by its socket, watched, reloaded, killed, stopped."""

import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest
from service import GROUPS, PATIENCE_S, ROLES, SLOW, Shell, Unit, groups, is_alive, wait_for

root = pytest.mark.root
CONFIG = pathlib.Path("/etc/brig/serve.json")
SLEEPS = {"language": "python", "code": "import time; time.sleep(60)", "limits": {"wall_ms": 60000}}


@pytest.fixture(scope="module")
def installed():
    """One for all tests, since a start takes many seconds here; a test that needs
    another stops it."""
    one = Unit()
    yield one
    one.close()
    one.check_gone()


@pytest.fixture
def unit(installed):
    yield installed.start()


@pytest.fixture
def changed(installed):
    """changed(Name=value...): the unit, started with settings of the test."""

    def change(**settings):
        installed.control("stop", "brig.service")
        installed.change(**settings)
        return installed.start()

    yield change
    installed.control("stop", "brig.service")
    installed.change()


def serve_with(setting):
    return {"ExecStart": f"\nExecStart={os.environ['BRIG']} serve --set {setting}"}


def works(unit):
    result = unit.run("print(open('/proc/self/cgroup').read())")
    assert (result["status"], result["stdout"]) == ("ok", "0::/\n\n"), result
    assert result["means"]["memory"] == "cgroup2", result
    return result


def begin(unit):
    """A long run."""
    status, answer = unit.ask("POST", "/v1/executions", SLEEPS)
    assert status == 202, answer

    def running():
        return unit.ask("GET", f"/v1/executions/{answer['id']}")[1]["status"] == "running"

    wait_for(running, "a run")


def stale(roles):
    """Groups of these processes: they have their maker's pid in the name."""
    return [group for group in groups()
            for pid in roles.values() if group.name.startswith(f"brig-{pid}-")]


def wait_restarted(unit, restarts):
    wait_for(lambda: int(unit.show("NRestarts")) == restarts + 1
             and unit.show("ActiveState") == "active", "restarted by systemd")


def test_the_first_client_starts_it(installed):
    installed.control("start", "brig.socket")
    assert installed.show("ActiveState") == "inactive"
    works(installed)
    assert installed.show("ActiveState") == "active"
    assert installed.show("StatusText") == "Serving"
    assert sorted(installed.roles()) == sorted(ROLES)


def test_stop_while_cells_run(changed):
    unit = changed(**serve_with("drain_timeout=1s"))
    begin(unit)
    before = [unit.pid, *unit.roles().values()]
    unit.stop()
    assert not any(is_alive(pid) for pid in before)
    assert pathlib.Path(unit.socket).is_socket()


def test_without_the_socket_unit_it_makes_its_own(installed):
    installed.close()
    installed.control("start", "brig.service")
    works(installed)
    installed.stop()
    assert not pathlib.Path(installed.socket).exists()


def test_killed_roles_come_back(unit):
    main, restarts = unit.pid, unit.show("NRestarts")
    for role in ROLES:
        begin(unit)
        before = unit.roles()
        os.kill(before[role], signal.SIGKILL)
        unit.wait_ready(before.values())
        works(unit)  # without a broker the first run removes the remains
        assert not stale(before), role
    assert (unit.pid, unit.show("NRestarts")) == (main, restarts)


def test_reload(unit):
    main, before = unit.pid, unit.roles()
    unit.control("reload", "brig.service")
    unit.wait_ready(before.values())
    wait_for(lambda: unit.show("ActiveState") == "active", "reloaded")
    assert unit.pid == main
    works(unit)
    assert not stale(before)


@root
def test_a_wrong_configuration_is_not_taken(unit):
    CONFIG.parent.mkdir(mode=0o755, exist_ok=True)
    before = unit.roles()
    try:
        CONFIG.write_text('{"answer_timeout": "soon"}')
        unit.control("reload", "brig.service")
        wait_for(lambda: "event=reload-refused" in unit.log(), "refused")
    finally:
        CONFIG.unlink()
    assert unit.roles() == before
    works(unit)


def test_restart(changed):
    unit = changed(**serve_with("drain_timeout=1s"))
    begin(unit)
    main, before = unit.pid, unit.roles()
    unit.control("restart", "brig.service")
    assert unit.pid != main
    works(unit)
    assert not stale(before)


def test_killed_with_all_that_it_has(unit):
    begin(unit)
    main, before, restarts = unit.pid, unit.roles(), int(unit.show("NRestarts"))
    unit.control("kill", "--signal=SIGKILL", "brig.service")
    wait_restarted(unit, restarts)
    works(unit)
    assert unit.pid != main
    assert not stale(before)


def test_a_killed_supervisor_is_started_anew(unit):
    begin(unit)
    main, before, restarts = unit.pid, unit.roles(), int(unit.show("NRestarts"))
    os.kill(main, signal.SIGKILL)
    wait_restarted(unit, restarts)
    works(unit)
    assert not any(is_alive(pid) for pid in before.values())
    assert not stale(before)


def test_roles_that_hang_are_replaced(changed):
    unit = changed(**serve_with(f"answer_timeout={SLOW}s"))
    main, restarts = unit.pid, unit.show("NRestarts")
    for role in ROLES[1::2]:
        before = unit.roles()
        os.kill(before[role], signal.SIGSTOP)
        wait_for(lambda: not is_alive(before[role]), "the end of the one that hangs")
        unit.wait_ready(before.values())
        works(unit)  # without a broker the first run removes the remains
        assert not stale(before), role
    assert (unit.pid, unit.show("NRestarts")) == (main, restarts)


def test_the_watchdog_replaces_a_supervisor_that_hangs(changed):
    unit = changed(WatchdogSec=f"{SLOW + 2}s")
    time.sleep(2 * SLOW)  # one that does not hang is left alone
    main, restarts = unit.pid, int(unit.show("NRestarts"))
    assert restarts == 0
    os.kill(main, signal.SIGSTOP)
    wait_restarted(unit, restarts)
    assert unit.pid != main
    works(unit)


@root
def test_roles_are_sealed_without_exception(changed):
    """This kernel has everything that seal.c needs: nothing is missing, nothing is reported."""
    unit = changed()
    works(unit)
    log = unit.log()
    assert "event=ready" in log
    for word in ("seal-missing", "level=warning", "level=error"):
        assert word not in log, log


@root
def test_where_no_cell_can_be(changed):
    """Debian's switch forbids the inner namespace of cells too: runs are refused by name."""
    switch = pathlib.Path("/proc/sys/kernel/unprivileged_userns_clone")
    try:
        switch.write_text("0")
        unit = changed()
        status, problem = unit.ask("POST", "/v1/execute", {"code": "print(1)"})
        assert (status, problem["code"]) == (503, "host_unable"), problem
        assert "which=own-root" in unit.log(), unit.log()
    finally:
        switch.write_text("1")


@root
def test_a_warden_that_stays_root_needs_no_more(installed):
    """The rights that the unit leaves to root are enough for libbrig itself, with every wall."""
    kept = ("Protect", "Private", "Device", "NoNew", "Delegate")
    bounding = "CapabilityBoundingSet="
    lines = (installed.files / "brig.service").read_text().splitlines()
    # In a file such lines accumulate, in systemd-run the last one counts.
    caps = " ".join(line.removeprefix(bounding) for line in lines if line.startswith(bounding))
    settings = ["-p", bounding + caps]
    settings += [word for line in lines if line.startswith(kept) for word in ("-p", line)]
    assert len(settings) > 12
    run = [os.environ["BRIG"], "run", "--json", "-c", "print(1)"]
    plain, bounded = (
        json.loads(subprocess.run(prefix + run, capture_output=True, check=True).stdout)
        for prefix in ([], ["systemd-run", "--quiet", "--wait", "--pipe", *settings]))
    assert (plain["status"], bounded["status"]) == ("ok", "ok"), bounded
    assert (bounded["layers"], bounded["means"]) == (plain["layers"], plain["means"])


@root
def test_the_unit_is_well_formed_and_strict(installed):
    done = subprocess.run(["systemd-analyze", "verify", installed.files / "brig.service"],
                          capture_output=True, text=True, check=False)
    complaints = [line for line in done.stderr.splitlines() if "brig" in line and "man" not in line]
    assert not complaints, done.stderr
    done = subprocess.run(["systemd-analyze", "security", "--no-pager", "brig.service"],
                          capture_output=True, text=True, check=False)
    assert float(re.search(r"exposure level.*: ([0-9.]+)", done.stdout)[1]) < 7.5


@root
def test_a_shell_whose_every_process_was_killed(installed):
    """No systemd cleans up after it: the next start does."""
    installed.control("stop", "brig.service")
    first, second = Shell().start(), None
    try:
        begin(first)
        roles = first.roles()
        for pid in (*roles.values(), first.pid):
            os.kill(pid, signal.SIGKILL)
        first.process.wait(PATIENCE_S)
        wait_for(lambda: not any(is_alive(pid) for pid in roles.values()), "roles gone")
        assert stale(roles) and (GROUPS / "brig").exists()
        second = Shell().start()
        works(second)
        assert not stale(roles)
        second.stop()
        assert not (GROUPS / "brig").exists()
    finally:
        first.close()
        if second:
            second.close()
