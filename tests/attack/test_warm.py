# SPDX-License-Identifier: Apache-2.0
"""docs/design/threat-model.md, warm processes: W1 to W10. See docs/design/warm.md for what is shared and why."""

import collections
import json
import os
import re
import select
import signal
import subprocess

import harness
import pytest
from aftermath import status_of
from warmth import SCAN, TREE, Marker, preloading, said, warm, warm_host  # noqa: F401

NONE = "0000000000000000"


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
    """Forks of one interpreter that nobody makes fresh share their generators."""
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
    """A template makes no more clones than it may; no two templates have anything in common."""
    runs = said(warm(*[LAYOUT] * 6, clones=2))
    for name in runs[0]:
        counts = collections.Counter(run[name] for run in runs)
        assert max(counts.values()) <= 2, (name, counts)


def test_W02_W03_rotation_by_age(warm):
    # Long enough for one to get ready, also on a slow host.
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


# --- W4, W5: what a clone has of its template ---------------------------------------------------

FACTS = (harness.PROGRAMS / "w04_facts.py").read_text()
# Facts of a warm cell that are not those of a cold one, and why.
DIFFERENT = {
    "exe": "a file in memory: see warm.md",
    "layout": "the pages of a clone",
}


def facts(results):
    facts, = said(results)
    return facts


def test_W04_W05_as_cold(attack, warm):
    """Descriptors, timers, signals, environment, limits...: all as a new interpreter has them."""
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
    """Who asks for a value gives the program one descriptor more, which no child of it gets."""
    seen = facts(warm(FACTS, value=1))
    more = [what for fd, what in seen["descriptors"].items() if int(fd) > 2]
    assert [(kind, flags) for kind, _, flags in more] == [("file", 1)]  # 1: FD_CLOEXEC


def test_W04_value_file_is_bounded(warm):
    """What takes the value can be filled with anything, but not made larger or mapped beyond."""
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
    assert result["status"] == "ok" and result["value"] is None  # what it wrote is no value


def test_W04_W05_control(attack):
    """The same facts of a process that has inherited a lot are others."""
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
    """Arguments and environment come from the request, and the template's are nowhere to be read."""
    code = ("import json, os, sys; print(json.dumps([sys.argv, os.environ['MINE'],"
            " open('/proc/self/environ').read(), open('/proc/self/cmdline').read()]))")
    run = attack.brig("--start", "warm", "--env", "MINE=yes", "-c", code, "--", "one", "two words")
    assert run.result["start"] == "warm"
    argv, mine, environ, cmdline = json.loads(run.stdout)
    assert argv == ["/sandbox/code.py", "one", "two words"]
    assert mine == "yes"
    # There is as much room to show as the template has had for its own: see warm.md.
    assert cmdline.startswith("/usr/bin/python3\0/sandbox/code.py\0")
    assert "\0".join(["/usr/bin/python3", *argv, ""]).startswith(cmdline.rstrip("\0"))
    assert environ.startswith("PATH=/usr/local/bin:/usr/bin:/bin\0HOME=/sandbox\0")
    assert not re.search("BRIG_ROOM|LD_BIND|NUM_THREADS|#|def boot", environ + cmdline)


def test_W05_C_environment(attack):
    """What the C library and children of the program see is the request's, entry by entry."""
    code = ("import os; os.execv('/usr/bin/python3', ['python3', '-c',"
            " 'print(open(\"/proc/self/environ\").read().split(chr(0)))'])")
    options = ["--env", "HOME=/sandbox/a-longer-one", "--env", "MINE=yes", "--lang", "python"]
    cold, seen = (attack.brig("--start", start, *options, "-c", code) for start in ("cold", "warm"))
    assert seen.result["start"] == "warm"
    assert "MINE=yes" in cold.stdout and seen.stdout == cold.stdout


# --- W6: memory ---------------------------------------------------------------------------------

LEAVE = """
import builtins, json, os, sys, threading, types
marker = PLAIN
heap = [bytearray(marker) for _ in range(100)]
os.environb[b"MARKER"] = marker
os.putenv("MARKER_TOO", marker.decode())
builtins.marker = marker.decode()
json.marker = marker.decode()
sys.modules[marker.decode()] = types.ModuleType(marker.decode())
sys.path.append(marker.decode())
places = ["/dev/shm/", "/tmp/", "/sandbox/", "/sandbox/out/"]
for place in places:
    with open(place + marker.decode(), "wb") as file:
        file.write(marker)
threading.current_thread().name = marker.decode()
# Also over the ends of whatever could be written by two: data of libraries, the template's plan.
import ctypes
for line in open("/proc/self/maps"):
    words = line.split(None, 5)
    if len(words) > 5 and words[1].startswith("rw") and "[" not in words[5]:
        end = int(words[0].split("-")[1], 16)
        ctypes.memmove(end - 64, marker, 64)
"""
SEARCH = """
import builtins, json, os, sys
places, length = found(MASKED)
files = [os.path.join(top, name) for root in ("/dev/shm", "/tmp", "/sandbox", "/run", "/var")
         for top, _, names in os.walk(root) for name in names]
print(json.dumps({
    "memory": sorted(set(places)), "length": length, "files": sorted(files),
    "builtins": sorted(name for name in vars(builtins) if "mark" in name),
    "modules": [name for name in sys.modules if len(name) == 64],
    "environ": sorted(os.environ),
}), flush=True)
os._exit(0)
"""


def searching(marker, leave=False):
    search = SCAN + SEARCH.replace("MASKED", repr(marker.masked))
    return (LEAVE.replace("PLAIN", marker.plain) if leave else "") + search


@pytest.mark.parametrize("together", [False, True], ids=["one-by-one", "at-once"])
def test_W06_nothing_of_an_earlier_run(warm, together):
    marker = Marker()
    search = searching(marker)
    options = {"together": 1} if together else {}
    left, seen, after = said(warm(searching(marker, leave=True), search, search, **options))
    # Control: in its own process it is found, in each kind of place.
    assert {"[heap]", "anonymous"} & set(left["memory"])
    assert [name for name in left["memory"] if "memfd" in name or ".so" in name]
    assert left["builtins"] == ["marker"] and left["modules"] == [marker.text]
    assert len(left["files"]) == 5
    for run in (seen, after):
        assert run["length"] > 8 << 20  # it did look
        assert run["memory"] == [] and run["builtins"] == [] and run["modules"] == []
        assert run["files"] == ["/sandbox/code.py"]
        assert "MARKER" not in run["environ"]


def test_W06_nothing_of_the_host_program(warm):
    """The template is no copy of who made it."""
    marker = Marker()
    secret = {**os.environ, "SECRET": marker.text}
    seen, = said(warm(searching(marker), tenant=marker.text[:40], env=secret))
    assert seen["memory"] == [] and seen["length"] > 8 << 20


@pytest.mark.parametrize("modules", [[], ["numpy", "platform", "socket", "uuid", "getpass"]],
                         ids=["plain", "preloaded"])
def test_W06_nothing_of_the_host(attack, warm, modules):
    """Names and ids of the host, which a template may have met, are not passed on."""
    code = ("import json, os, platform, socket, struct, uuid\n"
            "auxv = open('/proc/self/auxv', 'rb').read()\n"
            "pairs = dict(struct.unpack_from('QQ', auxv, at) for at in range(0, len(auxv), 16))\n"
            "print(json.dumps({'node': platform.node(), 'name': socket.gethostname(),\n"
            " 'uname': list(platform.uname())[:2], 'fqdn': socket.getfqdn(),\n"
            " 'ids': [pairs[n] for n in (11, 12, 13, 14)], 'home': os.path.expanduser('~')}))")
    seen, = said(warm(code, config=preloading(attack, *modules)))
    assert seen == {"node": "brig", "name": "brig", "uname": ["Linux", "brig"],
                    "fqdn": "localhost", "ids": [1000] * 4, "home": "/sandbox"}


# --- W7: shared mappings ------------------------------------------------------------------------

SHARED = """
import ctypes, errno, json, mmap, os
def shared():
    lines = [line.split(None, 5) for line in open("/proc/self/maps")]
    return [(line[0], line[1]) for line in lines if line[1][3] == "s"]
libc = ctypes.CDLL(None, use_errno=True)
made_writable, opened = [], []
before = shared()
for where, _ in before:
    start, end = (int(word, 16) for word in where.split("-"))
    if libc.mprotect(ctypes.c_void_p(start), ctypes.c_size_t(end - start), 3) == 0:
        made_writable.append(where)
for name in os.listdir("/proc/self/map_files"):
    try:
        opened.append(os.open("/proc/self/map_files/" + name, os.O_RDONLY))
    except OSError as error:
        assert error.errno == errno.EPERM, error
own = mmap.mmap(-1, 4096)
print(json.dumps({"writable": [how for _, how in before if how[1] == "w"],
                  "made": made_writable, "opened": opened,
                  "control": [how for _, how in shared() if how[1] == "w"]}))
"""


def test_W07_no_shared_memory(warm):
    for run in said(warm(SHARED, SHARED, together=1)):
        assert run == {"writable": [], "made": [], "opened": [], "control": ["rw-s"]}


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


def families(host):
    """Processes below a host program: those with one number (keeper, template), those in cells."""
    outside, inside = {}, {}
    for pid in harness.descendants(host.pid):
        status = status_of(pid)
        if not status:
            continue  # it ended just now
        numbers = status.get("NSpid", "").split()
        (inside if len(numbers) > 1 else outside)[pid] = status
    return outside, inside


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


def has_only_its_own(pid):
    try:
        kinds = [os.readlink(f"/proc/{pid}/fd/{fd}").split(":")[0]
                 for fd in os.listdir(f"/proc/{pid}/fd")]
    except FileNotFoundError:
        return False  # closed just now
    return kinds.count("socket") <= 1 and set(kinds) <= {"pipe", "socket"} and len(kinds) <= 4


def test_W08_template_has_nothing(sleeping):
    """Keeper and template: no privilege that a program could win by winning them."""
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
        # Of descriptors only its own pipes and the one socket; a cell's, while it makes that one.
        harness.wait_for(lambda: has_only_its_own(pid))


# --- W9: a poisoned interpreter -----------------------------------------------------------------

POISON = """
import atexit, builtins, fcntl, gc, json, os, site, sys, sysconfig
tried = {}
def attempt(name, call):
    try:
        call()
        tried[name] = "OK"
    except Exception as error:
        tried[name] = type(error).__name__
def write(path, text="raise SystemExit(66)"):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
library = os.path.dirname(os.__file__)
for path in (json.__file__, json.__cached__, library + "/sitecustomize.py", library + "/x.pth",
             "/etc/ld.so.preload", "/usr/local/lib/python3/dist-packages/x.pth", sys.executable):
    attempt(path, lambda: write(path))
# Where it may write: what a new interpreter would read from there.
home = site.getusersitepackages()
for path in (home + "/usercustomize.py", home + "/x.pth", "/sandbox/sitecustomize.py",
             "/sandbox/json.py", "/tmp/sitecustomize.py", "/dev/shm/sitecustomize.py"):
    attempt(path, lambda: write(path))
# Its own file.
attempt("exe times", lambda: os.utime("/proc/self/exe", (1, 1)))
attempt("exe mode", lambda: os.chmod("/proc/self/exe", 0o500))
attempt("exe attribute", lambda: os.setxattr("/proc/self/exe", "user.mark", b"1"))
attempt("exe write", lambda: os.open("/proc/self/exe", os.O_RDWR))
attempt("exe truncate", lambda: os.truncate("/proc/self/exe", 0))
# Itself.
os.environ["LD_PRELOAD"] = "/sandbox/evil.so"
os.environ["PYTHONPATH"] = "/sandbox"
atexit.register(lambda: os.write(1, b"from atexit"))
gc.unfreeze()
for it in gc.get_objects():
    if type(it) is dict and it.get("__name__") == "brig.driver":
        it.clear()
json.dumps = builtins.print = len
sys.modules["os"] = sys
sys.path.insert(0, "/sandbox")
builtins.open = None
os.write(1, repr(tried).encode())
"""
STATE = """
import atexit, builtins, hashlib, json, os, site, sys
about = os.stat("/proc/self/exe")
print(json.dumps({
    "exe": [about.st_mode, about.st_mtime_ns, about.st_size, about.st_uid, about.st_ino,
            os.listxattr("/proc/self/exe")],
    "json": [hashlib.sha256(open(name, "rb").read()).hexdigest()
             for name in (json.__file__, json.__cached__)],
    "names": [str(it) for it in (json.dumps, builtins.print, builtins.open)][1:],
    "path": sys.path, "environ": sorted(os.environ.items()), "modules": sorted(sys.modules),
    "atexit": atexit._ncallbacks(), "home": os.path.exists(site.getusersitepackages()),
    "files": [sorted(os.listdir(top)) for top in ("/sandbox", "/tmp", "/dev/shm")],
}))
"""


def test_W09_poisoned(warm):
    before, poison, after = warm(STATE, POISON, STATE)
    tried = eval(poison["stdout"].removesuffix("from atexit"))  # repr of a dict of texts
    assert poison["stdout"].endswith("from atexit")  # control: it works on itself
    done = sorted(name for name, came in tried.items() if came == "OK")
    # Control: these it may do, and a cell that were used again would suffer from them.
    assert "/sandbox/sitecustomize.py" in done and "/tmp/sitecustomize.py" in done
    assert [name for name in done if not name.startswith(("/sandbox", "/tmp", "/dev/shm"))] == []
    before, after = said([before, after])
    assert before == after


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
    # Control: nothing of that holds outside.
    bare = json.loads(harness.execute([harness.PYTHON, program], attack.dir).stdout)
    assert bare["status"]["Seccomp"] == "0" and bare["status"]["NoNewPrivs"] == "0"
    assert bare["landlock"] == "OK" and bare["root"] != seen["root"]


def test_W10_sealed_while_it_waits(sleeping):
    """From outside: cells that nobody has asked for yet come to have every wall by themselves."""

    def programs():
        found = {pid: status for pid, status in families(sleeping)[1].items()
                 if status["NSpid"].split()[1] in ("2", "3")}
        # One runs, the others wait, and none is in the making.
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


# --- "done" is the program's own word: native/done.h ------------------------------------------------

SAY = """
import ctypes, errno, os, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def done(status):
    "Does not come back when it is believed."
    answer = libc.syscall(99, ctypes.c_long(0), ctypes.c_long(0x656e6f642d676972),
                          ctypes.c_long(status))
    return answer, errno.errorcode.get(ctypes.get_errno())
REFUSED = (-1, "ENOSYS")
"""
KERNEL = tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2])


@pytest.fixture
def believed(warm):
    """Whether anybody is: the kernel counts a cell's tasks, and only a kill wakes who was heard."""
    result, = warm(SAY + "done(0)\nos._exit(50)")
    can = {"cgroup-pids", "notify"} <= set(result["layers"]) and KERNEL >= (5, 19)
    assert result["exit_code"] == (0 if can else 50)
    return can


def end_of(warm, code, **options):
    result, = warm(SAY + code, **options)
    assert result["verdict"]["denial"] is None, result
    return result


def test_done_and_goes_on(warm, believed):
    """After the word nothing of it runs, not even its next line."""
    result = end_of(warm, """
os.write(1, b"before ")
done(7)
os.write(1, b"after")
open("out/after", "w").close()
os._exit(8)
""")
    seen = result["exit_code"], result["stdout"], len(result["files"])
    assert seen == ((7, "before ", 0) if believed else (8, "before after", 1))


def test_done_under_a_hail_of_signals(warm):
    """They wake it before it is heard, never after: what it says is one piece, and its end one."""
    result = end_of(warm, """
import signal
signal.signal(signal.SIGALRM, lambda *_: os.write(1, b"x"))
signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)
for _ in range(2000):
    os.write(1, b"[")
    done(7)
    os.write(1, b"]")
""")
    # Eight times it is looked at; then, or when it was believed, that is all.
    assert result["exit_code"] in (0, 7)
    if result["exit_code"] == 7:
        assert result["stdout"].rstrip("x").endswith("[")


def test_done_leaves_no_process(warm):
    """Who is believed is killed, not left asleep."""
    host = warm.begin(SAY + "libc.prctl(15, b'sleeping-liar')\ndone(0)", "import time; time.sleep(3)")

    def liars():
        return [pid for pid, status in families(host)[1].items() if status["Name"] == "sleeping-liar"]

    first = json.loads(host.stdout.readline())
    assert first["status"] == "ok"
    harness.wait_for(lambda: not liars())
    assert host.poll() is None  # it is not its context's end that did it
    out, err = host.communicate(timeout=20)
    assert json.loads(out)["status"] == "ok", err


@pytest.mark.parametrize("other", ["os.fork() or (time.sleep(0.6), os.write(1, b'other '), os._exit(0))",
                                   "threading.Thread(target=lambda: (time.sleep(0.6), os.write(1, b'other '))).start()",
                                   "os.fork() or os._exit(0)"],
                         ids=["child", "thread", "zombie"])
def test_done_is_not_believed_with_company(warm, other):
    """As long as others are there, in whatever state, it is a call that fails."""
    result = end_of(warm, f"""
{other}
time.sleep(0.1)
answers = [done(status) for status in (0, 0, -1, 1 << 40, 256)]
assert answers == [REFUSED] * 5, answers
time.sleep(1.2)
os.write(1, b"me")
os._exit(9)
""")
    assert result["exit_code"] == 9
    assert result["stdout"] == ("me" if "fork() or os._exit" in other else "other me")


@pytest.mark.parametrize(("word", "status"), [(0, 0), (259, 3), (-1, 255), ((1 << 40) + 2, 2)])
def test_done_with_any_status(warm, believed, word, status):
    """It can say what it could also have ended with, and nothing else."""
    result = end_of(warm, f"done({word}); os._exit(50)")
    assert (result["exit_code"], result["signal"]) == (status if believed else 50, None)


def test_done_too_often(warm):
    """Each time costs the warden a look: it is not asked to look for ever."""
    result = end_of(warm, """
threading.Thread(target=time.sleep, args=(2,), daemon=True).start()
time.sleep(0.1)
assert {done(0) for _ in range(2000)} == {REFUSED}
time.sleep(2.2)
assert done(0) == REFUSED  # alone now, but too late
os._exit(6)
""")
    assert result["exit_code"] == 6


def test_done_by_a_child(warm):
    """While its parent lives, it is not the program."""
    result = end_of(warm, """
pid = os.fork()
if pid == 0:
    os._exit(40 if done(0) == REFUSED else 41)
os.write(1, str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())
os._exit(5)
""")
    assert (result["exit_code"], result["stdout"]) == (5, "40")


def test_done_by_an_orphan(warm):
    """A child that lies about its parent's end: one result, in time, with a status of the program's."""
    results = warm(*[SAY + """
if os.fork() == 0:
    while True:
        done(0)
time.sleep(0.05)
os._exit(4)
"""] * 5)
    assert {result["exit_code"] for result in results} <= {0, 4}
    assert max(result["usage"]["wall_ms"] for result in results) < 5000 * harness.SLOW


def test_done_loses_nothing_from_before(warm):
    """Output, files and usage are those up to the word, all of them."""
    result = end_of(warm, """
until = time.process_time() + 0.2
while time.process_time() < until:
    pass
open("out/large", "wb").write(bytes(1 << 20))
os.write(1, b"o" * 60000)
os.write(2, b"e" * 60000)
done(0)
os._exit(0)
""")
    assert (result["stdout"], result["stderr"]) == ("o" * 60000, "e" * 60000)
    assert [(file["path"], file["size"]) for file in result["files"]] == [("out/large", 1 << 20)]
    assert result["usage"]["cpu_ms"] >= 190
    assert result["usage"]["disk_bytes"] >= 1 << 20


def test_done_does_not_hide_a_limit(warm):
    """Too much output is too much, also when it was the last thing before the word."""
    result = end_of(warm, "sys.stdout.write('o' * (2 << 20)); sys.stdout.flush(); done(0); os._exit(0)")
    assert (result["status"], result["verdict"]["limit_name"]) == ("output_limit", "stdout_bytes")


@pytest.mark.parametrize("flags", [0x100, 0x4100], ids=["CLONE_VM", "vfork"])
def test_done_by_a_sharer_of_memory(warm, flags):
    """A child in its parent's own memory is one more task, whoever of the two says it."""
    result = end_of(warm, f"""
import mmap
stack = mmap.mmap(-1, 1 << 20)
top = (ctypes.addressof(ctypes.c_char.from_buffer(stack)) + (1 << 20) - 64) & ~15
CALL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
# No Python in the child, which would be two threads in one interpreter: C's own syscall() is it.
code = bytes.fromhex("b863000000" "31ff" "48be7269672d646f6e65" "ba03000000" "0f05"  # done(3)
                     "f7d8" "c3")  # return its errno
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(code)
entry = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(page)))
libc.clone.argtypes = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p
pid = libc.clone(entry, top, {flags} | 17, None)
assert pid > 0, ctypes.get_errno()
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
os._exit(9 if status == errno.ENOSYS else 10)
""")
    assert result["exit_code"] == 9


def test_done_without_its_first_thread(warm):
    """The first thread of a process stays as a zombie: who is left is not alone."""
    result = end_of(warm, """
def rest():
    time.sleep(0.2)
    os.write(1, repr([done(0), done(0)]).encode())
    os._exit(9)
threading.Thread(target=rest).start()
libc.syscall(60, 8)
""")
    assert (result["exit_code"], result["stdout"]) == (9, "[(-1, 'ENOSYS'), (-1, 'ENOSYS')]")


def test_done_and_dies_in_its_sleep(warm):
    """A timer that kills who sleeps: one end or the other, at once, and the next run is well."""
    results = warm(*[SAY + f"""
import signal
signal.setitimer(signal.ITIMER_REAL, {0.0002 * turn})
done(7)
os._exit(8)
""" for turn in range(1, 9)], "print('well')")
    assert results.pop()["stdout"] == "well\n"
    for result in results:
        end = result["exit_code"], result["signal"]
        assert end in ((7, None), (8, None), (None, signal.SIGALRM)), result
        assert result["usage"]["wall_ms"] < 5000 * harness.SLOW


def test_done_with_much_memory(warm, believed):
    """What the kernel has to take apart first is the run's: then its end is waited for."""
    result = end_of(warm, """
much = bytearray(48 << 20)
assert done(0) == REFUSED
os._exit(9)
""")
    assert result["exit_code"] == 9
    assert end_of(warm, "done(7); os._exit(8)")["exit_code"] == (7 if believed else 8)  # control


def allowing(attack, *calls):
    """A configuration whose default policy has these as well."""
    config = attack.dir / "calls"
    (config / "policies").mkdir(parents=True)
    text = (TREE / "data/policies/default.json").read_text()
    names = json.loads(text[text.index('"syscalls":') + 11:text.rindex("}")])
    (config / "policies/default.json").write_text(
        json.dumps({"extends": "default", "syscalls": [*names, *calls]}))
    return config


@pytest.mark.parametrize("call", ["fcntl", "io_submit", "io_uring_setup", "io_uring_enter"])
def test_done_is_not_believed_with_lasting_calls(attack, warm, call):
    """Where a policy allows what outlasts a sleep, or holds up who reads files, only death counts."""
    result, = warm(SAY + """
import fcntl
file = open("out/held", "wb")
file.write(b"held")
file.flush()
try:
    fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    os.write(1, b"leased")
except OSError:
    pass
done(0)
os._exit(9)
""", config=allowing(attack, call))
    assert result["exit_code"] == 9
    assert result["stdout"] == ("leased" if call == "fcntl" else "")
    assert [(file["path"], file["size"]) for file in result["files"]] == [("out/held", 4)]


@pytest.mark.parametrize("call", ["kill:sysinfo", "-sysinfo", "sysinfo"])
def test_done_is_not_said_where_it_could_harm(attack, warm, call):
    """A policy that kills for the call, refuses it or answers it ends no program for its own end."""
    result, = warm("print('well')", config=allowing(attack, call))
    assert (result["status"], result["stdout"]) == ("ok", "well\n")
    assert result["verdict"]["denial"] is None


def test_done_in_a_cold_cell(attack):
    """Nobody is believed where the result says that nothing is left."""
    program = attack.dir / "done.py"
    program.write_text(SAY + "assert done(0) == REFUSED\nos._exit(8)")
    run = attack.brig("--start", "cold", program)
    assert (run.result["start"], run.result["exit_code"]) == ("cold", 8)


def test_done_comes_last(attack, warm):
    """An honest end: what Python and the C library still had to do or to write came before it."""
    code = """
import atexit, ctypes, os
libc = ctypes.CDLL(None)
text = ctypes.create_string_buffer(b"C's end")
ctypes.pythonapi.Py_IncRef(ctypes.py_object(text))  # outlives its module
libc.__cxa_atexit(libc.puts, text, None)
atexit.register(lambda: os.write(1, b"Python's end,"))
libc.fdopen.restype = ctypes.c_void_p
libc.fputs(b"C's buffer", ctypes.c_void_p(libc.fdopen(os.dup(1), b"w")))
open(1, "w", closefd=False).write("Python's buffer,")
kept = open(1, "w", closefd=False)
kept.write("Python's other buffer,")
"""
    program = attack.dir / "last.py"
    program.write_text(code)
    # As in a cell: there Python does not buffer its own streams.
    plain = harness.execute([harness.PYTHON, program], attack.dir,
                            env={**os.environ, "PYTHONUNBUFFERED": "1"}).stdout
    assert plain.endswith("C's end\nC's buffer")
    for modules in ([], ["ctypes"]):  # loaded by the program, which is waited for; or before
        result, = warm(code, config=preloading(attack, *modules))
        assert (result["status"], result["stdout"]) == ("ok", plain)


# --- L2 of the interpreter's own file -----------------------------------------------------------

WATCH = """
import ctypes, os, select, sys
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init1(0)
path = sys.argv[1] if len(sys.argv) > 1 else "/proc/self/exe"
assert libc.inotify_add_watch(fd, path.encode(), 0xfff) > 0
print("watching", flush=True)
input()
print(len(os.read(fd, 4096)) if select.select([fd], [], [], 0.2)[0] else 0)
"""


def events_of(words):
    """How much a watcher sees of a Python that starts on the host."""
    watcher = subprocess.Popen([str(word) for word in words], text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    ready, _, _ = select.select([watcher.stdout], [], [], 20)
    assert ready and watcher.stdout.readline() == "watching\n"
    subprocess.run([harness.PYTHON, "-c", "pass"], check=True)
    out, _ = watcher.communicate("\n", timeout=20)
    return int(out)


def test_W09_L2_nobody_else_s_python(tmp_path):
    program = tmp_path / "watch.py"
    program.write_text(WATCH)
    assert events_of([harness.BRIG, "run", "--start", "warm", program]) == 0
    # Control: who watches the host's file sees it.
    python = os.path.realpath(harness.PYTHON)
    assert events_of([harness.PYTHON, program, python]) > 0
