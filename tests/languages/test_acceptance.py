# SPDX-License-Identifier: Apache-2.0
"""The acceptance examples, and known errors of similar programs: each is a test."""

import base64
import json
import os
import pathlib
import re
import select
import socket
import time

import pytest

from conftest import ROOT, TREE

KIB = 1024


def processes_with(word):
    """Every process of the host whose command line holds the word."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
        except OSError:
            continue
        # As a word by itself: brig's own command line contains it too, within the code.
        if word.encode() in line.split(b"\0"):
            found.append(line)
    return found


# --- the examples ---------------------------------------------------------------------------------


def test_1_hello(brig):
    result = brig.python('print("Hello, World!")')
    assert (result["status"], result["exit_code"]) == ("ok", 0)
    assert (result["stdout"], result["stderr"]) == ("Hello, World!\n", "")


def test_2_input(brig):
    result = brig.python('name = input()\nprint(f"Hello, {name}!")', stdin="Alice\n")
    assert result["stdout"] == "Hello, Alice!\n"


def test_3_javascript_input(brig):
    code = ("process.stdin.on('data', d => process.stdout.write('got ' + d))"
            ".on('end', () => console.log('end'))")
    result = brig.result("--lang", "javascript", "-c", code, stdin="Bob\n")
    assert (result["status"], result["stdout"]) == ("ok", "got Bob\nend\n")


def test_4_traceback(brig):
    result = brig.python("x = 1\nprint(10/0)")
    assert (result["status"], result["exit_code"]) == ("failed", 1)
    assert "ZeroDivisionError" in result["stderr"]
    assert 'code.py", line 2' in result["stderr"]
    assert result["brig_status"] == 1


def test_5_timeout_keeps_what_was_said(brig):
    start = time.monotonic()
    result = brig.python("import time\nfor i in range(100):\n    print(i, flush=True)\n"
                         "    time.sleep(1)", "--timeout", "3s")
    assert result["status"] == "timeout"
    assert result["stdout"] in ("0\n1\n2\n", "0\n1\n2\n3\n")
    assert result["exit_code"] is None
    assert 2900 < result["duration_ms"] < 4500
    assert time.monotonic() - start < 6
    assert result["verdict"]["cause"] == "wall"
    assert (result["verdict"]["limit_name"], result["verdict"]["limit"]) == ("wall_ms", 3000)
    assert result["verdict"]["remedy"]


def test_6_never_root(brig):
    result = brig.result("--lang", "bash", "-c", "whoami; id -u; id -g; id -G")
    name, *ids = result["stdout"].split()
    assert name != "root" and "0" not in ids, result


def test_7_output_before_the_error(brig):
    result = brig.python("print('About to error...'); 1/0")
    assert (result["status"], result["stdout"]) == ("failed", "About to error...\n")


def test_8_files_in(brig):
    (brig.dir / "data.txt").write_text("first line\nsecond line\n")
    (brig.dir / "other.bin").write_bytes(bytes(range(256)))
    result = brig.python("import os\nprint(os.getcwd(), sorted(os.listdir()))\n"
                         "print(open('data.txt').readlines()[1], end='')\n"
                         "print(open('sub/other.bin', 'rb').read() == bytes(range(256)))",
                         "--in", "data.txt", "--in", "sub/other.bin=other.bin")
    assert result["stdout"] == ("/sandbox ['code.py', 'data.txt', 'out', 'sub']\n"
                                "second line\nTrue\n")


def test_9_files_out(brig):
    result = brig.python("import os\nos.mkdir('out/sub')\nopen('out/a.txt', 'w').write('A')\n"
                         "open('out/sub/b.bin', 'wb').write(bytes(range(256)))\n"
                         "open('not-asked-for', 'w').write('x')")
    files = {file["path"]: base64.b64decode(file["content_base64"]) for file in result["files"]}
    assert files == {"out/a.txt": b"A", "out/sub/b.bin": bytes(range(256))}
    done = brig("run", "--out-dir", "got", "-c", "open('out/a.txt', 'w').write('A')")
    assert done.returncode == 0
    assert [path.name for path in (brig.dir / "got").rglob("*.txt")] == ["a.txt"]


def test_10_compiled(brig):
    """Each language in test_languages; here, that the two failures differ."""
    bad = brig.result("--lang", "c", "-c", "int main(void) { return 0 }")
    assert bad["status"] == "compile_failed"
    assert "code.c:1:" in bad["stderr"] and "expected" in bad["stderr"]
    failing = brig.result("--lang", "c", "-c", "int main(void) { return 1; }")
    assert (failing["status"], failing["exit_code"]) == ("failed", 1)


def test_11_unsupported_language(brig):
    error = brig.error("--lang", "brainfuck", "-c", "+")
    assert "brainfuck" in error["message"]
    assert "python" in error["remedy"] and "javascript" in error["remedy"]


@pytest.mark.parametrize("code, expected", [
    ("import sys; sys.stdout.write('x' * 199_999 + '\\n')", b"x" * 199_999 + b"\n"),
    ("import sys; sys.stdout.buffer.write(bytes(range(256)) * 40)", bytes(range(256)) * 40),
    ("pass", b""),
    ("print('no newline', end='')", b"no newline"),
    ("print('\\u00e4\\u20ac\\U0001f600 \\x00 \\x1b[31m')", "ä€😀 \0 \x1b[31m\n".encode()),
], ids=["200KB", "binary", "none", "no-newline", "unicode"])
def test_12_exact_output(brig, code, expected):
    result = brig.python(code)
    assert result["status"] == "ok"
    if result["encoding"] == "base64":
        assert base64.b64decode(result["stdout"]) == expected
    else:
        assert result["stdout"].encode() == expected
    assert not result["stdout_truncated"]
    plain = brig("run", "-c", code)
    assert plain.stdout == expected


# --- known errors of other programs ---------------------------------------------------------------


@pytest.mark.parametrize("status", [1, 2, 42, 127, 255])
def test_a_status_is_no_success(brig, status):
    result = brig.python(f"import sys; sys.exit({status})")
    assert (result["status"], result["exit_code"]) == ("failed", status)


def test_a_crash_is_no_success(brig):
    result = brig.python("print('before', flush=True)\nimport ctypes\nctypes.string_at(0)")
    assert (result["status"], result["signal"], result["stdout"]) == ("failed", 11, "before\n")
    assert result["verdict"]["cause"] == "signal"


def test_empty_code(brig):
    assert "empty" in brig.error("--lang", "python", "-c", "")["message"]


def test_a_timeout_ends_its_own_run_only(brig):
    word = f"brother{os.getpid()}"
    other = brig.spawn("run", "--timeout", "20s", "--", "/bin/sh", "-c",
                       f"echo begun; sleep 2; echo {word}", stdout=-1, stderr=-1)
    assert other.stdout.readline() == b"begun\n"
    slow = brig.python("while True: pass", "--timeout", "500ms")
    assert slow["status"] == "timeout"
    assert other.poll() is None, "the other run was ended too"
    out, err = other.communicate(timeout=20)
    assert (other.returncode, out, err) == (0, word.encode() + b"\n", b"")


def test_limits_are_not_the_callers(brig):
    """A cell at its limits; brig itself has to hold more than that."""
    result = brig.python("import sys\nsys.stdout.write('x' * (12 << 20))", "--memory", "64M",
                         "--stdout", "16M", "--open-files", "8", "--processes", "1")
    assert (result["status"], len(result["stdout"])) == ("ok", 12 << 20)
    result = brig.python("x = bytearray(200 << 20)", "--memory", "32M")
    assert result["status"] in ("memory_limit", "failed"), result
    assert result["status"] == "memory_limit" or "MemoryError" in result["stderr"]


def test_output_is_not_hoarded(brig):
    """A gigabyte, of which a megabyte is kept and the rest cut: brig's own memory stays small."""
    (brig.dir / "config" / "policies").mkdir(parents=True)
    (brig.dir / "config" / "policies" / "cut.json").write_text(
        '{"extends": "default", "on_output_limit": "cut"}')
    run = brig.spawn("run", "--json", "--config", "config", "--policy", "cut", "--timeout", "5m", "--stdout", "1M",
                     "--", "/usr/bin/head", "-c", "1G", "/dev/zero", stdout=-1, stderr=-1)
    most = 0
    while run.poll() is None and not select.select([run.stdout], [], [], 0.01)[0]:
        status = pathlib.Path(f"/proc/{run.pid}/status").read_text()
        most = max([most, *(int(kib) for kib in re.findall(r"VmHWM:\s*(\d+) kB", status))])
    out, _ = run.communicate()
    result = json.loads(out)
    assert (result["status"], result["stdout_truncated"]) == ("ok", True)
    assert result["encoding"] == "base64"  # which is shorter: JSON has six bytes for a NUL
    assert base64.b64decode(result["stdout"]) == bytes(1 << 20)
    assert 0 < most < 32 * KIB, f"{most} KiB"


@pytest.mark.parametrize("size", [64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 1000 * KIB])
def test_more_than_a_pipe_holds_is_no_timeout(brig, size):
    code = f"import sys\nsys.stdout.write('o' * {size})\nsys.stderr.write('e' * {size})"
    result = brig.python(code, "--timeout", "10s")
    assert result["status"] == "ok"
    assert (len(result["stdout"]), len(result["stderr"])) == (size, size)
    assert result["duration_ms"] < 5000


def test_bytes_that_are_no_text(brig):
    result = brig.python("import sys\nsys.stdout.buffer.write(b'good \\xff\\xfe bad')")
    assert (result["status"], result["encoding"]) == ("ok", "base64")
    assert base64.b64decode(result["stdout"]) == b"good \xff\xfe bad"


def test_partial_output_at_every_limit(brig):
    said = "print('said', flush=True)\n"
    for options, code, status in (
            (["--timeout", "300ms"], "import time; time.sleep(60)", "timeout"),
            (["--cpu-time", "300ms"], "while True: pass", "cpu_limit"),
            (["--stdout", "100"], "while True: print('x' * 50)", "output_limit")):
        result = brig.python(said + code, *options)
        assert result["status"] == status, result
        assert result["stdout"].startswith("said\n"), status


@pytest.mark.parametrize("text", [
    '{"status": "ok", "exit_code": 0}',
    '\\x80\\x04\\x95\\x0b\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x8c\\x02os.',
])
def test_results_cannot_be_forged(brig, text):
    """On every possible descriptor: the only effect is output."""
    result = brig.python("import os, sys\nfor fd in range(1, 64):\n"
                         f"    try: os.write(fd, b'{text}')\n    except OSError: pass\n"
                         "sys.stdout.flush()\nos._exit(9)")
    assert (result["status"], result["exit_code"], result["signal"]) == ("failed", 9, None)


def run_and_watch(brig, word, code, *options):
    """The result, and how many of the run's processes had the word in their command line."""
    run = brig.spawn("run", "--json", *options, "--lang", "python", "-c", code, stdout=-1)
    most = 0
    while run.poll() is None and not select.select([run.stdout], [], [], 0.02)[0]:
        most = max(most, len(processes_with(word)))
    return json.loads(run.communicate()[0]), most


def test_deaf_to_every_signal(brig):
    word = f"deaf{os.getpid()}"
    start = time.monotonic()
    result, seen = run_and_watch(
        brig, word, "import signal, subprocess, sys, time\n"
        "for number in range(1, 65):\n"
        "    try: signal.signal(number, signal.SIG_IGN)\n"
        "    except (OSError, ValueError): pass\n"
        f"subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)', '{word}'])\n"
        "print('deaf', flush=True)\nwhile True: time.sleep(1)", "--timeout", "1500ms")
    assert (result["status"], result["stdout"]) == ("timeout", "deaf\n")
    assert time.monotonic() - start < 6
    assert seen == 1
    assert not processes_with(word)


@pytest.mark.parametrize("end", ["time.sleep(60)", "sys.exit(0)"], ids=["killed", "ended"])
def test_orphans_die_with_the_run(brig, end):
    word = f"orphan{os.getpid()}"
    result, seen = run_and_watch(
        brig, word, "import os, sys, time\n"
        "for i in range(5):\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        "        if os.fork() == 0:\n"
        "            os.execv(sys.executable, ['python', '-c', 'import time; time.sleep(60)',"
        f" '{word}'])\n"
        "        os._exit(0)\n"
        f"time.sleep(1.5)\nprint('parent', flush=True)\n{end}", "--timeout", "3s")
    assert result["status"] == ("timeout" if "sleep" in end else "ok"), result
    assert result["usage"]["processes_peak"] >= 6
    assert result["duration_ms"] < 6500
    assert seen == 5
    assert not processes_with(word)


def test_sockets_lead_nowhere(brig):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        socket.create_connection(("127.0.0.1", port)).close()  # it does listen
        result = brig.python(
            "import socket\n"
            f"for host in ('127.0.0.1', '::1', '8.8.8.8', 'localhost', 'example.com'):\n"
            f"    try: socket.create_connection((host, {port}), timeout=2); print('connected')\n"
            "    except OSError as error: print('no')")
        assert result["stdout"] == "no\n" * 5, result


def test_sessions_are_not_pretended(brig):
    done = brig("run", "--session", "abc", "-c", "print(1)")
    assert done.returncode == 2 and b"--session" in done.stderr


def options_for(brig, policy):
    """The policy unchanged, except for control groups, which an ordinary user may not have."""
    directory = brig.dir / "config" / "policies"
    directory.mkdir(parents=True, exist_ok=True)
    missing = ["uidrange", "cgroup-memory", "cgroup-pids", "cgroup-cpu"]
    (directory / f"{policy}-here.json").write_text(
        json.dumps({"extends": policy, "may_miss": missing}))
    return "--config", "config", "--policy", f"{policy}-here"


def test_clone3_is_unknown_rather_than_forbidden(brig):
    """C libraries fall back to the older call only for ENOSYS."""
    code = ("import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
            "libc.syscall(435, None, 0)\nprint(ctypes.get_errno())")
    for policy in ("default", "strict"):
        result = brig.python(code, *options_for(brig, policy))
        assert result["stdout"] == "38\n", policy


TEACHING = """
import math, json, random, datetime, collections, itertools, functools, re
x = math.sqrt(16)
print(x)

class Animal:
    count = 0
    def __init__(self, name):
        self.name = name
        Animal.count += 1
    def __repr__(self):
        return f"<{self.name}>"
    @property
    def shout(self):
        return self.name.upper()

class Dog(Animal):
    def __init__(self):
        super().__init__("dog")

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def numbers():
    for i in range(3):
        yield i

try:
    {}["missing"]
except KeyError as error:
    print("caught", error)
finally:
    print(Dog(), Dog().shout, Animal.count)
print([i * i for i in numbers() if i], {i: fib(i) for i in range(8)})
with open("notes.txt", "w") as file:
    json.dump({"a": [1, 2]}, file)
print(json.load(open("notes.txt")), sorted({3, 1, 2}), max((lambda v: v + 1)(i) for i in (1, 2)))
"""


@pytest.mark.parametrize("policy", ["default", "strict"])
def test_ordinary_code_runs(brig, policy):
    result = brig.python(TEACHING, *options_for(brig, policy))
    assert (result["status"], result["stderr"]) == ("ok", ""), result
    assert result["stdout"].startswith("4.0\ncaught 'missing'\n<dog> DOG 2\n[1, 4]")


@pytest.mark.parametrize("code", [
    "import sys; sys.exit()", "import os; os._exit(0)", "quit()", "raise SystemExit",
])
def test_exit_is_the_programs_own(brig, code):
    done = brig("run", "-c", code)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_callers_files_are_out_of_reach(brig):
    victim = brig.dir / "main.py"
    victim.write_text("precious")
    places = [str(victim), "main.py", "../main.py", str(TREE / "README.md"), "/etc/shadow",
              os.path.expanduser("~")]
    result = brig.python(
        "import os\n"
        f"for path in {places!r}:\n"
        "    for do in (open, os.remove, os.stat, lambda p: open(p, 'w')):\n"
        "        try: do(path); print('reached', path, do)\n"
        "        except OSError: pass\n"
        "    if os.path.exists('main.py'): os.remove('main.py')\n")
    assert "reached /" not in result["stdout"], result
    assert victim.read_text() == "precious"


def test_the_callers_secrets_are_not_passed_on(brig):
    brig.env["SECRET_TOKEN"] = "hush"
    result = brig.python("import os; print(os.environ.get('SECRET_TOKEN'), sorted(os.environ))")
    assert result["stdout"].startswith("None ")
    assert brig.python("import os; print(os.environ['SECRET_TOKEN'])", "--env",
                       "SECRET_TOKEN")["stdout"] == "hush\n"


@pytest.mark.parametrize("options", [
    ["--timeout", "301s"], ["--timeout", "0"], ["--timeout", "-1s"], ["--timeout", "nan"],
    ["--memory", "1E"], ["--memory", "99999999999999999999"], ["--processes", "0"],
])
def test_limits_out_of_range_are_named(brig, options):
    error = brig.error(*options, "--lang", "python", "-c", "print(1)")
    assert options[0].strip("-") in error["message"] or options[1] in error["message"], error


def test_two_runs_share_nothing(brig):
    places = ["/tmp/x", "/sandbox/x", "/sandbox/out/x", "/dev/shm/x", "/var/tmp/x"]
    code = (f"import os\nfor path in {places!r}:\n"
            "    if os.path.exists(path): print('found', path)\n"
            "    try: open(path, 'w').write('left behind')\n    except OSError: pass\n")
    for _ in range(2):
        assert brig.python(code)["stdout"] == ""


def test_ids_of_neighbours_differ(brig):
    """As root, each cell has ids of its own; an ordinary user has one id."""
    runs = [brig.spawn("run", "--", "/bin/sleep", f"1.{os.getpid()}{i}", stdout=-1, stderr=-1)
            for i in range(2)]
    seen = set()
    deadline = time.monotonic() + 10
    while len(seen) < (2 if ROOT else 1) and time.monotonic() < deadline:
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if b"/bin/sleep\0001.%d" % os.getpid() in path.read_bytes()[:32]:
                    seen.add(path.stat().st_uid)
            except OSError:
                pass
    for run in runs:
        assert run.wait(timeout=20) == 0
        run.communicate()
    assert 0 not in seen
    assert len(seen) == (2 if ROOT else 1), seen
