# SPDX-License-Identifier: Apache-2.0
"""I7: SIGKILL of brig at any moment leaves nothing behind once it has been started again.

Each case is killed many times, at moments spread over the length of a whole run: while the cell is
built, while the program runs, while it ends. The program ignores signals and leaves daemons in
sessions of their own. Killed processes cannot clean up; the kernel does it, and the next start of
brig.
"""

import os
import pathlib
import random
import re
import signal
import subprocess
import time

import pytest

from own import adopt_orphans, lasting, own_mounts, own_processes, stale_group

BRIG = os.path.abspath(os.environ.get("BRIG", "build/brig"))
ROOT = os.geteuid() == 0
ROUNDS = 60
PATIENCE_S = 30
NAMESPACES = ["user", "pid", "mnt", "net", "ipc", "uts", "cgroup", "time"]

STUBBORN = """import os, signal, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_IGN)
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
        os.fork()
        time.sleep(1000)
time.sleep(1000)
"""
COMPILED = """#include <unistd.h>
int main(void) {{ sleep({mark}); return {round}; }}"""


@pytest.fixture(scope="module", autouse=True)
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("crash")
    (place / "shared").mkdir()
    (place / "tmp").mkdir()
    return place


@pytest.fixture(scope="module", autouse=True)
def orphans_are_ours():
    adopt_orphans()
    yield
    adopt_orphans(False)


def environment(place):
    return {**os.environ, "TMPDIR": str(place / "tmp"), "XDG_CACHE_HOME": str(place / "cache")}


CASES = {
    "local": lambda place, mark, n: ["--policy", "open", "--yes", "--lang", "python",
                                     "-c", STUBBORN, "--", mark],
    "program": lambda place, mark, n: ["--", "/bin/sleep", mark],
    "stubborn": lambda place, mark, n: ["--lang", "python", "-c", STUBBORN, "--", mark],
    "shared": lambda place, mark, n: ["--rw", place / "shared", "--ro", "/usr/share/doc",
                                      "--", "/bin/sleep", mark],
    "compile": lambda place, mark, n: ["--lang", "c", "-c", COMPILED.format(mark=mark, round=n)],
}
started = set()  # "pid-start time", as in names of groups
# From the start to well into the program.
LENGTH_S = {"compile": 0.3, "local": 0.15, "stubborn": 0.15}


def start(place, case, mark, n):
    words = [BRIG, "run", "--timeout", "60s", *CASES[case](place, mark, n)]
    return launch(place, words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def launch(place, words, **streams):
    brig = subprocess.Popen([str(w) for w in words], env=environment(place), cwd=place,
                            stdin=subprocess.DEVNULL, **streams)
    # Not reaped yet, so that it exists, dead or alive. A pid alone is soon reused.
    born = read(f"/proc/{brig.pid}/stat").rpartition(b")")[2].split()[19].decode()
    started.add(f"{brig.pid}-{born}")
    return brig


def processes():
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            yield int(entry.name)


def read(path):
    try:
        return pathlib.Path(path).read_bytes()
    except OSError:
        return b""


def marked(mark):
    """Processes with the mark among their arguments."""
    return [pid for pid in processes() if mark.encode() in read(f"/proc/{pid}/cmdline")]


def links(pattern):
    """The targets of the links of our processes, as far as they are readable."""
    found = set()
    for pid in own_processes():
        for path in pathlib.Path(f"/proc/{pid}").glob(pattern):
            try:
                found.add(os.readlink(path))
            except OSError:
                pass
    return found


def namespaces():
    """Every namespace of our processes, except those of the test itself."""
    own = {os.readlink(f"/proc/self/ns/{name}") for name in NAMESPACES}
    return links("ns/*") - own


def abstract_sockets():
    """The abstract sockets of brig that our processes hold."""
    held = links("fd/*")
    return {line.split()[7] for line in pathlib.Path("/proc/net/unix").read_text().splitlines()
            if " @brig-" in line and f"socket:[{line.split()[6]}]" in held}


def stale_groups():
    """Control groups of our brigs that have ended: the name holds the owner's pid."""
    found = set()
    for path, _, _ in os.walk("/sys/fs/cgroup"):
        match = re.match(r"brig-(\d+-\d+)-", os.path.basename(path))
        if match and match[1] in started and stale_group(path):
            found.add(path)
    return found


def unfinished_files(place):
    """Files that a killed writer of a cache has left."""
    cache = pathlib.Path("/var/cache/brig") if ROOT else place / "cache" / "brig"
    return {path for path in cache.rglob("*")
            if path.is_file() and not re.fullmatch(r"[0-9a-f]{64}", path.name)}


def until(true):
    """Waits for a condition."""
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.005)


def recover(place):
    subprocess.run([BRIG, "run", "--", "/bin/true"], env=environment(place), check=True, timeout=30,
                   stdin=subprocess.DEVNULL)


class Host:
    """The state of the host before, for comparison."""

    def __init__(self, place):
        self.place = place
        self.mounts = own_mounts(place)
        self.unfinished = unfinished_files(place)

    def check(self, mark):
        assert not lasting(PATIENCE_S, lambda: marked(mark)), "processes are left"
        recover(self.place)
        assert not lasting(PATIENCE_S, stale_groups), "control groups"
        assert not lasting(PATIENCE_S, namespaces), "namespaces"
        assert not lasting(PATIENCE_S, abstract_sockets), "sockets"
        assert not lasting(PATIENCE_S, own_processes), "processes are left that bear no mark"
        assert not lasting(PATIENCE_S, lambda: unfinished_files(self.place) - self.unfinished)
        assert own_mounts(self.place) == self.mounts


@pytest.mark.parametrize("case", CASES)
def test_I7_killed_at_any_moment(place, case):
    host = Host(place)
    mark = str(random.randrange(10**8, 10**9))
    length = LENGTH_S.get(case, 0.1)
    for n in range(ROUNDS):
        brig = start(place, case, mark, n)
        time.sleep(random.uniform(0, length))
        brig.kill()
        brig.wait()
    host.check(mark)


def test_I7_many_at_once(place):
    """Killed together: the recovery of one run must not fail because of another's."""
    host = Host(place)
    mark = str(random.randrange(10**8, 10**9))
    for n in range(ROUNDS // 10):
        running = [start(place, "stubborn", mark, n) for _ in range(8)]
        time.sleep(random.uniform(0, 0.3))
        for brig in running:
            brig.kill()
        for brig in running:
            brig.wait()
    host.check(mark)


def test_the_marks_can_be_found(place):
    """The control: the traces exist while brig lives."""
    mark = str(random.randrange(10**8, 10**9))
    assert not own_processes()
    brig = start(place, "stubborn", mark, 0)
    try:
        until(lambda: len(marked(mark)) >= 6)
        assert set(marked(mark)) <= set(own_processes())
        if ROOT:
            assert namespaces()
            assert abstract_sockets()
    finally:
        brig.kill()
        brig.wait()
    assert not lasting(PATIENCE_S, lambda: marked(mark))


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"])
@pytest.mark.parametrize("case", ["program", "stubborn", "local"])
def test_signals_end_the_cell(place, case, name):
    host = Host(place)
    mark = str(random.randrange(10**8, 10**9))
    for delay in (0.3, random.uniform(0.005, 0.1), random.uniform(0.005, 0.1)):
        brig = start(place, case, mark, 0)
        time.sleep(delay)
        brig.send_signal(getattr(signal, name))
        status = brig.wait(PATIENCE_S)
        # Before brig handles signals the kernel reports the end; afterwards brig reports the same.
        assert status in (-getattr(signal, name), 128 + getattr(signal, name))
        assert not lasting(PATIENCE_S, lambda: marked(mark))
    host.check(mark)


def children(pid):
    return [int(word) for word in read(f"/proc/{pid}/task/{pid}/children").split()]


@pytest.mark.parametrize("options", [[], ["--policy", "open", "--yes"]], ids=["cell", "local"])
def test_init_killed_from_outside(place, options):
    mark = str(random.randrange(10**8, 10**9))
    host = Host(place)
    brig = launch(place, [BRIG, "run", "--json", *options, "--", "/bin/sleep", mark],
                  stdout=subprocess.PIPE, text=True)
    until(lambda: len(marked(mark)) >= 3)
    time.sleep(0.1)  # and until the program has replaced its process
    init, = children(brig.pid)
    os.kill(init, signal.SIGKILL)
    output, _ = brig.communicate(timeout=PATIENCE_S)
    assert brig.returncode == 125
    assert '"status":"error"' in output and '"cause":"vanished"' in output
    host.check(mark)


def test_stopped_and_continued(place):
    """A brig that was stopped for a while is late, and nothing else."""
    mark = str(random.randrange(10**8, 10**9))
    host = Host(place)
    for case, timeout, status in [("sleep 0.1; echo done", "5s", 0), (f"sleep {mark}", "200ms", 124)]:
        brig = launch(place, [BRIG, "run", "--timeout", timeout, "--lang", "bash", "-c", case],
                      stdout=subprocess.PIPE, text=True)
        time.sleep(0.05)
        brig.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        brig.send_signal(signal.SIGCONT)
        output, _ = brig.communicate(timeout=PATIENCE_S)
        assert brig.returncode == status
        assert output == ("done\n" if status == 0 else "")
    host.check(mark)
