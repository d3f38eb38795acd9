# SPDX-License-Identifier: Apache-2.0
"""docs/design/threat-model.md, Credentials and capabilities: C1 to C8."""

import contextlib
import os
import re
import shutil
import signal

import harness
import pytest

SETS = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]
NONE = "0" * 16


def test_C01_no_capability(attack):
    seen = attack.cell("c01_status")
    assert [seen[name] for name in SETS] == [NONE] * 5
    control = attack.namespaced("c01_status")
    assert control["CapEff"] != NONE and control["CapBnd"] != NONE


@pytest.mark.root
def test_C01_setuid_file_gains_nothing(attack):
    """A file that makes any user root outside: in a cell it starts, and gains nothing."""
    # Outside of the tests' directories, which an ordinary user cannot enter.
    with harness.open_directory() as place:
        program = place / "c01_status"
        shutil.copy(attack.program("c01_status"), program)
        program.chmod(0o6755)
        seen = attack.cell("c01_status", "/mnt/bin/c01_status", options=["--ro", f"bin={place}"])
        drop = ["setpriv", "--reuid", "65532", "--regid", "65532", "--clear-groups", "--inh-caps=-all"]
        control = harness.Outcome(harness.execute([*drop, program], "/"))
    assert [seen[name] for name in SETS] == [NONE] * 5
    assert seen["euid"] == "1000" and seen["NoNewPrivs"] == "1"
    assert control["euid"] == "0" and control["CapEff"] != NONE


def test_C02_no_new_privs(attack):
    assert attack.cell("c01_status")["NoNewPrivs"] == "1"
    assert attack.bare("c01_status")["NoNewPrivs"] == "0"


def inside(brig):
    """Processes of the payload's cell; others may wait, and a template is in no cell."""
    pids = harness.descendants(brig)
    program = [pid for pid in pids if "c03_wait" in harness.read(f"/proc/{pid}/comm")]
    if not harness.ROOT:  # all have one id, and the namespaces of brig-init are not readable
        return pids
    own = [namespace(pid) for pid in program]
    return [pid for pid in pids if namespace(pid) in own]


def namespace(pid):
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/ns/pid")


def cell_users(brig):
    """Ids, as the host sees them, of the two processes of a cell: brig-init and the program."""
    pids = harness.wait_for(lambda: len(inside(brig.pid)) >= 2 and inside(brig.pid))
    users = []
    for pid in pids:
        status = harness.read(f"/proc/{pid}/status")
        if not status:
            continue  # a helper of brig that has ended meanwhile
        for line in ("Uid", "Gid"):
            ids = set(re.search(rf"^{line}:\s*(.*)$", status, re.M)[1].split())
            assert len(ids) == 1  # real, effective, saved and of files: all the same
            users += ids
    assert len(users) >= 4
    return {int(user) for user in users}


def two_cells(attack):
    cells = [attack.spawn("c03_wait") for _ in range(2)]
    try:
        # The program runs under its own name once every step is done.
        for cell in cells:
            harness.wait_for(lambda: any("c03_wait" in harness.read(f"/proc/{pid}/comm")
                                         for pid in harness.descendants(cell.pid)))
        return [cell_users(cell) for cell in cells]
    finally:
        for cell in cells:
            cell.send_signal(signal.SIGTERM)
            cell.communicate(timeout=10)


@pytest.mark.root
def test_C03_unique_outer_ids(attack):
    first, second = two_cells(attack)
    assert not first & second
    for users in (first, second):
        assert min(users) > 65535  # neither root nor a user of /etc/passwd
        assert len(users) == 2  # brig-init and the program have different ids


@pytest.mark.user
def test_C03_own_outer_id(attack):
    """Without root only one id is available: the caller's. It is never another user's."""
    for users in two_cells(attack):
        assert users == {os.getuid()}


def test_C03_inner_id(attack):
    seen = attack.cell("c01_status")
    assert seen["Uid"].split() == seen["Gid"].split() == ["1000"] * 4


@pytest.mark.root
def test_C04_no_groups(attack):
    groups = [4, 27, 44]
    seen = attack.cell("c01_status", extra_groups=groups)
    assert seen["groups"] == "0" and seen["Groups"] == ""
    control = attack.bare("c01_status", extra_groups=groups)
    assert control["Groups"].split() == [str(group) for group in groups]


@pytest.mark.user
def test_C04_no_group_gained(attack):
    """An ordinary user's namespace cannot drop groups; it can hide their numbers."""
    seen = attack.cell("c01_status")
    # Only the caller's own group has a number inside.
    own = {"1000"} if os.getgid() in os.getgroups() else set()
    assert set(seen["Groups"].split()) <= {"65534"} | own
    assert attack.cell("c05_become")["setgroups"] == "EPERM"


def test_C05_become_nobody_else(attack):
    seen = attack.cell("c05_become")
    for call in ("setgroups", "setgroups-none", "setgid", "setregid", "setresgid", "setuid",
                 "setreuid", "setresuid", "setuid-other"):
        assert seen[call] in ("EPERM", "EINVAL"), call
    assert seen["uid"] == "1000 1000"
    assert seen["fsuid"] in ("1000", "-1") and seen["fsgid"] in ("1000", "-1")
    control = attack.namespaced("c05_become")
    assert control["setuid"] == control["setresgid"] == "OK"


def test_C06_securebits_locked(attack):
    seen = attack.cell("c06_securebits")
    assert seen["bits"] == "0xef" and seen["ambient"] == "0"
    for what in ("raise", "keep", "capset", "unlock"):
        assert seen[what] == "EPERM"
    assert seen["nnp-off"] == "EINVAL"
    control = attack.namespaced("c06_securebits")
    assert control["capset"] == control["unlock"] == control["keep"] == "OK"
    assert control["bits"] == "0"


def test_C07_no_core(attack):
    seen = attack.cell("c07_core", options=["--out", "**", "--out-dir", "back"])
    assert seen["limit"] in ("0 0", "1 1")
    assert seen.result["signal"] in (6, "SIGABRT")
    assert {file["path"] for file in seen.result["files"]} - {"code.py"} == {"c07_core"}
    assert os.listdir(attack.dir) in ([], ["back"])


def test_C07_no_core_by_pipe(attack):
    """A helper of the host (core_pattern with a |) is started for any limit but 1.

    fs/coredump.c: a limit of 0 stops only files; 1 is the kernel's own mark for "no helper".
    """
    seen = attack.cell("c07_core")
    assert seen["limit"] == "1 1"
    assert seen["then"] == "1"  # nor can the payload lower it so that the helper starts


def test_C07_control(attack):
    """Outside, the same payload succeeds."""
    bare = attack.bare("c07_core", "outside")
    assert bare["raise"] == "OK" and bare["limit"] == "1048576 1048576"
    if harness.read("/proc/sys/kernel/core_pattern")[0] not in "|/":
        assert [name for name in os.listdir(attack.dir) if name.startswith("core")]


def test_C08_landlock_everywhere(attack):
    seen = attack.cell("c08_domain")
    assert "landlock" in seen.result["layers"]
    for who in ("first", "thread", "child", "exec"):
        assert seen[f"write-{who}"] == "EACCES"
        assert seen[f"signal-{who}"] == ("EPERM" if harness.signals_scoped() else "OK")
    assert seen["create"] == seen["restrict"] == "OK"
    assert seen["write-after"] == "EACCES"
    control = attack.namespaced("c08_domain")
    for who in ("first", "thread", "child", "exec"):
        assert control[f"write-{who}"] == control[f"signal-{who}"] == "OK"
