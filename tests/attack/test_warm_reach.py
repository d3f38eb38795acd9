# SPDX-License-Identifier: Apache-2.0
"""docs/design/threat-model.md, warm processes: W8 and W10. Template and siblings are out of reach."""

import json
import os
import re
import struct

import harness
import pytest
from warmth import families, said

NONE = "0000000000000000"


# --- W8: template and siblings are out of reach -------------------------------------------------

REACH = """
import ctypes, errno, json, os, signal, time
libc = ctypes.CDLL(None, use_errno=True)
def outcome(call, *words):
    try:
        call(*words)
        return "OK"
    except OSError as error:
        return errno.errorcode[error.errno]
def traced(pid):
    libc.ptrace(16, pid, 0, 0)
    return errno.errorcode.get(ctypes.get_errno(), "OK")
time.sleep(0.3)  # the others are there by now
me = os.getpid()
signal.signal(signal.SIGUSR1, lambda *_: hits.append(1))
hits = []
seen = {
    "pids": [int(name) for name in os.listdir("/proc") if name.isdigit()],
    "parent": os.getppid(), "group": os.getpgrp() == me, "session": os.getsid(0) == me,
    "others": [pid for pid in range(2, 5000) if pid != me and outcome(os.kill, pid, 0) != "ESRCH"],
    "trace": traced(1),
    "memory": outcome(open, "/proc/1/mem"), "maps": outcome(open, "/proc/1/maps"),
    "root": outcome(os.listdir, "/proc/1/root"), "fd": outcome(os.listdir, "/proc/1/fd"),
    "pidfd": outcome(os.pidfd_open, 4000),
    "everybody": outcome(os.kill, -1, signal.SIGUSR1),
}
print(json.dumps(seen))
"""


def test_W08_out_of_reach(warm):
    runs = said(warm(REACH, REACH, "import json, time; time.sleep(0.6); print(json.dumps('there'))",
                     together=1))
    assert runs.pop() == "there"  # kill(-1) of its siblings has not reached it
    for run in runs:
        assert run.pop("pids") in ([2], [3])
        assert run.pop("everybody") in ("OK", "ESRCH", "EPERM")
        assert run.pop("trace") == "EPERM"
        assert {run.pop(name) for name in ("memory", "maps", "root", "fd")} <= {"ENOENT", "EACCES"}
        assert run == {"parent": 1, "group": True, "session": True, "others": [], "pidfd": "ESRCH"}


def while_it_runs(host, seconds=10):
    """Once a program runs in a cell and another cell waits: two processes in each."""
    harness.wait_for(lambda: len(families(host)[1]) >= 4, seconds)
    return families(host)


@pytest.fixture
def sleeping(warm):
    host = warm.begin("import time; time.sleep(1.5)")
    yield host
    out, err = host.communicate(timeout=20)
    assert json.loads(out)["start"] == "warm", err


def kinds_of(pid):
    """The kinds of its descriptors, by number; None: it has just ended, or shows them to root."""
    found = {}
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            found[int(fd)] = os.readlink(f"/proc/{pid}/fd/{fd}").split(":[")[0].split(" ")[0]
    except (FileNotFoundError, PermissionError):
        return None
    return found


# Streams, the socket, and what brig-init executes; then the ring that pins its pages, if any.
TEMPLATE = {0: "pipe", 1: "pipe", 2: "pipe", 3: "socket", 7: "/brig-init"}
RING = {254: "anon_inode"}


def has_only_its_own(pid):
    kinds = kinds_of(pid)
    keeper = kinds is not None and list(kinds.values()) == ["pipe"]
    return keeper or kinds in (TEMPLATE, {**TEMPLATE, **RING})


def test_W08_template_has_nothing(sleeping):
    """Keeper and template: no privilege that a program could gain by taking them over."""
    outside, _ = while_it_runs(sleeping)
    assert len(outside) == 2
    for pid, status in outside.items():
        assert status["NoNewPrivs"] == "1"
        if harness.ROOT:
            assert {status[f"Cap{name}"] for name in ("Inh", "Prm", "Eff", "Amb")} == {NONE}
            assert min(int(uid) for uid in status["Uid"].split()) > 65535
            assert min(int(gid) for gid in status["Gid"].split()) > 65535
            assert status["Groups"].strip() == ""
            for name in ("net", "ipc", "uts", "mnt"):
                link = os.readlink(f"/proc/{pid}/ns/{name}")
                assert link != os.readlink(f"/proc/self/ns/{name}")
        # While it makes a cell it has the descriptors of that, too.
        harness.wait_for(lambda: has_only_its_own(pid))


INIT_WAITS = {3: "socket", 4: "pipe"}
INIT_RUNS = {0: "anon_inode", 3: "socket"}
PROGRAM_RUNS = {0: "pipe", 1: "pipe", 2: "pipe"}


@pytest.fixture
def lasting(warm):
    """A host whose program runs until the test has seen enough."""
    host = warm.begin("import time; kept = [b'%s' % b'pres' + b'ent']; time.sleep(25)")
    yield host
    host.kill()
    host.communicate(timeout=20)


@pytest.mark.root
def test_W08_descriptors_of_both_processes(lasting):
    """pid 1 has its socket alone, and the program its streams: neither has any of the other's."""

    def found():
        inside = families(lasting)[1]
        inits = {pid for pid, status in inside.items() if status["NSpid"].split()[1] == "1"}
        by_init = [kinds_of(pid) for pid in inits]
        others = [kinds_of(pid) for pid in inside if pid not in inits]
        return INIT_WAITS in by_init and INIT_RUNS in by_init and PROGRAM_RUNS in others

    harness.wait_for(found)


@pytest.mark.root
def test_W06_no_ids_of_the_host_in_memory(lasting):
    """Set-up has used them in this memory: the cell's and the template's ids, its group's name."""

    def program():
        for pid, status in families(lasting)[1].items():
            if kinds_of(pid) == PROGRAM_RUNS and "python" in status["Name"]:
                return pid, status
        return None

    pid, status = harness.wait_for(program)
    template = [it for it in families(lasting)[0].values() if "python" in it["Name"]]
    ids = {int(it["Uid"].split()[0]) for it in (status, *template)}
    assert len(ids) == 2
    ids |= {uid - 1 for uid in ids}  # root of its user namespace
    group = re.search(r"brig-[0-9]+-[^/\n]+", harness.read(f"/proc/{pid}/cgroup")).group()
    needles = {group.encode(), *(struct.pack("<I", uid) for uid in ids),
               *(str(uid).encode() for uid in ids)}

    def data():
        """All that it can write to, once the program has begun: with the control."""
        found = b""
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for where, mode, *_ in map(str.split, maps):
                if mode.startswith("rw"):
                    start, end = (int(word, 16) for word in where.split("-"))
                    memory.seek(start)
                    found += memory.read(end - start)
        return b"present" in found and found

    found = harness.wait_for(data)
    assert [needle for needle in needles if needle in found] == []


# --- W10: sealed before the first instruction ---------------------------------------------------

FIRST = """
status = dict(line.rstrip("\\n").split(":\\t", 1) for line in open("/proc/self/status"))
import errno, json, os
def outcome(call, *words):
    try:
        call(*words)
        return "OK"
    except OSError as error:
        return errno.errorcode[error.errno]
print(json.dumps({
    "status": {name: status[name] for name in ("Seccomp", "NoNewPrivs", "Threads", "CapInh", "CapPrm",
               "CapEff", "CapBnd", "CapAmb")},
    "cgroup": sorted({line.rstrip().split(":")[2] for line in open("/proc/self/cgroup")}),
    "landlock": outcome(os.open, "/proc/self/comm", os.O_WRONLY),
    "uid_map": open("/proc/self/uid_map").read().split()[:1],
    "setgroups": open("/proc/self/setgroups").read().strip(),
    "root": sorted(os.listdir("/")),
}))
"""


def test_W10_sealed_at_first_instruction(attack, warm):
    seen, = said(warm(FIRST))
    assert seen["status"] == {"Seccomp": "2", "NoNewPrivs": "1", "Threads": "1",
                              **{f"Cap{name}": NONE for name in ("Inh", "Prm", "Eff", "Bnd", "Amb")}}
    assert seen["cgroup"] == ["/"]
    if harness.landlock_abi():
        assert seen["landlock"] == "EACCES"
    assert seen["uid_map"] == ["1000"] and seen["setgroups"] == "deny"
    program = attack.dir / "first.py"
    program.write_text(FIRST)
    cold = attack.brig("--start", "cold", program)
    assert json.loads(cold.stdout) == seen
    # Control: none of that holds outside.
    bare = json.loads(harness.execute([harness.PYTHON, program], attack.dir).stdout)
    assert bare["status"]["Seccomp"] == "0" and bare["status"]["NoNewPrivs"] == "0"
    assert bare["landlock"] == "OK" and bare["root"] != seen["root"]


def test_W10_sealed_while_it_waits(sleeping):
    """From outside: cells that are not assigned yet get every wall by themselves."""

    def programs():
        found = {pid: status for pid, status in families(sleeping)[1].items()
                 if status["NSpid"].split()[1] in ("2", "3")}
        # One runs, the others wait, and none is being made.
        sealed = all(status["Seccomp"] == "2" for status in found.values())
        return len(found) >= 2 and len(inits()) == len(found) and sealed and found

    def inits():
        return [status for status in families(sleeping)[1].values()
                if status["NSpid"].split()[1] == "1"]

    for pid, status in harness.wait_for(programs).items():
        assert status["NoNewPrivs"] == "1"
        assert {status[f"Cap{name}"] for name in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {NONE}
        assert len(status["NSpid"].split()) == 2
        if harness.ROOT:
            assert "/brig-" in harness.read(f"/proc/{pid}/cgroup")
            for name in ("net", "ipc", "uts", "mnt", "pid", "user", "cgroup"):
                link = os.readlink(f"/proc/{pid}/ns/{name}")
                assert link != os.readlink(f"/proc/self/ns/{name}"), name
    for status in inits():
        assert status["NoNewPrivs"] == "1" and status["CapEff"] == status["CapPrm"] == NONE
