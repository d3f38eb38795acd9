# SPDX-License-Identifier: Apache-2.0
"""Hostile programs: they gain nothing by being learned from, and a policy learned from a good one
holds against a bad one."""

import json
import re
import time

import pytest

PYTHON = ("--lang", "python", "-c")

# Each does one thing more than the program that was learned from.
MORE = {
    "socket": "import socket; socket.socket()",
    "netlink": "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "fork": "import os; os.fork() or os._exit(0); print('forked')",
    "program": "import subprocess, sys; subprocess.run([sys.executable, '-c', '1'], check=True)",
    "thread": "import threading; t = threading.Thread(target=print); t.start(); t.join()",
    "rename": "import os; open('/tmp/x', 'w').close(); os.rename('/tmp/x', '/tmp/y')",
    "directory": "import os; os.mkdir('/tmp/z')",
    "memfd": "import os; os.memfd_create('x')",
    "link": "import os; os.symlink('/etc/passwd', '/tmp/l')",
    "shadow": "open('/etc/shadow').read()",
    "memory": "x = bytearray(200 << 20)",
}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    from conftest import Learned
    learned = Learned(tmp_path_factory.mktemp("small"))
    learned.learn(*PYTHON, "print(open('/sandbox/code.py').read()[:5])")
    return learned


@pytest.mark.parametrize("what", MORE)
def test_a_program_that_does_more_is_refused(small, brig, what):
    allowed = json.loads(brig("run", "--json", *PYTHON, "print('x')\n" + MORE[what]).stdout)
    under = small.run(*PYTHON, "print('x')\n" + MORE[what])
    assert under["status"] not in ("ok", "error"), under
    assert under["stdout"] == "x\n"
    if what in ("socket", "fork", "thread", "program"):
        assert allowed["status"] == "ok", allowed
        assert under["verdict"]["denial"], under["verdict"]


def test_dangerous_calls_stay_refused(small):
    code = """
import ctypes
c = ctypes.CDLL(None, use_errno=True)
for nr in (101, 272, 165, 321, 310, 311, 438, 425, 246):
    print(c.syscall(nr, 0, 0, 0, 0, 0, 0), ctypes.get_errno() != 0)
"""
    under = small.run(*PYTHON, code)
    assert under["stdout"] == "-1 True\n" * 9, under


ATTEMPTS = """
import ctypes, os
c = ctypes.CDLL(None, use_errno=True)
def ask(*a):
    ctypes.set_errno(0)
    r = c.syscall(*[ctypes.c_long(x) for x in a])
    return ctypes.get_errno() if r == -1 else 0
print([ask(n, 0, 0, 0, 0, 0) for n in (101, 165, 166, 272, 308, 310, 311, 321, 298, 323, 425, 438)])
print([ask(41, f, t, p) for f in range(46) for t in range(1, 6) for p in (0, 6, 17)])
print([ask(56, 1 << b, 0, 0, 0, 0) for b in (17, 25, 26, 27, 28, 29, 30)])
print([ask(16, -1, n) for n in range(0x5400, 0x5480)])
"""


def test_a_watched_run_allows_nothing_more(brig, learned):
    plain = json.loads(brig("run", "--json", *PYTHON, ATTEMPTS).stdout)
    done = learned.learn(*PYTHON, ATTEMPTS)
    assert plain["status"] == "ok"
    assert plain["stdout"].encode() in done.stderr
    # Refused calls are recorded, and not granted.
    refused = learned.text.split("Refused while it was learned")[1]
    for call in ("ptrace", "mount", "unshare", "bpf", "setns", "process_vm_readv"):
        assert f'// "{call}", // refused' in refused
        assert call not in learned.policy()["syscalls"]
    again = learned.run(*PYTHON, ATTEMPTS.replace("(17, ", "(25, "))
    assert again["stdout"].splitlines()[0] == plain["stdout"].splitlines()[0]


NASTY = ['/tmp/a\n\t"ptrace",', '/tmp/x\r"mount"', '/tmp/\u2028"bpf"', '/tmp/*/ "kill"', '/tmp/\x1b[2J',
         '/tmp/"], "exec_writable": true, "x": ["', "/tmp/\\", "/tmp/\x85y", "/tmp/// {}"]


def test_names_cannot_write_the_policy(learned, brig):
    code = f"""
import os
for name in {NASTY!r}:
    for act in (os.mkdir, os.stat, lambda n: open(n, 'w'), lambda n: os.execv(n, [n])):
        try: act(name)
        except OSError: pass
    try: os.mkdir(name.encode() + bytes([0xff, 0x0a]))
    except (OSError, ValueError): pass
import socket
try: socket.socket(socket.AF_UNIX).connect('/tmp/s\\n"ptrace",')
except OSError: pass
"""
    learned.learn(*PYTHON, code, "--", 'arg\n"ptrace",')
    policy = learned.policy()
    assert policy["exec_writable"] is True  # it did try to run them
    for entry in policy["syscalls"]:
        assert entry.startswith(("@", "-")), entry
    # The proposal is ASCII, and brig itself wrote every line that is no comment.
    text = learned.file.read_bytes()
    assert text.isascii() and b"\r" not in text and b"\x1b" not in text
    bare = re.sub("//.*", "", learned.text)
    assert "ptrace" not in bare
    assert set(json.loads(bare)) == {
        "description", "provider", "auto_run", "may_miss", "limits", "on_output_limit", "files",
        "mounts", "caller_mounts", "env", "runtimes", "network", "guard", "monitor",
        "exec_writable", "syscalls"}
    data = json.loads(brig("policy", "learn", "--json", *PYTHON, code).stdout)
    assert any("ptrace" in file["path"] for file in data["files"])


def test_a_flood_of_names_is_bounded(record):
    found = record("--no-verify", "--timeout", "20s", *PYTHON, """
import os
for i in range(4000):
    try: os.stat('/tmp/' + 'x' * 100 + str(i))
    except OSError: pass
""")
    assert len(found["files"]) == 2048 and found["files_untold"] > 1000


def test_a_flood_of_calls_ends_with_its_time(brig):
    start = time.monotonic()
    done = brig("policy", "learn", "--no-verify", "--timeout", "2s", *PYTHON,
                "import os, threading\n"
                "def f():\n    while True: os.getppid()\n"
                "for _ in range(4): threading.Thread(target=f).start()\n")
    assert time.monotonic() - start < 25
    assert b"timeout" in done.stderr
    assert b"DID NOT END WELL" in done.stdout


def test_limits_hold_while_it_is_watched(record):
    assert record("--no-verify", "--memory", "32M", *PYTHON,
                  "x = bytearray(300 << 20)")["status"] in ("memory_limit", "failed")
    found = record("--no-verify", "--processes", "8", "--timeout", "5s", "--lang", "bash", "-c",
                   "f() { f | f & }; f; sleep 1")
    assert found["status"] in ("process_limit", "timeout", "failed", "ok")


def test_killed_in_the_middle(record):
    found = record("--no-verify", "--lang", "bash", "-c",
                   "(while :; do :; done) & (while :; do read x < /etc/passwd; done) & kill -9 $$")
    assert found["status"] == "failed"


@pytest.mark.parametrize("call", ["ptrace", "process_vm_writev", "pidfd_getfd"])
def test_not_where_a_tracer_is_allowed(brig, tmp_path, call):
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "traced.json").write_text(json.dumps({
        "extends": "default",
        "syscalls": ["@basic", "@file", "@process", "@thread", "@socket", "@ipc", "@dangerous", call]}))
    done = brig("policy", "learn", "--config", tmp_path, "--policy", "traced", "--", "true")
    assert done.returncode != 0 and call.encode() in done.stderr
    assert b"cannot be watched" in done.stderr


def test_dangerous_calls_are_not_proposed_even_if_allowed(brig, tmp_path):
    from conftest import Learned
    learned = Learned(tmp_path)
    (learned.config / "policies" / "loose.json").write_text(json.dumps({
        "extends": "default",
        "syscalls": ["@basic", "@file", "@process", "@thread", "@socket", "@ipc", "@dangerous",
                     "perf_event_open"]}))
    learned.learn("--config", learned.config, "--policy", "loose", *PYTHON,
                  "import ctypes; ctypes.CDLL(None).syscall(298, 0, 0, 0, 0, 0)")
    assert '// "perf_event_open", // DANGEROUS' in learned.text
    assert "perf_event_open" not in learned.policy()["syscalls"]


def under(learned, base, code):
    (learned.config / "policies" / "base.json").write_text(json.dumps(base))
    learned.learn("--no-verify", "--config", learned.config, "--policy", "base", *PYTHON, code)
    return learned.policy()


def test_a_base_that_runs_nothing_written_stays_so(learned):
    """The attempt is only the program's claim; calls that the base forbids are not
    proposed for it."""
    policy = under(learned, {"extends": "default", "exec_writable": False},
                   "import os\ntry: os.execv('/tmp/x', ['x'])\nexcept OSError: pass")
    assert policy["exec_writable"] is False


def test_what_the_base_refuses_by_name_is_not_allowed_by_name(learned):
    groups = ["@basic", "@file", "@process", "@thread", "@socket", "@dangerous"]
    policy = under(learned, {"extends": "default",
                             "syscalls": [*groups, "-sysinfo", "-getcwd", "kill:tgkill"]},
                   "import os\ntry: os.getcwd()\nexcept OSError: pass")
    assert not {"sysinfo", "getcwd", "tgkill"} & set(policy["syscalls"]), policy["syscalls"]


def test_conditions_of_the_base_are_kept(learned):
    groups = ["@basic", "@file", "@process", "@thread", "@dangerous"]
    policy = under(learned, {"extends": "default", "syscalls": [
        *groups, "@socket:socket arg2 == 0", "@basic:uname arg1 == 0"]},
        "import os, socket\nos.uname()\nsocket.socket().close()")
    entries = [entry for entry in policy["syscalls"] if entry.startswith("@socket:socket ")]
    assert entries and entries[0].startswith("@socket:socket arg2 == 0 ; "), policy["syscalls"]


def test_other_limits_of_the_base_are_kept(learned, brig):
    (learned.config / "policies" / "base.json").write_text(json.dumps(
        {"extends": "default", "runtimes": ["command"]}))
    learned.learn("--no-verify", "--config", learned.config, "--policy", "base", "--", "true")
    assert learned.policy()["runtimes"] == ["command"]
