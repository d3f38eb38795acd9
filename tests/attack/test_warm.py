# SPDX-License-Identifier: Apache-2.0
"""docs/design/threat-model.md, warm processes: W1 to W5. See docs/design/warm.md for what is shared and why."""

import collections
import json
import os
import re
import signal
import subprocess

import harness
import pytest
from warmth import preloading, said


# --- W1: random numbers -------------------------------------------------------------------------

RANDOM = """
import json, multiprocessing, os, random, secrets, ssl, sys, tempfile, uuid
from email.utils import make_msgid
seen = {
    "random": random.random(),
    "Random": random.Random().random(),
    "random module's other": random.SystemRandom().random(),
    "secrets": secrets.token_hex(),
    "urandom": os.urandom(16).hex(),
    "ssl": ssl.RAND_bytes(16).hex(),
    "uuid1": str(uuid.uuid1()),
    "uuid4": str(uuid.uuid4()),
    "node": uuid.getnode(),
    "mktemp": tempfile.mktemp(),
    "mkstemp": tempfile.mkstemp()[1],
    "authkey": bytes(multiprocessing.current_process().authkey).hex(),
    "msgid": make_msgid(),
}
try:
    import numpy
    seen["numpy"] = numpy.random.random()
    seen["numpy permutation"] = numpy.random.permutation(1000).tolist()
    seen["numpy generator"] = numpy.random.default_rng().random()
except ImportError:
    pass
print(json.dumps({"seen": seen, "preloaded": "numpy" in sys.modules}))
"""
RANDOM_MODULES = ["random", "secrets", "ssl", "uuid", "tempfile", "multiprocessing", "email.utils",
                  "numpy"]


@pytest.mark.parametrize("modules", [[], RANDOM_MODULES], ids=["plain", "preloaded"])
def test_W01_random_differs(attack, warm, modules):
    runs = said(warm(*[RANDOM] * 3, config=preloading(attack, *modules)))
    for name in runs[0]["seen"]:
        values = {json.dumps(run["seen"][name]) for run in runs}
        assert len(values) == 3, (name, values)


def test_W01_control():
    """Forks of one interpreter that are not reseeded share their generators."""
    code = ("import os, random\nown = random.Random()\nfor _ in 'ab':\n if os.fork() == 0:\n"
            "  print(own.random(), flush=True)\n  os._exit(0)\n os.wait()")
    done = subprocess.run([harness.PYTHON, "-c", code], capture_output=True, text=True, check=True)
    first, second = done.stdout.split()
    assert first == second


# --- W2, W3: hash seed and addresses ------------------------------------------------------------

LAYOUT = """
import ctypes, json
maps = [line.split() for line in open("/proc/self/maps")]
def base(name):
    return next((line[0].split("-")[0] for line in maps if len(line) > 5 and name in line[5]), None)
libc = ctypes.CDLL(None)
libc.getauxval.restype = ctypes.c_ulong
print(json.dumps({"hash": hash("brig"), "libc": base("libc.so"), "heap": base("[heap]"),
                  "stack": base("[stack]"), "vdso": base("[vdso]"),
                  "canary": ctypes.string_at(libc.getauxval(25), 16).hex()}))
"""


def differ(first, second):
    """No part of the layout is the same."""
    assert {name: value for name, value in first.items() if second[name] == value} == {}


def test_W02_W03_shared_within_one_template_only(warm):
    first, second, other, nobody = said(warm(
        "tenant=ada", LAYOUT, LAYOUT, "tenant=bob", LAYOUT, "tenant=", LAYOUT))
    assert first == second  # stated in warm.md
    differ(first, other)
    differ(first, nobody)
    differ(other, nobody)


def test_W02_W03_rotation_by_count(warm):
    """A template makes no more clones than its maximum; no two templates have anything
    in common."""
    runs = said(warm(*[LAYOUT] * 6, clones=2))
    for name in runs[0]:
        counts = collections.Counter(run[name] for run in runs)
        assert max(counts.values()) <= 2, (name, counts)


def test_W02_W03_rotation_by_age(warm):
    # Long enough for a template to get ready, also on a slow host.
    before, _, after = warm(LAYOUT, f"import time; time.sleep({2 * harness.SLOW})", LAYOUT,
                            age=1900 * harness.SLOW)
    differ(*said([before, after]))


CRASH = "import ctypes; ctypes.string_at(1)"
REFUSED = "import ctypes; ctypes.CDLL(None).unshare(0x10000000)"


@pytest.mark.parametrize(("code", "status", "rotates"), [
    (CRASH, "failed", True), ("import os, signal; os.kill(os.getpid(), signal.SIGABRT)", "failed", True),
    (REFUSED, "ok", True), ("raise SystemExit(3)", "failed", False), ("pass", "ok", False)],
    ids=["SIGSEGV", "SIGABRT", "denial", "exit-3", "exit-0"])
def test_W03_rotation_by_bad_end(warm, code, status, rotates):
    before, between, after = warm(LAYOUT, code, LAYOUT)
    assert between["status"] == status, between
    before, after = said([before, after])
    if rotates:
        differ(before, after)
    else:
        assert before == after


# --- W4, W5: inherited state of a clone ---------------------------------------------------------

FACTS = (harness.PROGRAMS / "w04_facts.py").read_text()
# Facts of a warm cell that differ from those of a cold one, and why.
DIFFERENT = {
    "exe": "a file in memory: see warm.md",
    "layout": "the pages of a clone",
}


def facts(results):
    facts, = said(results)
    return facts


def test_W04_W05_as_cold(attack, warm):
    """Descriptors, timers, signals, environment, limits...: all as in a new interpreter."""
    program = attack.dir / "facts.py"
    program.write_text(FACTS)
    cold = attack.brig("--start", "cold", program)
    assert cold.result["start"] == "cold"
    cold = json.loads(cold.stdout)
    seen = facts(warm(FACTS, fd=1, env={**os.environ, "SECRET": "caller", "LC_ALL": "C.UTF-8"}))
    different = {name: (value, seen.get(name)) for name, value in cold.items()
                 if seen.get(name) != value and name not in DIFFERENT}
    assert different == {}
    assert seen.keys() == cold.keys()
    assert [fd for fd in seen["descriptors"]] == ["0", "1", "2"]
    assert {kind for kind, *_ in seen["descriptors"].values()} == {"pipe"}


def test_W04_value_descriptor(warm):
    """A request for a value gives the program one more descriptor, which none of its
    children gets."""
    seen = facts(warm(FACTS, value=1))
    more = [what for fd, what in seen["descriptors"].items() if int(fd) > 2]
    assert [(kind, flags) for kind, _, flags in more] == [("file", 1)]  # 1: FD_CLOEXEC


def test_W04_value_file_is_bounded(warm):
    """The file of the value can be filled with anything, but not enlarged or mapped
    beyond its end."""
    code = """
import errno, fcntl, json, os
fd = next(fd for fd in range(3, 4096) if os.path.exists(f"/proc/self/fd/{fd}"))
def outcome(call, *words):
    try:
        return call(*words)
    except OSError as error:
        return errno.errorcode[error.errno]
size = os.fstat(fd).st_size
print(json.dumps([size, outcome(os.ftruncate, fd, size * 2), outcome(os.ftruncate, fd, 0),
                  outcome(os.pwrite, fd, b"x", size), outcome(os.posix_fallocate, fd, size, 4096),
                  outcome(fcntl.fcntl, fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE),
                  outcome(os.pwrite, fd, b"[" * size, 0)]), flush=True)
{"not": "this"}
"""
    result, = warm(code, value=1)
    size, *outcomes = json.loads(result["stdout"])
    assert size <= 128 << 10
    assert outcomes == ["EPERM"] * 5 + [size]
    assert result["status"] == "ok" and result["value"] is None  # its bytes are no value


def test_W04_W05_control(attack):
    """The same facts of a process that has inherited a lot are different."""
    code = """
import os, resource, signal, subprocess, sys
os.umask(0o077)
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
signal.setitimer(signal.ITIMER_REAL, 100)
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
os.set_inheritable(os.pipe()[0], True)
os.execv(sys.executable, [sys.executable, sys.argv[1]])
"""
    done = subprocess.run([harness.PYTHON, "-c", code, harness.PROGRAMS / "w04_facts.py"],
                          capture_output=True, text=True, check=True)
    seen = json.loads(done.stdout)
    assert len(seen["descriptors"]) == 4
    assert seen["umask"] == 0o077
    assert seen["timers"]["0"][0] > 0
    assert int(seen["status"]["SigBlk"], 16) == 1 << signal.SIGUSR2 - 1
    assert int(seen["status"]["SigIgn"], 16) & 1 << signal.SIGUSR1 - 1
    assert seen["limits"]["7"] == [100, 100]


def test_W05_request_of_its_own(attack, warm):
    """Arguments and environment come from the request, and the template's are not readable."""
    code = ("import json, os, sys; print(json.dumps([sys.argv, os.environ['MINE'],"
            " open('/proc/self/environ').read(), open('/proc/self/cmdline').read()]))")
    run = attack.brig("--start", "warm", "--env", "MINE=yes", "-c", code, "--", "one", "two words")
    assert run.result["start"] == "warm"
    argv, mine, environ, cmdline = json.loads(run.stdout)
    assert argv == ["/sandbox/code.py", "one", "two words"]
    assert mine == "yes"
    # The room is limited to the length that the template had for its own: see warm.md.
    assert cmdline.startswith("/usr/bin/python3\0/sandbox/code.py\0")
    assert "\0".join(["/usr/bin/python3", *argv, ""]).startswith(cmdline.rstrip("\0"))
    assert environ.startswith("PATH=/usr/local/bin:/usr/bin:/bin\0HOME=/sandbox\0")
    assert not re.search("BRIG_ROOM|LD_BIND|NUM_THREADS|#|def boot", environ + cmdline)


def test_W05_C_environment(attack):
    """The environment in the C library and in children of the program is the request's, entry by
    entry."""
    code = ("import os; os.execv('/usr/bin/python3', ['python3', '-c',"
            " 'print(open(\"/proc/self/environ\").read().split(chr(0)))'])")
    options = ["--env", "HOME=/sandbox/a-longer-one", "--env", "MINE=yes", "--lang", "python"]
    cold, seen = (attack.brig("--start", start, *options, "-c", code) for start in ("cold", "warm"))
    assert seen.result["start"] == "warm"
    assert "MINE=yes" in cold.stdout and seen.stdout == cold.stdout
