# SPDX-License-Identifier: Apache-2.0
"""The example programs work as described."""

import os
import pathlib
import subprocess
import time

HERE = pathlib.Path(__file__).parent
TREE = pathlib.Path(os.environ.get("BRIG_TREE", HERE.parent.parent))
EXAMPLES = pathlib.Path(os.environ.get("BRIG_BUILD", TREE / "build")) / "examples"

SUM = "#include <stdio.h>\nint main(void) { int a, b; return %s; }\n"
READS = 'scanf("%d %d", &a, &b) == 2 && printf("%d\\n", a + b) > 0 ? 0 : 1'


def run(tmp_path, name, *words):
    env = dict(os.environ, XDG_CACHE_HOME=str(tmp_path / "cache"))
    return subprocess.run([EXAMPLES / name, *(str(word) for word in words)], cwd=tmp_path, env=env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                          check=False)


def test_all_are_tested():
    sources = {path.stem for path in (TREE / "examples").glob("*.c")}
    assert sources == {"execute", "event_loop", "judge", "plugin_host"}
    assert sources == {path.name for path in EXAMPLES.iterdir()}


def test_execute_code(tmp_path):
    done = run(tmp_path, "execute", "python", "print(6 * 7)")
    assert (done.returncode, done.stdout, done.stderr) == (0, "42\n", "")


def test_execute_file(tmp_path):
    (tmp_path / "x.sh").write_text("echo told; echo x > out/made; exit 5")
    done = run(tmp_path, "execute", "x.sh")
    assert (done.returncode, done.stdout) == (5, "told\n")
    assert "failed (exit)" in done.stderr
    assert "it left out/made, 2 bytes" in done.stderr


def test_execute_that_cannot(tmp_path):
    done = run(tmp_path, "execute", "cobol", "x")
    assert (done.returncode, done.stdout) == (120, "")
    assert "cobol" in done.stderr and "python" in done.stderr
    assert run(tmp_path, "execute").returncode == 2


def test_event_loop(tmp_path):
    start = time.monotonic()
    done = run(tmp_path, "event_loop")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    for line in ("shell[1] out", "shell[2] err", "shell: ok, cause exit, exit 0",
                 "fails[2] ZeroDivisionError: division by zero",
                 "fails: failed, cause exit, exit 1",
                 "never[1] waiting", "host: cancels never",
                 "never: cancelled, cause cancelled, exit -1", "host: own child ended with 3"):
        assert lines.count(line) == 1, (line, done.stdout)
    counted = [line for line in lines if line.startswith("count")]
    assert counted == ["count[1] 0", "count[1] 1", "count[1] 2", "count: ok, cause exit, exit 0"]
    # While one waited, the others were served.
    assert lines.index("count[1] 2") < lines.index("host: cancels never")
    assert lines.index("host: own child ended with 3") < lines.index("host: cancels never")
    assert time.monotonic() - start < 10


def cases(tmp_path, **pairs):
    directory = tmp_path / "cases"
    directory.mkdir()
    for name, (given, wanted) in pairs.items():
        (directory / f"{name}.in").write_text(given)
        (directory / f"{name}.out").write_text(wanted)
    return directory


def verdicts(done):
    *lines, last = done.stdout.splitlines()
    return {line[:12].strip(): line[13:35].strip() for line in lines}, last


def test_judge(tmp_path):
    (tmp_path / "sum.c").write_text(SUM % READS)
    directory = cases(tmp_path, a=("1 2\n", "3\n"), b=("5 5", "10"), c=("x", "0"), d=("1 1", "3"))
    done = run(tmp_path, "judge", "sum.c", directory)
    assert verdicts(done) == ({"a": "accepted", "b": "accepted", "c": "runtime error",
                               "d": "wrong answer"}, "2 of 4 accepted")
    assert done.returncode == 1


def test_judge_accepts(tmp_path):
    (tmp_path / "sum.py").write_text("print(sum(map(int, input().split())))\n")
    done = run(tmp_path, "judge", "sum.py", cases(tmp_path, a=("1 2\n", "3\n"), b=("5 5", "10")))
    assert (done.returncode, verdicts(done)[1]) == (0, "2 of 2 accepted")


def test_judge_ends_what_does_not_end(tmp_path):
    (tmp_path / "spin.py").write_text("while True: pass\n")
    done = run(tmp_path, "judge", "spin.py", cases(tmp_path, a=("", "")))
    assert verdicts(done) == ({"a": "time limit exceeded"}, "0 of 1 accepted")


def test_judge_compile_error(tmp_path):
    (tmp_path / "bad.c").write_text("int main(")
    done = run(tmp_path, "judge", "bad.c", cases(tmp_path, a=("", ""), b=("", "")))
    assert done.returncode == 1
    assert verdicts(done) == ({"a": "compile error"}, "0 of 2 accepted")
    assert "code.c:1:" in done.stderr


def test_plugin_host(tmp_path):
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "10-upper.py").write_text("import sys; print(sys.stdin.read().upper(), end='')")
    (plugins / "20-spins.py").write_text("while True: pass")
    (plugins / "30-calls-home.py").write_text("import socket; socket.socket(17, 3)")
    (plugins / "40-what.cobol").write_text("DISPLAY 'x'.")
    (plugins / "50-tr.sh").write_text("tr L l")
    done = subprocess.run([EXAMPLES / "plugin_host", plugins], input="hello\n", capture_output=True,
                          text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "HEllO\n"), done.stderr
    for line in ("20-spins.py is left out: cpu_limit (cpu_time)", "refused: socket",
                 "30-calls-home.py is left out: failed (exit)", "40-what.cobol cannot be run"):
        assert line in done.stderr
    assert run(tmp_path, "plugin_host").returncode == 2
