# SPDX-License-Identifier: Apache-2.0
"""docs/design/threat-model.md, warm processes: W6, W7 and W9. A run leaves nothing in later cells."""

import os
import select
import subprocess

import harness
import pytest
from warmth import SCAN, Marker, preloading, said


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
        assert run["length"] > 8 << 20  # it did search
        assert run["memory"] == [] and run["builtins"] == [] and run["modules"] == []
        assert run["files"] == ["/sandbox/code.py"]
        assert "MARKER" not in run["environ"]


def test_W06_nothing_of_the_host_program(warm):
    """The template is no copy of the process that made it."""
    marker = Marker()
    secret = {**os.environ, "SECRET": marker.text}
    seen, = said(warm(searching(marker), tenant=marker.text[:40], env=secret))
    assert seen["memory"] == [] and seen["length"] > 8 << 20


@pytest.mark.parametrize("modules", [[], ["numpy", "platform", "socket", "uuid", "getpass"]],
                         ids=["plain", "preloaded"])
def test_W06_nothing_of_the_host(attack, warm, modules):
    """Names and ids of the host, which a template may have read, are not passed on."""
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
    # Control: these are allowed, and would harm a cell that is used again.
    assert "/sandbox/sitecustomize.py" in done and "/tmp/sitecustomize.py" in done
    assert [name for name in done if not name.startswith(("/sandbox", "/tmp", "/dev/shm"))] == []
    before, after = said([before, after])
    assert before == after


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
    """How many bytes of events a watcher gets of a Python that starts on the host."""
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
    # Control: a watcher of the host's file gets them.
    python = os.path.realpath(harness.PYTHON)
    assert events_of([harness.PYTHON, program, python]) > 0
