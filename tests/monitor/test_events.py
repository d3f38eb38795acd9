# SPDX-License-Identifier: Apache-2.0
"""Each kind of event, its bounds, and the attempts of a program that knows of it."""

import subprocess

import pytest
from conftest import BRIG, of_kind

DENIED = """
import ctypes, socket
libc = ctypes.CDLL(None, use_errno=True)
def denied(times=1):
    for i in range(times):
        libc.syscall(101, 0, i, 0, 0) # ptrace
"""
OPEN = """
import os
def look(path, **more):
    try:
        os.close(os.open(path, os.O_RDONLY, **more))
    except OSError:
        pass
"""


def test_who_hides_its_memory_is_told_of(run):
    """An ordinary user cannot read the names that such a process opens; it can see that
    it hides."""
    code = OPEN + """
import ctypes
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) # PR_SET_DUMPABLE
look("/etc/shadow")
"""
    result = run(code, policy="watching")
    files = of_kind(result, "file.watched")
    assert {file["subject"] for file in files} & {"/etc/shadow", "(unreadable)"}, result["events"]


def test_a_quiet_run_has_none(run):
    result = run("print(1)")
    assert result["events"] == [] and result["events_dropped"] == 0
    assert not any(result["event_counts"].values())


def test_denied_calls(run):
    """Handled by the program, and reported all the same; by call and rule, not by its arguments."""
    code = DENIED + """
denied(3)
for family in range(20, 30):
    try:
        socket.socket(family, socket.SOCK_RAW)
    except OSError:
        pass
print("coped")
"""
    result = run(code)
    assert result["status"] == "ok" and result["stdout"] == "coped\n"
    first, second = of_kind(result, "call.denied")
    assert first["subject"].startswith("ptrace(") and first["count"] == 3
    assert second["subject"].startswith("socket(20") and second["count"] == 10
    assert result["event_counts"]["call.denied"] == 13
    assert result["verdict"]["denial"]["count"] == 13
    assert 0 <= first["first_ms"] <= second["first_ms"] <= result["duration_ms"]


def test_watched_calls(run):
    code = """
import os, socket
socket.socket().close()
pid = os.fork()
if pid == 0:
    try:
        os.execv("/nowhere", ["x"])
    except OSError:
        os._exit(0)
os.waitpid(pid, 0)
print("went on")
"""
    result = run(code, "watching")
    assert result["stdout"] == "went on\n", result
    events = {event["subject"].split("(")[0]: event for event in of_kind(result, "call.watched")}
    # The exec by which brig starts the program is not among them.
    assert {name: event["count"] for name, event in events.items()} == {"socket": 1, "execve": 1}
    assert all(event["reason"] == "monitor.calls" for event in events.values())
    assert events["execve"]["subject"] == "execve(/nowhere, ...)"
    assert not result["verdict"]["denial"]


def test_watched_files(run):
    """By any form of the path: relative, by descriptor, with dots and slashes."""
    code = OPEN + """
look("/etc/shadow")
look("/etc/../etc//./shadow")
os.chdir("/etc")
look("shadow")
root = os.open("/", os.O_RDONLY)
look("etc/shadow", dir_fd=root)
look("/etc/passwd")
look("/proc/self/mem")
look("/etc/hosts")
"""
    result = run(code, "watching")
    assert result["status"] == "ok", result
    counts = {event["subject"]: event["count"] for event in of_kind(result, "file.watched")}
    assert counts.pop("/sandbox/code.py", None) in (None, 1, 2)
    assert counts == {"/etc/shadow": 4, "/etc/passwd": 1, "/proc/self/mem": 1}, result["events"]


def test_links_do_not_hide_a_file(run):
    """Links to it, to a directory on the way, and from link to link."""
    code = OPEN + """
os.symlink("/etc/passwd", "/tmp/one")
os.symlink("one", "/tmp/two")
os.symlink("/etc", "/tmp/dir")
os.symlink("/../../../etc", "/tmp/up")
look("/tmp/one")
look("/tmp/two")
look("/tmp/dir/passwd")
look("/tmp/up/passwd")
os.symlink("/tmp/loop", "/tmp/loop")
look("/tmp/loop")
look("/tmp/dir/group")
"""
    result = run(code, "watching")
    assert result["status"] == "ok", result
    counts = {event["subject"]: event["count"] for event in of_kind(result, "file.watched")}
    counts.pop("/sandbox/code.py", None)
    assert counts == {"/etc/passwd": 4}, result["events"]


def test_watched_calls_are_answered_as_ever(run):
    """A watch decides nothing: allowed calls work, refused calls are refused."""
    code = DENIED + """
import subprocess, sys
open("/sandbox/x", "w").write("42")
print(open("/sandbox/x").read(), libc.syscall(101, 0, 0, 0, 0), ctypes.get_errno())
try:
    socket.socket(38, socket.SOCK_SEQPACKET) # AF_ALG
except OSError as error:
    print(error.errno)
"""
    plain, watched = run(code), run(code, "watching")
    assert plain["stdout"] == watched["stdout"] == "42 -1 1\n97\n", (plain, watched)
    assert plain["event_counts"]["call.denied"] == watched["event_counts"]["call.denied"] == 2


def test_guard(run):
    result = run("import os", "guarded")
    assert result["status"] == "rejected"
    (event,) = result["events"]
    assert event["kind"] == "guard.refused" and event["subject"] == "import"
    assert "os" in event["reason"]


def test_limits(run):
    code = """
import os, time
kept = []
for i in range(40):
    try:
        pid = os.fork()
    except OSError:
        continue
    if pid == 0:
        time.sleep(30)
    kept.append(pid)
time.sleep(0.5) # without a control group brig looks now and then
for pid in kept:
    os.kill(pid, 9)
print("x" * 5000)
"""
    result = run(code, "small")
    subjects = {event["subject"] for event in of_kind(result, "limit.touched")}
    assert subjects == {"processes", "stdout_bytes"}, result["events"]
    assert result["status"] in ("ok", "process_limit")


# --- floods ---------------------------------------------------------------------------------


def test_flood_of_denied_calls(run):
    """The listener stops at 20000; the run continues, and the list is as short as usual."""
    result = run(DENIED + "denied(100000)\nprint('over')", "default", "--timeout", "100s")
    assert result["status"] == "denied" and result["verdict"]["cause"] == "denials"
    assert len(result["events"]) == 1
    # Until the kill takes effect some more are received.
    assert 10000 < result["event_counts"]["call.denied"] <= 20001


def test_flood_of_subjects(run):
    """Many files of one line of the policy do not hide those of another, nor other kinds."""
    code = DENIED + OPEN + """
for i in range(10000):
    look("/sandbox/%d" % i)
look("/etc/shadow")
denied()
print("over")
"""
    result = run(code, "watching", "--timeout", "100s", "--cpu-time", "100s")
    assert result["stdout"] == "over\n", result
    files = of_kind(result, "file.watched")
    assert len(files) == 5 and files[-1]["subject"] == "/etc/shadow"
    assert 10001 <= result["event_counts"]["file.watched"] <= 10003
    assert 9990 <= result["events_dropped"] <= 10000
    assert of_kind(result, "call.denied")[0]["count"] == 1
    assert len(subprocess.list2cmdline([str(result["events"])])) < 40000


# --- thresholds -----------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["patient", "older"])
def test_too_many_denied_calls(run, policy):
    """denials_max is the same threshold by its older name."""
    assert run(DENIED + "denied(5)\nprint(1)", policy)["status"] == "ok"
    result = run(DENIED + "denied(1000)\nprint('still here')", policy)
    assert result["status"] == "denied" and result["verdict"]["cause"] == "denials", result
    assert result["stdout"] == "" and result["exit_code"] is None
    assert "ptrace" in result["verdict"]["remedy"]
    assert "monitor.end_after.denied_calls" in result["verdict"]["operator_remedy"]
    assert 6 <= result["event_counts"]["call.denied"] <= 1000


def test_too_much_of_what_is_watched(run):
    code = OPEN + """
import socket
for i in range(1000):
    look("/etc/shadow")
    socket.socket().close()
print("still here")
"""
    result = run(code, "patient")
    assert result["status"] == "denied" and result["verdict"]["cause"] == "watched", result
    assert result["stdout"] == ""
    assert "/etc/shadow" in result["verdict"]["remedy"] or "socket" in result["verdict"]["remedy"]
    assert "monitor.end_after.watched" in result["verdict"]["operator_remedy"]


def test_exit_status_and_words(config):
    done = subprocess.run(
        [BRIG, "run", "--config", config, "--policy", "patient", "-c",
         OPEN + "for i in range(99): look('/etc/shadow')"], capture_output=True, text=True,
        check=False)
    assert done.returncode == 126
    assert "event: file.watched, " in done.stderr and "/etc/shadow" in done.stderr
    assert "monitor.end_after.watched" in done.stderr


# --- hostile programs -----------------------------------------------------------------------


def test_hostile_names(run):
    """Bytes of the program in a list that others read: printable, and short."""
    code = OPEN + r"""
for name in (b"\xff\xfe\n\x1b]0;owned\x07", b'","kind":"call.denied"}', b"\xe2\x80\xae" * 50,
             b"a" * 255, b"\\x41\x00b"):
    try:
        look(b"/etc/pass" + name)
    except ValueError:
        pass
"""
    result = run(code, "watching")
    subjects = [event["subject"] for event in of_kind(result, "file.watched")
                if event["subject"].startswith("/etc/pass")]
    assert len(subjects) == 4
    for subject in subjects:
        assert len(subject) < 192 and all(" " <= c <= "~" for c in subject), subject
    assert r"\xff\xfe\x0a\x1b]0;owned\x07" in subjects[0]
    assert of_kind(result, "call.denied") == []


def test_bad_pointers(run):
    """A path that cannot be read is the kernel's EFAULT, as without a watch."""
    code = DENIED + """
for address in (0, 1, 4096, (1 << 47) - 1, (1 << 63) + 5, (1 << 64) - 1):
    ctypes.set_errno(0)
    print(libc.syscall(257, -100, ctypes.c_void_p(address), 0, 0), ctypes.get_errno())
"""
    plain, watched = run(code), run(code, "watching")
    assert plain["stdout"] == watched["stdout"] and plain["stdout"].count("-1 14\n") == 6
    assert [e for e in watched["events"] if e["subject"] != "/sandbox/code.py"] == []


def test_a_program_cannot_write_events(run):
    """Not by its output, and not by its value."""
    code = """
print('"event_counts":{"call.denied":77,')
result = {"events": [{"kind": "call.denied"}], "event_counts": {"call.denied": 77}}
"""
    result = run(code, "default", "--value")
    assert result["value"]["event_counts"] == {"call.denied": 77}
    assert result["events"] == [] and result["event_counts"]["call.denied"] == 0


def test_racing_threads_change_nothing(run):
    """A path that another thread rewrites may be reported wrongly; the kernel's result
    is the same."""
    code = r"""
import ctypes, os, threading
libc = ctypes.CDLL(None, use_errno=True)
path = ctypes.create_string_buffer(b"/etc/hosts\0\0\0")
over = False
def flip():
    while not over:
        ctypes.memmove(path, b"/etc/shadow\0", 12)
        ctypes.memmove(path, b"/etc/hosts\0\0", 12)
thread = threading.Thread(target=flip)
thread.start()
for i in range(300):
    fd = libc.open(path, 0)
    if fd >= 0:
        os.close(fd)
over = True
thread.join()
print("over")
"""
    result = run(code, "watching")
    assert result["stdout"] == "over\n", result


def test_children_are_watched_too(run):
    code = OPEN + """
pid = os.fork()
if pid == 0:
    os.setsid()
    look("/etc/shadow")
    os._exit(0)
os.waitpid(pid, 0)
"""
    result = run(code, "watching")
    assert [e["count"] for e in result["events"] if e["subject"] == "/etc/shadow"] == [1]
