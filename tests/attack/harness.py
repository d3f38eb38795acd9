# SPDX-License-Identifier: Apache-2.0
"""Running payloads: in a cell, bare on the host, or in throw-away namespaces.

A payload is a file of programs/: C (compiled once, statically) or Python. It prints a line
"name=value" for each attempt; Outcome.said has them. The same payload is run in a cell, where it
must fail, and as a control where nothing stops it, so that the test can fail.

With BRIG_ATTACK_START=warm the same tests attack cells that were made ahead: a Python payload is
run by a clone of the template, a compiled one is an input file that such a clone executes.
"""

import collections
import contextlib
import ctypes
import hashlib
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time

from own import own_mounts

PROGRAMS = pathlib.Path(__file__).parent / "programs"
HOSTILE = pathlib.Path(__file__).parents[1] / "programs" / "hostile"  # those that a soak can run too
BRIG = os.environ.get("BRIG", "build/brig")
PYTHON = "/usr/bin/python3"
ROOT = os.geteuid() == 0
TIMEOUT = 60
SLOW = int(os.environ.get("BRIG_TEST_SLOW", "1"))  # how much slower an emulated guest is
WARM = os.environ.get("BRIG_ATTACK_START") == "warm"

# Code by which a clone becomes a compiled payload, as if that had been started by itself.
BECOME = """\
import os, signal, sys
for name in ("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "LC_CTYPE"):
    os.environ.pop(name, None)
for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
    signal.signal(number, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""
# Options for which no cell is made ahead.
COLD_OPTIONS = {"--rw", "--ro"}
starts = collections.Counter()  # "warm" and "cold" runs of payloads, with BRIG_ATTACK_START=warm

# Every namespace that a cell has; the caller is root of its own, without rights on the host.
NAMESPACES = ["unshare", "--user", "--map-root-user", "--mount", "--net", "--ipc", "--uts",
              "--cgroup", "--pid", "--fork", "--mount-proc", "--kill-child"]
# A mount namespace alone: mounts and files made there never reach the host.
MOUNTS = ["unshare", "--mount", "--propagation", "private"]

# Settings of the kernel that no payload may change; those that this user cannot read are left out.
SETTINGS = [
    "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/domainname", "/proc/sys/kernel/sysrq", "/proc/sys/kernel/poweroff_cmd",
    "/proc/sys/kernel/randomize_va_space", "/proc/sys/kernel/yama/ptrace_scope",
    "/proc/sys/vm/overcommit_memory", "/proc/sys/vm/panic_on_oom", "/proc/swaps",
    "/sys/kernel/uevent_helper",
]
# Files of the host that payloads aim at.
FILES = ["/etc/passwd", "/etc/group", "/etc/shadow", "/etc/hosts", "/etc/resolv.conf",
         "/etc/ld.so.cache", "/usr/bin/env", "/bin/sh", "/usr/bin/python3"]


class Outcome:
    """The outcome of one run of a payload."""

    def __init__(self, done, result=None):
        self.status = done.returncode  # of the process; of brig when in a cell
        self.result = result  # brig's result object; None outside a cell
        self.stdout = done.stdout if result is None else result.get("stdout", "")
        self.stderr = done.stderr if result is None else result.get("stderr", "")
        self.said = says(self.stdout)

    @property
    def denial(self):
        """The first call that the policy refused, or {}."""
        return (self.result or {}).get("verdict", {}).get("denial") or {}

    def __getitem__(self, name):
        assert name in self.said, f"the payload did not get to {name!r}: {self}"
        return self.said[name]

    def __repr__(self):
        return f"<status {self.status} said {self.said} stderr {self.stderr!r} result {self.result}>"


def can_be_warm(options):
    """Whether a payload with these options must come from a cell that was made ahead."""
    return WARM and not COLD_OPTIONS & set(options)


def start_of(words):
    """The kind of start, unless the test sets it; runs that cannot be warm are then cold."""
    return ["--start", "warm"] if WARM and "--start" not in words else []


def says(text):
    """The lines name=value; a repeated name keeps its last value."""
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line)
    return dict(pairs)


def execute(words, cwd, stdin="", env=None, timeout=TIMEOUT, **more):
    """In a session of its own: a payload's signals to its group must not reach the tests."""
    more.setdefault("start_new_session", True)
    return subprocess.run([str(word) for word in words], cwd=cwd, input=stdin, env=env,
                          capture_output=True, text=True, errors="replace", timeout=timeout, **more)


class Attack:
    """Where a test's payloads run; `dir` is the test's own directory."""

    def __init__(self, build, directory):
        self.build = build  # compiled payloads, shared by all tests
        self.dir = directory

    # --- payloads -------------------------------------------------------------------------------

    def program(self, name):
        """The file to run: NAME.py as it is, or NAME.c compiled."""
        for place in (PROGRAMS, HOSTILE):
            script = place / f"{name}.py"
            if script.exists():
                return script
        return compiled(self.build, name)

    def _cell_words(self, name, args, options):
        program = self.program(name)
        if can_be_warm(options) and program.suffix != ".py":
            return ["--in", program, "--lang", "python", "-c", BECOME, "--",
                    f"/sandbox/{program.name}", *args]
        if program.suffix == ".py":
            return [program, "--", *args] if args else [program]
        return ["--", program, *args]

    # --- ways to run ----------------------------------------------------------------------------

    def brig(self, *words, check=True, **more):
        """`brig run --json WORDS`. With check, the result must not be a failure of brig itself."""
        done = execute([BRIG, "run", "--json", *start_of(words), *words], self.dir, **more)
        try:
            result = json.loads(done.stdout)
        except ValueError:
            raise AssertionError(f"no JSON from brig {words}: {done!r}") from None
        outcome = Outcome(done, result)
        if WARM and "start" in result:
            starts[result["start"]] += 1
        if check:
            assert result.get("status") not in (None, "error", "rejected", "lost"), outcome
        return outcome

    def cell(self, name, *args, options=(), **more):
        """The payload in a cell, with the default policy unless the options say otherwise."""
        words = self._cell_words(name, args, options)
        outcome = self.brig(*options, *words, **more)
        if can_be_warm(options) and "start" in outcome.result:
            assert outcome.result["start"] == "warm", outcome
        return outcome

    def spawn(self, name, *args, options=(), **more):
        """The same without waiting: a Popen with pipes."""
        words = [*options, *self._cell_words(name, args, options)]
        words = [BRIG, "run", "--json", *start_of(words), *words]
        return subprocess.Popen([str(word) for word in words], cwd=self.dir, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **more)

    def bare(self, name, *args, prefix=(), **more):
        """Control: the payload on the host as the user of the tests, behind `prefix`."""
        program = self.program(name)
        start = [PYTHON] if program.suffix == ".py" else []
        return Outcome(execute([*prefix, *start, program, *args], self.dir, **more))

    def namespaced(self, name, *args, **more):
        """Control: the payload as root of fresh namespaces, without any of brig's other layers."""
        return self.bare(name, *args, prefix=NAMESPACES, **more)

    # --- policies -------------------------------------------------------------------------------

    def policy(self, name, **keys):
        """Options that select a policy of the test, made of the default and these keys."""
        config = self.dir / "config"
        (config / "policies").mkdir(parents=True, exist_ok=True)
        text = json.dumps({"extends": "default", **keys})
        (config / "policies" / f"{name}.json").write_text(text)
        return ["--config", config, "--policy", name]


def compiled(build, name):
    """programs/NAME.c, compiled once."""
    program = build / name
    if not program.exists():
        source = PROGRAMS / f"{name}.c"
        half = build / f".{name}.{os.getpid()}"
        # A source may request more, in a comment "flags: ...".
        more = re.findall(r"/\* flags: (.*) \*/", source.read_text())
        subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-O1", "-static",
                        "-pthread", *" ".join(more).split(), "-o", half, source], check=True)
        half.rename(program)
    return program


# --- the host -----------------------------------------------------------------------------------


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def read(path):
    """Its text, or the error instead: both must stay the same."""
    try:
        return pathlib.Path(path).read_text(errors="replace")
    except OSError as error:
        return f"errno {error.errno}"


def host_state():
    """The state of the host that every attack must leave unchanged."""
    state = {path: read(path) for path in SETTINGS}
    for path in FILES:
        try:
            about = os.stat(path)
            facts = [about.st_mode, about.st_uid, about.st_gid, about.st_mtime_ns, about.st_nlink]
            state[path] = [*facts, digest(path)]
        except OSError as error:
            state[path] = f"errno {error.errno}"
    state["mounts"] = own_mounts(tempfile.gettempdir() + "/brig-attack-")
    state["root"] = os.listdir("/")
    return state


def user_keys():
    """Keys of this user that programs made: {(description, ...)}."""
    return {tuple(line.split()[8:]) for line in read("/proc/keys").splitlines()
            if f" {os.getuid()} " in line and "user" in line.split()[7:8]}


def add_key(description):
    """A key of this process, which is removed with it."""
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.syscall(248, b"user", description.encode(), b"x", 1, -2)  # add_key, process keyring


def landlock_abi():
    """The kernel's answer to landlock_create_ruleset(NULL, 0, VERSION); 0: none."""
    libc = ctypes.CDLL(None, use_errno=True)
    return max(libc.syscall(444, None, 0, 1), 0)


def signals_scoped():
    """Whether the kernel refuses signals from a program to brig-init. For an ordinary user both
    have the same id outside: there only Landlock's scope (ABI 6, Linux 6.12) refuses them."""
    return ROOT or landlock_abi() >= 6


def adopt_orphans():
    """Processes that a run leaves behind become children of ours, and children() finds them."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def children():
    """Living processes that are ours now."""
    found = []
    me = os.getpid()
    for task in os.listdir(f"/proc/{me}/task"):
        try:
            found += [int(pid) for pid in read(f"/proc/{me}/task/{task}/children").split()]
        except ValueError:
            pass
    return [pid for pid in found if state_of(pid) not in (None, "Z", "X")]


def state_of(pid):
    """R, S, Z...; None: the process does not exist."""
    try:
        return read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[0]
    except IndexError:
        return None


def descendants(pid):
    """All processes below one, e.g. those of the cell below brig."""
    found, queue = [], [pid]
    while queue:
        tasks = f"/proc/{queue.pop()}/task"
        try:
            names = os.listdir(tasks)
        except OSError:  # ended meanwhile
            continue
        for task in names:
            text = read(f"{tasks}/{task}/children")
            below = [int(word) for word in text.split() if word.isdigit()]
            found += below
            queue += below
    return found


@contextlib.contextmanager
def open_directory():
    """A directory that every user can enter; removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="brig-attack-") as path:
        os.chmod(path, 0o755)
        yield pathlib.Path(path)


def wait_for(condition, seconds=5.0):
    """The first true value of a condition; AssertionError when it timed out."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, "it did not come in time"
        time.sleep(0.005)
