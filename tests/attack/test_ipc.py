# SPDX-License-Identifier: Apache-2.0
"""I1 to I7: no object of the host, of a neighbour or of an earlier run is found, and
none is left."""

import json
import os
import random
import signal
import subprocess
import time

import aftermath
import harness
from aftermath import counted, gone
from own import own_mounts


def test_i1_i2_ipc(attack):
    """By key and by name: neither the host's nor an earlier run's."""
    key = str(random.randrange(1 << 20, 1 << 30))
    names = ["shm", "msg", "sem", "posix_shm"]
    try:
        made = attack.bare("i1_sysv", "make", key)
        assert [made[name] for name in names] == ["OK"] * 4
        # Control: a plain process finds them.
        assert [attack.bare("i1_sysv", "find", key)[name] for name in names] == ["OK"] * 4
        run = gone(attack.cell("i1_sysv", "find", key))
        # Where such memory is not counted, it is not available at all.
        none = "ENOENT" if counted(run, "memory") else "EPERM"
        assert [run[name] for name in names] == [none] * 3 + ["ENOENT"]
        assert run["mq"] in ("ENOENT", "EACCES", "EPERM") and run["segments"] in ("0", "-1")
    finally:
        attack.bare("i1_sysv", "drop", key)
    left = gone(attack.cell("i1_sysv", "make", key))
    assert left["posix_shm"] == "OK"
    assert left["shm"] == ("OK" if counted(left, "memory") else "EPERM")
    after = attack.cell("i1_sysv", "find", key)
    assert [after[name] for name in names] == [none] * 3 + ["ENOENT"]
    after = attack.bare("i1_sysv", "find", key)
    assert [after[name] for name in names] == ["ENOENT"] * 4


def test_i3_l5_places(attack, tmp_path):
    """Every place where programs leave files is empty, whatever the earlier run left."""
    for _ in range(2):
        run = gone(attack.cell("i3_leave", "marker"))
        for place in ("/tmp", "/dev/shm", "/sandbox/out"):
            assert (run[place], run[f"left:{place}"]) == ("", "OK")
        for place in ("/var/tmp", "/run/lock", "/run/user", "/root", "/home", "/var/lib"):
            assert run[place] == "FileNotFoundError"
        assert run["/sandbox"] in ("i3_leave.py,marker,out", "i3_leave.py,out", "code.py,out")
        # L5: files with the cell's own id are those that this run has made, and its code.
        mine = set(run["mine"].split(","))
        if not harness.ROOT:
            # One id for all: the synthetic files of the read-only root have it too.
            mine = {path for path in mine if not path.startswith(("/etc/", "/dev/std", "/dev/fd",
                                                                  "/sys/", "//"))}
        assert {path.rsplit("/", 1)[0] for path in mine} <= {"/tmp", "/dev/shm", "/sandbox",
                                                             "/sandbox/out"}
    # Control: on the host the second run finds the files of the first.
    words = [harness.PYTHON, "-c", "import os; print(sorted(os.listdir('.')));"
             "open('marker', 'w')"]
    assert harness.execute(words, tmp_path).stdout == "[]\n"
    assert harness.execute(words, tmp_path).stdout == "['marker']\n"


def test_i4_keys(attack):
    name = f"brig-i4-{os.getpid()}"
    rings = ["thread", "process", "session", "user", "user_session", "request_key"]
    for what in ("store", "find"):
        run = gone(attack.cell("i4_keys", what, name))
        assert [run[ring] for ring in rings] == ["EPERM"] * 6
        assert run.denial["call"] in ("add_key", "keyctl")
    # Control: outside a key can be stored, and a later process of the same user finds it. Cells of
    # the same user may hold all keys that the user may have: then it has to wait.
    assert harness.wait_for(lambda: attack.bare("i4_keys", "store", name)["user"] == "OK", 60)
    assert attack.cell("i4_keys", "find", name)["user"] == "EPERM"
    assert attack.bare("i4_keys", "drop", name)["user"] == "OK"
    harness.wait_for(lambda: name not in harness.read("/proc/keys"), 10)


def test_i5_numbers(attack):
    """Numbers do not reveal how many were given to others."""
    runs = [gone(attack.cell("i5_numbers")) for _ in range(3)]
    assert runs[0].said == runs[1].said == runs[2].said
    assert int(runs[0]["pid"]) <= 4 and int(runs[0]["child"]) == int(runs[0]["pid"]) + 1
    assert (runs[0]["uid"], runs[0]["interface"], runs[0]["boot"]) == ("1000", "1", "False")
    # Control: outside they continue counting.
    assert attack.bare("i5_numbers")["pid"] != attack.bare("i5_numbers")["pid"]


def test_i6_hundred_cells(attack, tmp_path):
    """A hundred runs, four at a time; then count."""
    mounts = own_mounts(tmp_path)
    namespaces = {os.readlink(f"/proc/self/ns/{name}") for name in os.listdir("/proc/self/ns")}
    ids = []
    for _ in range(25):
        runs = [attack.spawn("g2_end", "exit", 0) for _ in range(4)]
        for run in runs:
            out, err = run.communicate(timeout=harness.TIMEOUT)
            result = json.loads(out)
            assert result["status"] == "ok", (result, err)
            ids.append(result["id"])
    assert len(set(ids)) == 100
    assert harness.children() == []
    assert [path for path in aftermath.group_dirs() if path.name.split("-")[-1] in ids] == []
    assert own_mounts(tmp_path) == mounts
    # The abstract sockets by which brig reserves ids are gone with its processes, and those are.
    assert namespaces == {os.readlink(f"/proc/self/ns/{name}")
                          for name in os.listdir("/proc/self/ns")}


def killed(run):
    """Kills brig; a process that outlives it holds its pipes open."""
    with open(f"/proc/{run.pid}/stat", encoding="utf-8", errors="replace") as stat:
        born = stat.read().rpartition(")")[2].split()[19]
    run.kill()
    run.communicate(timeout=5)
    return f"{run.pid}-{born}"


def test_i7_killed_supervisor(attack, tmp_path):
    """SIGKILL at any moment: nothing of the run survives, the next start removes the rest."""
    place = tmp_path / "place"
    place.mkdir()
    place.chmod(0o777)
    pids = []
    try:
        for turn in range(80):
            run = attack.spawn("x15_daemon", "/mnt/place/beats", 20, options=["--rw", place])
            # Most of the set-up is in the first milliseconds.
            time.sleep(turn * 0.0002 if turn < 60 else turn * 0.0005)
            pids.append(killed(run))
        # In the middle of its work, too.
        run = attack.spawn("x_tasks", "explode", 0, options=["--processes", 20])
        harness.wait_for(lambda: len(harness.descendants(run.pid)) > 5)
        pids.append(killed(run))
        harness.wait_for(lambda: not harness.children())
    finally:
        for survivor in harness.children():
            os.kill(survivor, signal.SIGKILL)
    beats = place / "beats"
    size = beats.stat().st_size if beats.exists() else 0
    time.sleep(0.1)
    assert (beats.stat().st_size if beats.exists() else 0) == size

    def swept():
        """A start waits a bounded time for dying processes; on a busy host one more may
        be needed."""
        gone(attack.cell("g2_end", "exit", 0))
        return [path for path in aftermath.group_dirs() if "-".join(path.name.split("-")[1:3]) in pids] == []

    harness.wait_for(swept, 10)
    # Control: a program that is not in a cell outlives its parent.
    log = tmp_path / "log"
    shell = subprocess.Popen(["/bin/sh", "-c", f"'{attack.program('x15_daemon')}' {log} 1 & wait"],
                             stdout=subprocess.DEVNULL)
    harness.wait_for(log.exists)
    shell.kill()
    shell.wait()
    assert harness.children() != []
    harness.wait_for(lambda: not harness.children())
