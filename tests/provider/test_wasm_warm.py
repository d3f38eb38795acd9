# SPDX-License-Identifier: Apache-2.0
"""Python for WebAssembly, cloned from a template into cells: a run in one is as any other."""

import json
import os
import pathlib
import subprocess

import pytest

from test_wasm_prepared import here, prepare  # noqa: F401 # a fixture

TREE = pathlib.Path(__file__).parents[2]
BUILD = pathlib.Path(os.environ.get("BRIG_BUILD", TREE / "build"))
WARM = ("--start", "warm")
LONG = ("--timeout", "100s")
MAY_MISS = ["timens", "overlay", "uidrange", "landlock", "notify", "keyring", "cgroup-memory",
            "cgroup-pids", "cgroup-cpu"]  # as the policy "default"


@pytest.fixture(scope="module")
def wasm(here):  # noqa: F811
    prepare(here, "python")
    return here


@pytest.fixture(scope="module")
def siblings(wasm, tmp_path_factory):
    """siblings(SNIPPET...): results of runs from one template, one after the other."""
    program = tmp_path_factory.mktemp("host") / "warm_host"
    subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-I", TREE / "include", "-o", program,
                    TREE / "tests/attack/warm_host.c", "-L", BUILD, "-lbrig",
                    f"-Wl,-rpath,{BUILD}"], check=True)
    policies = wasm.config / "policies"
    # It cannot extend itself, and an ordinary user lacks what the built-in one may miss.
    policy = {**json.loads((policies / "here.json").read_bytes()), "extends": "strict", "may_miss": MAY_MISS}
    (policies / "default.json").write_text(json.dumps(policy))
    (policies / "default.json").chmod(0o600)

    def run(*snippets):
        done = subprocess.run([program, "config", wasm.config, "language", "python", "--", *snippets],
                              capture_output=True, timeout=300, check=False)
        assert done.returncode == 0, done
        results = [json.loads(line) for line in done.stdout.splitlines()]
        assert [one["start"] for one in results] == ["warm"] * len(snippets), results
        return results

    return run


PROGRAMS = {
    "streams": "import sys; print(input(), sys.stdin.read()); print('e', file=sys.stderr)",
    "status": "import sys; sys.exit(3)",
    "message": "import sys; sys.exit('no')",
    "error": "def f(): return 1 / 0\nf()",
    "chain": "try: 1 / 0\nexcept ZeroDivisionError as e: raise RuntimeError('x') from e",
    "syntax": "x = (",
    "hook": "import sys; sys.excepthook = lambda *a: print('hook', a[1]); 1 / 0",
    "words": "import os, sys; print(sys.argv, sys.orig_argv, sys.path, sys.executable, sys.flags,"
             " dict(os.environ), os.getcwd(), sorted(globals()), __file__, __cached__, __spec__)",
    "ends": "import atexit; atexit.register(print, 'bye')\nclass A:\n"
            " def __del__(self): print('gone')\na = A(); b = [A()]; b.append(b)",
    "files": "import os; print(sorted(os.listdir('.'))); open('out/a', 'w').write('b')\n"
             "open('/tmp/a', 'w').write('c'); print(os.stat('.').st_mode)",
    "memory": "bytes(1 << 30)",
    "much": "import sys\nfor n in range(300): sys.stdout.write('x' * 777); sys.stderr.buffer.write(b'y' * n)",
    "closed": "import os\nprint('a', flush=True)\nos.close(1)\ntry: print('b', flush=True)\n"
              "except OSError as e: os.write(2, repr(e).encode())",
    "moved": "import os\nf = os.open('out/moved', os.O_CREAT | os.O_WRONLY)\nprint('a', flush=True)\n"
             "try: os.dup2(f, 1)\nexcept (OSError, AttributeError) as e: os.write(2, repr(e).encode())\n"
             "os.write(1, b'b')",
    "parts": "import os\nprint(os.writev(1, [b'a', b'', b'bc\\n'])) if hasattr(os, 'writev') else None",
    "invalid": "print(1)\nx = 'a\0b'",
    "long": "x = 1 #" + "-" * (9 << 17) + "\nprint(x)",
    "status-of-os": "import os; print('lost', end=''); os._exit(7)",
    "latin-1": b"# coding: latin-1\nprint(ascii('\xe4'))",
    "bom": b"\xef\xbb\xbfprint('bom')",
    "returns": b"x = '''a\r\nb'''\r\nprint(ascii(x))\r\n",
    "tabs": "if 1:\n\tprint(1)\n        print(2)",
    "write-all": "import os, sys\nprint(os.write(1, b'z' * 300000), file=sys.stderr)",
    "write-none": "import os\nprint(os.write(1, b''), os.write(2, b''))",
    "write-wrong": "import os\nfor fd in 0, 3, 77, -1:\n try: print(os.write(fd, b'x'))\n"
                   " except (OSError, OverflowError) as e: print(fd, e)",
    "no-output": "import sys\nsys.stdout.close(); sys.stderr.close()",
    "no-streams": "import sys\nsys.stdout = sys.stderr = None\nprint('a')",
    "buffered": "import sys\nsys.stdout = open(1, 'w', 4096, closefd=False)\nprint('kept'); sys.stderr.write('e')",
    "opened": "f = open(1, 'wb', 0)\nf.write(b'a'); f.close()\nprint('b', flush=True)",
    "reads-output": "import os\ntry: os.read(1, 1)\nexcept OSError as e: print(e)",
    "open": "for p in '/etc/passwd', '/proc/self/maps', '/brig', '/sandbox/../etc':\n"
            " try: open(p)\n except OSError as e: print(e)",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_result(wasm, name, tmp_path):
    program = tmp_path / "program.py"  # some are no argument of a command
    code = PROGRAMS[name]
    program.write_bytes(code if isinstance(code, bytes) else code.encode())
    seen = []
    for how in ("cold", "warm"):
        result = wasm.result("--lang", "python", program, "--start", how, *LONG, "--env", "A=b",
                             "--env", "Z=ö", "--out", "out/**", stdin=b"line\nmore")
        assert result["start"] == how, result
        seen.append([result[key] for key in ("status", "exit_code", "stdout", "stderr", "files",
                                             "verdict", "layers", "means", "limits")])
    assert seen[0] == seen[1]


@pytest.mark.parametrize("code, options, status", [
    ("while True: pass", ("--timeout", "1s"), "timeout"),
    ("import time; time.sleep(100)", ("--timeout", "1s"), "timeout"),
    ("while True: pass", ("--cpu-time", "1s", *LONG), "cpu_limit"),
    ("while True: print('x' * 1000)", ("--stdout", "10K", *LONG), "output_limit"),
    ("import os; os.abort()", LONG, "failed"),
])
def test_limits_of_the_request(wasm, code, options, status):
    result = wasm.python(code, *WARM, *options)
    assert (result["status"], result["start"]) == (status, "warm"), result


def test_memory_of_the_request(wasm):
    """The template has more than the run may have."""
    code = "x = []\ntry:\n while True: x.append(bytes(1 << 20))\nexcept MemoryError: print(len(x))"
    few, many = (int(wasm.python(code, *WARM, *LONG, "--memory", size)["stdout"])
                 for size in ("128M", "192M"))
    assert 40 < few < 96 and few + 40 < many < 160, (few, many)


def test_a_trap_is_reported(wasm):
    result = wasm.python("import os; os.abort()", *WARM, *LONG)
    assert (result["verdict"]["cause"], result["exit_code"]) == ("trap", 134), result


def test_cold_instead(wasm):
    """A clone cannot have these any more: the run starts cold, with the right result."""
    result = wasm.python("import sys; print(sys.flags.optimize)", *WARM, *LONG, "--env", "LC_ALL=C")
    assert result["start"] == "cold" and result["status"] == "ok", result


def test_random_numbers_are_fresh(siblings):
    code = ("import os, random, secrets, json, time, uuid; print(json.dumps([random.random(), "
            "random.Random().random(), os.urandom(16).hex(), secrets.token_hex(), "
            "str(uuid.uuid4()), time.time_ns()]))")
    said = [json.loads(one["stdout"]) for one in siblings(code, code, code)]
    assert all(len(set(column)) == 3 for column in zip(*said)), said


def test_nothing_is_left_for_the_next(siblings):
    """A run changes all that it can reach: modules, built-ins, variables, files, the heap."""
    hostile = ("import builtins, json, os, sys, random, gc\n"
               "json.loads = builtins.len = os.urandom = None; sys.modules['re'] = None\n"
               "os.environ['LEFT'] = '1'; sys.path.append('/left'); random.seed(1)\n"
               "open('/tmp/left', 'w').write('1'); open('left.py', 'w').write('1')\n"
               "gc.unfreeze()\n"
               "for it in gc.get_objects():\n"
               " if isinstance(it, dict) and '__name__' in it: it['left'] = 'marker'\n")
    look = ("import gc, json, os, sys\nprint(json.loads('[1]'), len('ab'), 'LEFT' in os.environ, "
            "'/left' in sys.path, os.listdir('/tmp'), os.listdir('.'), "
            "any(isinstance(it, dict) and 'left' in it and '__name__' in it and "
            "it is not globals() for it in gc.get_objects()))")
    results = siblings(look, hostile, look, "import os; os.abort()", look)
    assert results[1]["status"] == "ok", results[1]
    assert results[0]["stdout"].startswith("[1] 2 False False"), results[0]
    assert results[0]["stdout"] == results[2]["stdout"] == results[4]["stdout"], results


def test_the_order_is_read_once(siblings):
    """The sizes that the driver waits with mean nothing to a program."""
    code = "import os; print(*[os.urandom(n).hex() for n in (17, 19, 17, 19)])"
    said = [one["stdout"].split() for one in siblings(code, code)]
    assert len({word for line in said for word in line}) == 8
    assert all([len(word) for word in line] == [34, 38, 34, 38] for line in said)


def test_descriptors(siblings):
    """Streams and directories: nothing that the template had."""
    code = ("import os\nseen = []\nfor fd in range(64):\n try: seen.append((fd, os.fstat(fd).st_mode))"
            "\n except OSError: pass\nprint([fd for fd, mode in seen], os.listdir('/mnt'))")
    assert siblings(code)[0]["stdout"] == "[0, 1, 2, 3, 4, 5, 6, 7] []\n"
