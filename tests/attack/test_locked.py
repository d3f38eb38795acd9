# SPDX-License-Identifier: Apache-2.0
"""F7 behind all other walls: the inner user namespace locks the flags of a cell's mounts.

The count of user namespaces and the filter prevent a program from ever having a capability in its
mount namespace. Here it gets one all the same: a process of the host joins the namespaces of a
running cell, which gives it every capability there, and is in no filter.
"""

import os

import harness
import pytest
from aftermath import process_named, status_of

FLAGS = ["remount", "setattr", "nosuid", "nodev", "copy"]


@pytest.fixture
def running(attack):
    """A cell with a directory mounted read-only: the program's pid, and brig-init's."""
    (attack.dir / "data").mkdir()
    options = ["--ro", attack.dir / "data", "--timeout", "20s"]
    run = attack.spawn("x14_wait", "sleep", options=options)
    try:
        program = process_named(run, "x14_wait")
        yield program, int(status_of(program)["PPid"])
    finally:
        run.terminate()
        run.communicate(timeout=20)


def mounts_of(pid):
    """Mount points and flags, as the process sees them."""
    lines = [line.split() for line in harness.read(f"/proc/{pid}/mountinfo").splitlines()]
    return {words[4]: words[5].split(",") for words in lines}


def test_F07_flags_locked(attack, running):
    """With all capabilities of the program's own namespaces no mount loses a flag."""
    program, _ = running
    mounts = mounts_of(program)
    read_only = [place for place, flags in mounts.items() if "ro" in flags]
    assert {"/", "/mnt/data"} <= set(read_only)
    seen = attack.bare("f07_locked", program, *read_only)
    assert seen["join-user"] == seen["join-mnt"] == seen["tmpfs"] == "OK"
    for place in read_only:
        for what in FLAGS:
            if what in mounts[place] or what not in ("nosuid", "nodev"):
                assert seen[f"{what} {place}"] == "EPERM", (what, place, seen)
        assert place == "/" or seen[f"umount {place}"] == "EINVAL"
    assert seen["write /"] == seen["write /mnt/data"] == "EROFS"
    after = mounts_of(program)
    assert {place: after[place] for place in mounts} == mounts
    assert os.listdir(attack.dir / "data") == []


@pytest.mark.root
def test_F07_flags_locked_control(attack, running):
    """The same cell without the inner namespace, where brig-init is: every flag can be removed."""
    _, init = running
    seen = attack.bare("f07_locked", init, "/", "/mnt/data")
    assert seen["join-user"] == seen["join-mnt"] == seen["tmpfs"] == "OK"
    for place in ("/", "/mnt/data"):
        for what in FLAGS:
            assert seen[f"{what} {place}"] == "OK", (what, place, seen)
    assert seen["write /"] == seen["umount /mnt/data"] == "OK"


@pytest.mark.user
def test_F07_setup_out_of_reach(attack, running):
    """brig-init's namespaces, where nothing is locked, are closed even to the user who started
    brig."""
    _, init = running
    seen = attack.bare("f07_locked", init, "/")
    assert seen["open-mnt"] == "EACCES" and seen["join-mnt"] != "OK"


@pytest.mark.parametrize("inner", [False, True])
def test_F07_inner_namespace_locks(attack, inner):
    """Without brig: the second namespace makes the difference, and nothing else."""
    (attack.dir / "data").mkdir()
    prepare = "mount -t tmpfs -o nosuid,nodev none data; mount -o remount,bind,ro,nosuid,nodev data"
    second = ["unshare", "--user", "--map-root-user", "--mount"] if inner else []
    words = [*harness.NAMESPACES, "sh", "-ec", prepare + '\nexec "$@"', "sh", *second,
             attack.program("f07_locked"), "0", attack.dir / "data"]
    seen = harness.Outcome(harness.execute(words, attack.dir))
    assert seen["tmpfs"] == "OK"
    for what in FLAGS:
        assert seen[f"{what} {attack.dir}/data"] == ("EPERM" if inner else "OK")
    assert seen[f"write {attack.dir}/data"] == ("EROFS" if inner else "OK")
