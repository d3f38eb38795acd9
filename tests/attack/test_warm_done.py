# SPDX-License-Identifier: Apache-2.0
"""The message by which a warm program reports its own end: native/calls/done_call.h."""

import json
import os
import re
import signal

import harness
import pytest
from warmth import TREE, families, preloading


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
    """Whether the report is accepted: the kernel counts a cell's tasks, and only a kill wakes the
    caller."""
    result, = warm(SAY + "done(0)\nos._exit(50)")
    can = {"cgroup-pids", "notify"} <= set(result["layers"]) and KERNEL >= (5, 19)
    assert result["exit_code"] == (0 if can else 50)
    return can


def end_of(warm, code, **options):
    result, = warm(SAY + code, **options)
    assert result["verdict"]["denial"] is None, result
    return result


def test_done_and_goes_on(warm, believed):
    """After the report none of its code runs, not even its next line."""
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
    """Signals wake it before the report is read, never after: there is one report, and one end."""
    result = end_of(warm, """
import signal
signal.signal(signal.SIGALRM, lambda *_: os.write(1, b"x"))
signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)
for _ in range(2000):
    os.write(1, b"[")
    done(7)
    os.write(1, b"]")
""")
    # It is checked eight times; after that, or when the report was accepted, no more.
    assert result["exit_code"] in (0, 7)
    if result["exit_code"] == 7:
        assert result["stdout"].rstrip("x").endswith("[")


def test_done_leaves_no_process(warm):
    """A program whose report is accepted is killed, not left asleep."""
    host = warm.begin(SAY + "libc.prctl(15, b'sleeping-liar')\ndone(0)", "import time; time.sleep(3)")

    def liars():
        return [pid for pid, status in families(host)[1].items() if status["Name"] == "sleeping-liar"]

    first = json.loads(host.stdout.readline())
    assert first["status"] == "ok"
    harness.wait_for(lambda: not liars())
    assert host.poll() is None  # it was not ended with its context
    out, err = host.communicate(timeout=20)
    assert json.loads(out)["status"] == "ok", err


@pytest.mark.parametrize("other", ["os.fork() or (time.sleep(0.6), os.write(1, b'other '), os._exit(0))",
                                   "threading.Thread(target=lambda: (time.sleep(0.6), os.write(1, b'other '))).start()",
                                   "os.fork() or os._exit(0)"],
                         ids=["child", "thread", "zombie"])
def test_done_is_not_believed_with_company(warm, other):
    """While other tasks exist, in any state, the call fails."""
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
    """It can only report a status with which it could also have ended."""
    result = end_of(warm, f"done({word}); os._exit(50)")
    assert (result["exit_code"], result["signal"]) == (status if believed else 50, None)


def test_done_too_often(warm):
    """Each report costs the warden a check: the number of checks is bounded."""
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
    """While its parent lives, a child is not the program."""
    result = end_of(warm, """
pid = os.fork()
if pid == 0:
    os._exit(40 if done(0) == REFUSED else 41)
os.write(1, str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())
os._exit(5)
""")
    assert (result["exit_code"], result["stdout"]) == (5, "40")


def test_done_by_an_orphan(warm):
    """A child that forges its parent's end: one result, in time, with a status of the program."""
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
    """Output, files and usage are complete up to the report."""
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
    """Too much output is too much, also directly before the report."""
    result = end_of(warm, "sys.stdout.write('o' * (2 << 20)); sys.stdout.flush(); done(0); os._exit(0)")
    assert (result["status"], result["verdict"]["limit_name"]) == ("output_limit", "stdout_bytes")


@pytest.mark.parametrize("flags", [0x100, 0x4100], ids=["CLONE_VM", "vfork"])
def test_done_by_a_sharer_of_memory(warm, flags):
    """A child in its parent's memory is one more task, whichever of the two sends the report."""
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
    """The first thread of a process stays as a zombie: the remaining thread is not alone."""
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
    """A timer that kills the sleeping program: one end or the other, at once, and the next run is
    fine."""
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
    """Memory that the kernel has to free first belongs to the run: then its end is waited for."""
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
    """Where a policy allows calls that outlast a sleep, or block readers of files, only death
    counts."""
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
    """A policy that kills for the call, refuses it or answers it does not end a program for its
    report."""
    result, = warm("print('well')", config=allowing(attack, call))
    assert (result["status"], result["stdout"]) == ("ok", "well\n")
    assert result["verdict"]["denial"] is None


def test_done_in_a_cold_cell(attack):
    """No report is accepted where the result states that nothing is left."""
    program = attack.dir / "done.py"
    program.write_text(SAY + "assert done(0) == REFUSED\nos._exit(8)")
    run = attack.brig("--start", "cold", program)
    assert (run.result["start"], run.result["exit_code"]) == ("cold", 8)


def test_done_comes_last(attack, warm):
    """A regular end: the remaining work and output of Python and the C library come before it."""
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
    for modules in ([], ["ctypes"]):  # loaded by the program, whose end is awaited; or before
        result, = warm(code, config=preloading(attack, *modules))
        assert (result["status"], result["stdout"]) == ("ok", plain)
