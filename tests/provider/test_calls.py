# SPDX-License-Identifier: Apache-2.0
"""Refused and watched system calls: the same records with each provider that shares the kernel."""

import fcntl
import os
import socket
import time

import pytest

from conftest import DAEMONS, EMULATED, POLICIES, Provider

CALLS = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def ptrace(number):
    return libc.syscall(101, 0, number, 0, 0)
"""


def of_kind(result, kind):
    return [one for one in result["events"] if one["kind"] == kind]


# They share the host's kernel, and brig can watch the calls.
SHARED = [name for name in POLICIES if name not in (*EMULATED, *DAEMONS, "vm")]


@pytest.fixture(params=SHARED)
def provider(request, config, schema):
    return Provider(request.param, config, schema)


@pytest.fixture(params=[name for name in SHARED if name != "native"])
def held(request, config, schema):
    return Provider(request.param, config, schema)


@pytest.fixture
def watching(provider, of):
    """The provider with a policy that watches."""
    return of(f"watching-{provider.name}", {**POLICIES[provider.name], "monitor": {
        "calls": ["execve", "getppid"], "files": ["/etc/*", "/tmp/secret"]}})


def test_denied(provider):
    result = provider.python(CALLS + "for i in range(3): ptrace(i)\nprint('coped')")
    assert result["status"] == "ok" and result["stdout"] == "coped\n"
    [denied] = of_kind(result, "call.denied")
    assert denied["subject"].startswith("ptrace(") and denied["count"] == 3
    assert result["event_counts"]["call.denied"] == 3


def test_denied_and_failed(provider):
    """The verdict of a program that fails afterwards names the call."""
    result = provider.python(CALLS + "ptrace(1); raise SystemExit(3)")
    assert result["status"] == "failed" and result["exit_code"] == 3, result
    denial = result["verdict"]["denial"]
    assert denial["call"] == "ptrace" and denial["count"] == 1


def test_denials_end_the_run(provider, of):
    few = of(f"few-{provider.name}", {**POLICIES[provider.name], "denials_max": 5})
    result = few.python(CALLS + "while True: ptrace(1)")
    assert result["status"] == "denied" and result["verdict"]["denial"]["count"] > 5, result


def test_watched(watching):
    code = "cat /etc/passwd > /tmp/copy; cat /tmp/copy > /tmp/secret; wc -l < /tmp/secret"
    result = watching.bash(code)
    assert result["status"] == "ok" and result["stdout"] == "3\n"
    calls = [one["subject"] for one in of_kind(result, "call.watched")]
    # One record for all; the exec that starts the program itself is not the program's.
    assert any(one.startswith("execve(/usr/bin/cat") for one in calls), calls
    assert not any("bash" in one for one in calls), calls
    files = {one["subject"] for one in of_kind(result, "file.watched")}
    assert {"/etc/passwd", "/tmp/secret"} <= files and "/tmp/copy" not in files


def test_watched_by_other_names(watching):
    """A path is resolved in the root of the caller, which is in other namespaces."""
    code = "cd /etc; cat passwd > /dev/null; ln -s /etc /tmp/link; cat /tmp/link/group > /dev/null"
    result = watching.bash(code)
    assert result["status"] == "ok", result
    assert {"/etc/passwd", "/etc/group"} <= {
        one["subject"] for one in of_kind(result, "file.watched")}


def test_own_figures(provider):
    """sysinfo(2) shows the cell's memory, and neither the load nor the uptime of the host."""
    code = CALLS + """
import struct
buffer = ctypes.create_string_buffer(112)
assert libc.sysinfo(buffer) == 0
uptime, *loads, total = struct.unpack_from("l3QQ", buffer.raw)
unit, = struct.unpack_from("I", buffer.raw, 104)
print(uptime, sum(loads), total * unit)
"""
    result = provider.python(code, "--memory", "100M")
    assert result["stdout"].split() == ["1", "0", str(100 << 20)]


def test_flood(provider):
    """Refused calls are received up to a bound; the run and its result are as usual."""
    result = provider.python(CALLS + "for i in range(30000): ptrace(i)\nprint('done')",
                             "--timeout", "60s")
    assert result["status"] in ("ok", "denied") and result["event_counts"]["call.denied"] <= 20000
    assert len(result["events"]) <= 10 and result["duration_ms"] < 60000


def test_flood_of_answers(provider):
    """sysinfo is answered, and so it is no refusal: callers that never stop have to wait."""
    code = CALLS + """
import time
buffer = ctypes.create_string_buffer(112)
for i in range(1000): libc.sysinfo(buffer)
began = time.monotonic()
for i in range(20): libc.sysinfo(buffer)
print(time.monotonic() - began > 0.1)
"""
    assert provider.python(code)["stdout"] == "True\n"


def test_threads_and_children(watching):
    """All of them are under one filter, also when the first process has ended."""
    code = """
import os, threading
threads = [threading.Thread(target=os.getppid) for _ in range(20)]
[t.start() for t in threads]; [t.join() for t in threads]
for _ in range(5):
    if os.fork() == 0:
        os.getppid(); os._exit(0)
    os.wait()
print("done")
"""
    result = watching.python(code)
    assert result["stdout"] == "done\n"
    assert sum(one["count"] for one in of_kind(result, "call.watched")
               if one["subject"].startswith("getppid")) == 25


def test_the_listener_is_out_of_reach(provider):
    """No process of the cell has it: neither the program nor its parent, which it cannot read."""
    code = """
import os
print(sorted(os.listdir("/proc/self/fd")))
for pid in (p for p in os.listdir("/proc") if p.isdigit() and p != str(os.getpid())):
    try: print([os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd")])
    except OSError as error: print(type(error).__name__)
"""
    lines = provider.python(code)["stdout"].splitlines()
    assert lines[0] == "['0', '1', '2', '3']"  # the last one is the directory itself
    assert set(lines[1:]) <= {"PermissionError"}, lines


def test_warm(held):
    """A cell made ahead: its filter and listener come with the assignment."""
    result = held.python(CALLS + "ptrace(1); print('coped')", "--start", "warm")
    assert result["stdout"] == "coped\n" and len(of_kind(result, "call.denied")) == 1, result


# --- the other layers that the holder and the agent make ------------------------------------------


def test_landlock(provider):
    """Writes are refused where no other wall would: /proc can be written by its owner."""
    code = """
for path in ("/proc/self/comm", "/tmp/new", "/sandbox/new", "/dev/shm/new", "/dev/null"):
    try: open(path, "w").close(); print("written")
    except PermissionError: print("refused")
"""
    assert provider.python(code)["stdout"].split() == ["refused"] + ["written"] * 4


def test_landlock_and_mounts(provider, tmp_path):
    tmp_path.chmod(0o777)
    result = provider.bash("echo x > /mnt/place/new && cat /mnt/place/new", "--rw", f"place={tmp_path}")
    assert result["stdout"] == "x\n", result
    assert (tmp_path / "new").read_text() == "x\n"


def test_clocks(provider):
    code = "import time; print(time.clock_gettime(time.CLOCK_BOOTTIME))"
    assert float(provider.python(code)["stdout"]) < min(60, time.clock_gettime(time.CLOCK_BOOTTIME))


def test_locks_are_not_shared(provider):
    """A lock on a file of the host is another one in the cell."""
    path = provider.python("import os; print(os.__file__)")["stdout"].strip()
    with open(path, "rb") as shared:
        # Shared on our side: other tests may have the same lock.
        fcntl.flock(shared, fcntl.LOCK_SH)
        code = (f"import fcntl\nf = open({path!r}, 'rb')\n"
                "fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB); print('locked')")
        assert provider.python(code)["stdout"] == "locked\n"


def test_sockets_of_a_directory(provider, tmp_path):
    """A Unix socket of the host in a directory that is mounted for reading cannot be reached."""
    tmp_path.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "sock"))
        os.chmod(tmp_path / "sock", 0o777)
        server.listen()
        code = ("import socket\ns = socket.socket(socket.AF_UNIX)\n"
                "try: s.connect('/mnt/place/sock'); print('through')\n"
                "except OSError as error: print(type(error).__name__)")
        result = provider.python(code, "--ro", f"place={tmp_path}")
        assert result["stdout"] == "ConnectionRefusedError\n", result
