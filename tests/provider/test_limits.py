# SPDX-License-Identifier: Apache-2.0
"""Each limit ends a run with its own verdict, whatever holds the cell."""

import time

import pytest

from conftest import ROOT

FORKS = """
import os, signal, time
children = []
for i in range({count}):
    try:
        pid = os.fork()
    except OSError:
        time.sleep(0.5)  # long enough to be seen, where no control group counts
        raise
    if pid == 0:
        time.sleep(200)
    children.append(pid)
for pid in children:
    os.kill(pid, signal.SIGKILL)
print(len(children))
"""


def test_wall(provider):
    if provider.kind == "vm":  # the first run of a machine makes its image and state
        provider.bash("true")
    began = time.monotonic()
    result = provider.bash("sleep 100", "--timeout", "1s", *provider.ahead)
    assert (result["status"], result["verdict"]["limit_name"]) == ("timeout", "wall_ms")
    assert result["usage"]["wall_ms"] < 20000
    assert time.monotonic() - began < 20


def test_wall_with_children(provider):
    result = provider.bash("trap '' TERM; (trap '' TERM; sleep 100) & sleep 100", "--timeout", "1s",
                           *provider.ahead)
    assert result["status"] == "timeout"


def test_grace(provider):
    """SIGTERM first: the program may clean up. An emulated one is slow to say that it wants to."""
    wall = "20s" if provider.kind == "vm" else "2s"
    result = provider.python(
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *a: (print('asked', flush=True), sys.exit(5)))\n"
        "time.sleep(100)", "--timeout", wall, "--grace", "10s", *provider.ahead)
    assert (result["status"], result["stdout"]) == ("timeout", "asked\n"), result


def test_cpu_time(provider):
    result = provider.python("while True: pass", "--cpu-time", "1s", "--timeout", "120s",
                             timeout=180)
    assert result["status"] == "cpu_limit", result


def test_memory(provider):
    result = provider.python("x = []\nwhile True: x.append(bytearray(8 << 20))",
                             "--memory", "96M")
    if ROOT:
        assert result["status"] == "memory_limit", result
    else:  # by rlimit: the allocation fails
        assert result["status"] in ("memory_limit", "failed"), result
        assert result["status"] == "memory_limit" or "MemoryError" in result["stderr"]


SOCKETS = """
import os, socket
data, keep = bytes(32 << 10), []
os.fork(), os.fork()
while len(keep) < 220:
    pair = socket.socketpair()
    keep += pair
    for one in pair:
        one.setblocking(False)
        try:
            while True: one.send(data)
        except OSError: pass
import time; time.sleep(3)
"""


def test_memory_of_sockets(provider):
    """Bytes that wait in sockets are no process's memory, but they count."""
    result = provider.python(SOCKETS, "--memory", "96M")
    assert result["status"] == "memory_limit", result


def test_processes(provider):
    result = provider.python(FORKS.format(count=40), "--processes", "12", "--timeout", "120s")
    if provider.emulated:  # which refuses, and the host does not see it
        assert result["status"] == "failed" and "BlockingIOError" in result["stderr"], result
    else:
        assert result["status"] == "process_limit", result


def test_all_processes_of_the_limit(provider):
    """The program has all of them: nothing of brig's counts."""
    result = provider.python(FORKS.format(count=11), "--processes", "12", "--timeout", "120s")
    assert (result["status"], result["stdout"]) == ("ok", "11\n"), result


@pytest.mark.parametrize("place", ["/sandbox", "/tmp", "/dev/shm"])
def test_disk(provider, place):
    other = place if provider.daemon else "/tmp"  # with a daemon each has the limit for itself
    result = provider.python(
        f"open('{other}/some', 'wb').write(bytes(900 << 10))\n"
        f"open('{place}/more', 'wb').write(bytes(900 << 10))", "--disk", "1M")
    assert result["status"] == "disk_limit", result
    assert result["verdict"]["limit_name"] == "disk_bytes"


def test_inodes(provider):
    result = provider.python("for i in range(200): open(f'f{i}', 'w')", "--inodes", "64")
    if provider.kind == "podman" and result["status"] == "ok":
        # It has no such option, and the result tells so.
        assert result["means"]["inodes"] == "none", result
        return
    assert (result["status"], result["verdict"]["limit_name"]) == ("disk_limit", "disk_inodes")


def test_file_size(provider):
    result = provider.python("open('f', 'wb').write(bytes(2 << 20))", "--file-size", "1M")
    assert result["status"] in ("disk_limit", "failed")
    assert result["status"] == "disk_limit" or "too large" in result["stderr"]


def test_open_files(provider):
    result = provider.python("a = [open('/dev/null') for i in range(100)]", "--open-files", "32")
    assert result["status"] == "failed" and "Too many open files" in result["stderr"]


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_output(provider, stream):
    number = {"stdout": 1, "stderr": 2}[stream]
    result = provider.python(f"import os\nwhile True: os.write({number}, b'x' * 4096)",
                             f"--{stream}", "10K")
    assert result["status"] == "output_limit" and len(result[stream]) == 10240
    assert result[f"{stream}_truncated"]


def test_fork_bomb(provider):
    result = provider.bash("f() { f | f & }; f; sleep 100", "--processes", "32",
                           "--timeout", "2s", *provider.ahead)
    assert result["status"] in ("process_limit", "timeout", "failed"), result


def test_use_is_counted(provider):
    result = provider.python("x = bytearray(40 << 20); sum(range(3000000))")
    assert result["usage"]["cpu_ms"] > 20
    assert result["usage"]["memory_peak_bytes"] > 40 << 20


def test_a_short_peak_is_counted(provider):
    """Where no group counts memory, samples alone would miss most of it."""
    for _ in range(5):
        result = provider.python("x = b'x' * 50_000_000")
        assert 50_000_000 < result["usage"]["memory_peak_bytes"] < 120_000_000
