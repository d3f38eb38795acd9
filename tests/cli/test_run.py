# SPDX-License-Identifier: Apache-2.0
"""brig run: sources, streams, exit statuses, signals."""

import base64
import os
import pty
import select
import signal
import subprocess
import sys
import time

import pytest

from conftest import BRIG

# In an emulated guest everything takes many times as long, the start of python too.
SLOW = int(os.environ.get("BRIG_TEST_SLOW", "1"))


def test_code(brig):
    done = brig("run", "-c", "print(6 * 7)")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"42\n", b"")


def test_code_from_stdin(brig):
    done = brig("run", "-", stdin="import sys\nprint(repr(sys.stdin.read()))")
    assert (done.returncode, done.stdout) == (0, b"''\n")


def test_code_from_stdin_by_shebang(brig):
    done = brig("run", "-", stdin="#!/bin/bash\necho $BASH_VERSION | cut -d. -f1")
    assert done.returncode == 0
    assert int(done.stdout) >= 4


def test_file_by_extension(brig, tmp_path):
    (tmp_path / "x.sh").write_text("echo $0 $1 $#")
    done = brig("run", str(tmp_path / "x.sh"), "--", "one", "--json")
    assert done.returncode == 0
    assert done.stdout.split()[1:] == [b"one", b"2"]


def test_file_by_shebang(brig, tmp_path):
    (tmp_path / "script").write_text("#!/usr/bin/env python3\nprint('by line')")
    done = brig("run", str(tmp_path / "script"))
    assert done.stdout == b"by line\n"


def test_language_wins_over_extension(brig, tmp_path):
    (tmp_path / "x.txt").write_text("print('forced')")
    assert brig("run", "--lang", "py", str(tmp_path / "x.txt")).stdout == b"forced\n"


def test_command(brig):
    done = brig("run", "--", "/bin/echo", "-n", "a b", "--json")
    assert (done.returncode, done.stdout) == (0, b"a b --json")


def test_arguments(brig):
    done = brig("run", "-c", "import sys; print(sys.argv[1:])", "--", "a", "-c", "")
    assert done.stdout == b"['a', '-c', '']\n"


def test_stdin_passes_through(brig):
    data = os.urandom(1 << 20)
    done = brig(
        "run",
        "-c",
        "import sys,hashlib; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())",
        stdin=data,
    )
    import hashlib

    assert done.stdout.decode().strip() == hashlib.sha256(data).hexdigest()


def test_stdin_that_nobody_reads(brig):
    assert brig("run", "-c", "print(1)", stdin=b"x" * 1000000).stdout == b"1\n"


def test_stdin_that_is_closed():
    done = subprocess.run(
        ["/bin/sh", "-c", '"$0" run -c "import sys; print(len(sys.stdin.read()))" <&-', BRIG],
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.stdout == b"0\n"


def test_stdin_stays_blocking(brig):
    """O_NONBLOCK on a shared open file would break the shell that reads from it next."""
    ours, theirs = os.pipe()
    os.write(theirs, b"one\n")
    subprocess.run([BRIG, "run", "-c", "input()"], stdin=ours, check=True, timeout=60)
    assert os.get_blocking(ours)
    os.close(ours)
    os.close(theirs)


def test_output_is_raw_bytes(brig):
    done = brig("run", "-c", "import sys; sys.stdout.buffer.write(bytes(range(256)))")
    assert done.stdout == bytes(range(256))


def test_streams_are_apart(brig):
    done = brig("run", "-c", "import sys; print('o'); print('e', file=sys.stderr)")
    assert (done.stdout, done.stderr) == (b"o\n", b"e\n")


def test_output_streams_live():
    code = "import time\nprint('first', flush=True)\ntime.sleep(20)"
    with subprocess.Popen([BRIG, "run", "-c", code], stdout=subprocess.PIPE) as process:
        start = time.monotonic()
        assert process.stdout.readline() == b"first\n"
        assert time.monotonic() - start < 10
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 143


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_cancel(number):
    code = "import signal,time\nsignal.pthread_sigmask(0, range(1, 32))\nprint(flush=True)\ntime.sleep(50)"
    with subprocess.Popen([BRIG, "run", "-c", code], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        process.send_signal(number)
        assert process.wait(timeout=20) == 128 + number


def test_ignored_signal_stays_ignored():
    code = "import time\nprint(flush=True)\ntime.sleep(1)\nprint('done')"
    with subprocess.Popen(
        [BRIG, "run", "-c", code],
        stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    ) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        assert process.stdout.read() == b"done\n"
        assert process.wait(timeout=20) == 0


def test_reader_goes_away():
    """As in `brig run ... | head -1`: the run ends, and soon."""
    code = "while True: print('y' * 100)"
    with subprocess.Popen(
        [BRIG, "run", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=20) == 141


def test_slow_reader_does_not_stop_the_clock():
    code = "import sys\nwhile True: sys.stdout.write('y' * 4096)"
    with subprocess.Popen(
        [BRIG, "run", "--timeout", "1s", "--lang", "python", "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        # Nothing is read. The cell must be gone all the same: brig then only waits to print.
        time.sleep(2.5)
        children = subprocess.run(
            ["ps", "--no-headers", "--ppid", str(process.pid)], capture_output=True, check=False
        )
        assert children.stdout == b""
        process.stdout.read()
        assert process.wait(timeout=20) in (118, 124)


@pytest.mark.parametrize("status", [0, 1, 3, 42, 117, 124, 255])
def test_exit_status_is_the_programs(brig, status):
    done = brig("run", "-c", f"raise SystemExit({status})")
    assert done.returncode == status
    assert done.stderr == b""


def test_exit_status_of_a_signal(brig):
    done = brig("run", "-c", "import os; os.abort()")
    assert done.returncode == 134
    assert b"SIGABRT" in done.stderr


@pytest.mark.parametrize(
    "args, status, word",
    [
        (["--timeout", "300ms", "-c", "import time; time.sleep(9)"], 124, b"timeout"),
        (["--cpu-time", "300ms", "-c", "while True: pass"], 121, b"cpu_limit"),
        (["--stdout", "1K", "-c", "print('x' * 5000)"], 118, b"output_limit"),
        (["--disk", "64K", "-c", "open('f', 'wb').write(b'x' * 200000)"], 117, b"disk_limit"),
        (["--memory", "32M", "-c", "x = bytearray(200 << 20)"], None, None),
        (["--lang", "c", "-c", "int main(void) { return x; }"], 119, b"compile_failed"),
    ],
)
def test_exit_status_of_verdicts(brig, result_of, args, status, word):
    result, json_status = result_of(*args)
    done = brig("run", *args)
    assert done.returncode == json_status
    if status is None:
        # Without a memory cgroup the program's own allocation fails instead.
        assert result["status"] in ("memory_limit", "failed")
        return
    assert done.returncode == status
    assert result["status"].encode() == word
    last = done.stderr.splitlines()[-1]
    assert last.startswith(b"brig: " + word + b": ")


def test_cpu_time_of_children_that_nobody_waits_for(result_of):
    code = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(40):
    if os.fork() == 0:
        end = time.process_time() + 0.2
        while time.process_time() < end:
            pass
        os._exit(0)
    try:
        os.wait()
    except ChildProcessError:
        pass
"""
    result, _ = result_of("--cpu-time", "500ms", "--timeout", "100s", "-c", code, timeout=120)
    assert result["status"] == "cpu_limit"
    assert result["usage"]["cpu_ms"] < 1500


def test_odd_requests_are_answered_as_by_a_file_that_has_none(result_of):
    code = """
import array, errno, fcntl, os, sys, termios
with open("x", "w+") as file:
    for number in (0xc020660b, 0x40086602, 0x80086601, 1):  # FIEMAP, SETFLAGS, GETFLAGS, FIBMAP
        try:
            fcntl.ioctl(file, number, bytes(64))
            sys.exit("done: %#x" % number)
        except OSError as error:
            assert error.errno == errno.ENOTTY, error
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
r, w = os.pipe()
os.write(w, b"abc")
waiting = array.array("i", [0])
fcntl.ioctl(r, termios.FIONREAD, waiting)
assert waiting[0] == 3
fcntl.ioctl(r, termios.FIOCLEX)
try:
    fcntl.fcntl(r, 1031, 1 << 20)
    sys.exit("pipe made larger")
except PermissionError:
    pass
"""
    result, _ = result_of("-c", code)
    assert result["status"] == "ok", result
    assert result["verdict"]["denial"] is None


def test_compiler_text_is_shown(brig):
    done = brig("run", "--lang", "c", "-c", "int main(void) { return nonsense; }")
    assert b"nonsense" in done.stderr
    assert done.stdout == b""


def test_partial_output_survives(brig):
    done = brig("run", "--timeout", f"{500 * SLOW}ms", "-c", "print('early'); import time; time.sleep(9)")
    assert done.stdout == b"early\n"


def test_result(result_of):
    result, status = result_of("-c", "print(1)")
    assert status == 0
    assert result["status"] == "ok"
    assert result["exit_code"] == 0
    assert result["signal"] is None
    assert (result["stdout"], result["stderr"], result["encoding"]) == ("1\n", "", "utf-8")
    assert result["verdict"]["cause"] == "exit"
    assert result["language"] == "python"
    assert result["runtime"].startswith("python")
    assert result["policy"].startswith("default@sha256:")
    assert "seccomp" in result["layers"]
    assert result["usage"]["cpu_ms"] > 0
    assert result["duration_ms"] == result["usage"]["wall_ms"]
    assert "changes" not in result


def test_result_of_binary_output(result_of):
    result, _ = result_of("-c", r"import sys; sys.stdout.buffer.write(b'\xff\x00'); print('e', file=sys.stderr)")
    assert result["encoding"] == "base64"
    assert base64.b64decode(result["stdout"]) == b"\xff\0"
    assert base64.b64decode(result["stderr"]) == b"e\n"


def test_result_escapes_what_acts(brig):
    done = brig("run", "--json", "-c", r"print('\x1b[31m\u202e\x7f')")
    assert done.stdout.isascii()
    assert b"\x1b" not in done.stdout and b"\x7f" not in done.stdout


def test_result_of_a_timeout(result_of):
    ms = 200 * SLOW
    code = "print('x', flush=True); import time; time.sleep(60)"
    result, status = result_of("--timeout", f"{ms}ms", "-c", code)
    assert status == 124
    assert result["status"] == "timeout"
    assert result["exit_code"] is None
    assert result["stdout"] == "x\n"
    verdict = result["verdict"]
    assert (verdict["limit_name"], verdict["limit"]) == ("wall_ms", ms)
    assert verdict["peak"] >= ms
    assert verdict["remedy"] and verdict["operator_remedy"]
    assert result["limits"]["wall_ms"] == ms


def test_result_of_a_signal(result_of):
    result, status = result_of("-c", "import os; os.abort()")
    assert status == 134
    assert (result["status"], result["signal"], result["exit_code"]) == ("failed", 6, None)


def test_result_of_a_command(result_of):
    result, _ = result_of("--", "/bin/echo", "hi")
    assert result["stdout"] == "hi\n"
    assert result["language"] == "command"
    assert result["runtime"] is None


def test_result_of_a_denial(result_of):
    code = "import ctypes; ctypes.CDLL(None).ptrace(0, 0, 0, 0); raise SystemExit(1)"
    result, _ = result_of("-c", code)
    if "notify" not in result["layers"]:
        assert result["verdict"]["denial"] is None
        return
    assert result["verdict"]["denial"]["call"] == "ptrace"
    assert "ptrace" in result["verdict"]["remedy"]


def test_time(brig):
    done = brig("run", "--time", "-c", "print(1)")
    assert done.stdout == b"1\n"
    assert done.stderr.startswith(b"brig: time: wall ")


def read_terminal(args, answer=None):
    """Runs brig on a terminal of its own; returns its output there and its status."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(BRIG, [BRIG, *args])
    text = b""
    while True:
        ready, _, _ = select.select([fd], [], [], 30)
        assert ready, text
        try:
            piece = os.read(fd, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
        if answer and b"[y/N]" in text:
            os.write(fd, answer)
            answer = None
    os.close(fd)
    return text, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_terminal_sees_no_control_sequences():
    code = r"print('\x1b]0;owned\x07 a\rb \u202e \x9b31m caf\u00e9')"
    text, status = read_terminal(["run", "-c", code])
    assert status == 0
    assert text.decode().rstrip("\r\n") == (
        r"\x1b]0;owned\x07 a\rb \u{202e} \u{9b}31m café".replace(r"\rb", "\\rb")
    )


def test_terminal_sees_harmless_errors():
    text, status = read_terminal(["run", "\x1b[31mno\u202esuch.py"])
    assert status == 125
    assert b"\x1b" not in text
    assert "\u202e".encode() not in text


@pytest.mark.parametrize("answer, status", [(b"y\n", 0), (b"n\n", 126), (b"\n", 126)])
def test_terminal_asks_for_consent(answer, status):
    text, got = read_terminal(["run", "--policy", "open", "-c", "print('ran')"], answer)
    assert b"outside of a cell? [y/N]" in text
    assert (b"ran" in text.split(b"[y/N]")[1]) == (status == 0)
    assert got == status


def test_nobody_to_ask_means_no(brig):
    done = brig("run", "--policy", "open", "-c", "print('ran')")
    assert done.returncode == 126
    assert done.stdout == b""
    assert b"--yes" in done.stderr
    assert brig("run", "--policy", "open", "--yes", "-c", "print('ran')").stdout == b"ran\n"


def test_full_disk_under_stdout_is_an_error():
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [BRIG, "run", "--json", "-c", "print(1)"],
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    assert done.returncode == 125
    assert b"stdout" in done.stderr
    assert sys.platform == "linux"
