# SPDX-License-Identifier: Apache-2.0
"""A run is the same with each provider: its streams, its end, its files."""

import base64
import os
import signal

import pytest

from conftest import ROOT

C_ABORT = "#include <stdlib.h>\nint main(void) { abort(); }\n"
C_HELLO = '#include <stdio.h>\nint main(int c, char **v) { printf("%s %d\\n", v[1], c); return 4; }\n'


def content(result, path):
    found = {one["path"]: one for one in result["files"]}
    return base64.b64decode(found[path]["content_base64"])


def test_the_acceptance_example(provider):
    result = provider.python("print(6 * 7)")
    assert (result["status"], result["stdout"], result["stderr"]) == ("ok", "42\n", "")
    assert result["exit_code"] == 0 and result["usage"]["wall_ms"] > 0


@pytest.mark.parametrize("language, code, out", [
    ("python", "import sys; print(sys.argv[1:])", "['a', 'b c']\n"),
    ("bash", 'echo "$1,$2"', "a,b c\n"),
])
def test_arguments(provider, language, code, out):
    result = provider.result("--lang", language, "-c", code, "--", "a", "b c")
    assert result["stdout"] == out


def test_compiled(provider):
    result = provider.result("--lang", "c", "-c", C_HELLO, "--", "hello")
    assert (result["status"], result["stdout"], result["exit_code"]) == ("failed", "hello 2\n", 4)


def test_a_command(provider):
    if not provider.has_commands():
        return
    result = provider.result("--", "/bin/echo", "plain")
    assert result["stdout"] == "plain\n"


def test_streams_apart(provider):
    done = provider.plain("--lang", "bash", "-c", "echo out; echo err >&2; exit 3")
    assert (done.stdout, done.stderr.splitlines()[0], done.returncode) == (b"out\n", b"err", 3)


def test_input_and_its_end(provider):
    text = b"line\n" * 50000  # more than a pipe and a window hold
    done = provider.plain("--lang", "bash", "-c", "cat; echo end", stdin=text)
    assert done.stdout == text + b"end\n"


def test_input_that_nobody_reads(provider):
    done = provider.plain("--lang", "bash", "-c", "exec 0<&-; echo done", stdin=b"x" * 300000)
    assert (done.stdout, done.returncode) == (b"done\n", 0)


def test_binary_output(provider):
    done = provider.plain("--lang", "python", "-c",
                          "import sys; sys.stdout.buffer.write(bytes(range(256)) * 1000)")
    assert done.stdout == bytes(range(256)) * 1000


@pytest.mark.parametrize("code", [0, 1, 77, 255])
def test_exit_status(provider, code):
    result = provider.bash(f"exit {code}")
    assert (result["exit_code"], result["signal"]) == (code, None)


@pytest.mark.parametrize("name", ["KILL", "TERM", "SEGV"])
def test_signal(provider, name):
    result = provider.bash(f"kill -{name} $$")
    assert (result["status"], result["exit_code"]) == ("failed", None)
    assert result["signal"] == getattr(signal, f"SIG{name}")


def test_abort(provider):
    assert provider.plain("--lang", "c", "-c", C_ABORT).returncode == 134


def test_environment_and_place(provider):
    result = provider.bash('echo "$A|$HOME|$(pwd)"', "--env", "A=b c")
    assert result["stdout"] == "b c|/sandbox|/sandbox\n"


def test_files_in_and_out(provider, tmp_path):
    (tmp_path / "in.txt").write_text("given")
    big = os.urandom(3 << 20)
    (tmp_path / "big").write_bytes(big)
    result = provider.bash(
        "cat in.txt; cp sub/big out/copy; echo new > out/new; rm in.txt; ls -A",
        "--in", tmp_path / "in.txt", "--in", f"sub/big={tmp_path / 'big'}", "--changes")
    assert result["stdout"].startswith("given")
    assert content(result, "out/copy") == big and content(result, "out/new") == b"new\n"
    changes = {(one["path"], one["kind"]) for one in result["changes"]}
    assert {("in.txt", "deleted"), ("out/new", "created")} <= changes


def test_mounts(provider, tmp_path):
    (tmp_path / "data").write_text("shared")
    result = provider.bash("cat /mnt/d/data; touch /mnt/d/no", "--ro", f"d={tmp_path}")
    assert result["stdout"] == "shared" and "Read-only" in result["stderr"]
    result = provider.bash("echo back > /mnt/d/new", "--rw", f"d={tmp_path}")
    assert result["status"] == "ok", result
    assert (tmp_path / "new").read_text() == "back\n"
    assert (tmp_path / "new").stat().st_uid == os.geteuid()


def test_an_orphan_delays_nothing(provider):
    result = provider.bash("sleep 100 & while sleep 0.05; do echo x; done >&2 & echo done",
                           "--timeout", "20s")
    assert (result["status"], result["stdout"]) == ("ok", "done\n")


def test_hostile_output(provider):
    """Bytes that look like brig's own frames, and a flood on both streams at once."""
    code = """
import os, threading
frame = bytes([17, 0, 0, 0, 24, 0, 0, 0]) + bytes(24)
def flood(fd):
    for i in range(200):
        os.write(fd, frame * 100)
threads = [threading.Thread(target=flood, args=(fd,)) for fd in (1, 2)]
[t.start() for t in threads]; [t.join() for t in threads]
"""
    result = provider.python(code, "--stdout", "1M", "--stderr", "1M")
    assert result["status"] == "ok" and result["exit_code"] == 0, {**result, "stdout": "", "stderr": ""}
    assert result["stdout"] == result["stderr"]


def test_not_a_program(provider):
    if not provider.has_commands():
        return
    error = provider.refused("--in", "/etc/hostname", "--", "/sandbox/hostname")
    assert error["step"] == "exec" and "program" in error["message"], error


def test_the_result_tells_the_truth(provider):
    result = provider.python("pass")
    layers = set(result["layers"])
    # The host's daemon makes containers without a user namespace, and with a whole /proc.
    own = set() if provider.daemon else {"userns", "proc"}
    assert {"pidns", "netns", "rootfs", "caps", "nnp", "seccomp", *own} <= layers
    others = {"landlock", "notify", "timens", "overlay"}
    # Kernels of their own do not add these, and daemons none of them.
    absent = {"vm": others, "gvisor": {"landlock", "notify"}, "docker": others, "podman": others}
    assert others - layers == absent.get(provider.kind, set())
    assert ("uidrange" in layers) == (ROOT and not provider.daemon)
    assert not provider.daemon or not {"userns", "proc"} & layers
    assert result["means"]["disk"] == "tmpfs" and result["means"]["net"] == "netns"


def test_one_shape(provider, config, schema):
    from conftest import Provider
    other = Provider("native", config, schema).python("print(1)")
    result = provider.python("print(1)")
    assert set(result) == set(other)
    assert set(result["usage"]) == set(other["usage"])
    assert set(result["means"]) == set(other["means"])
    assert result["usage"]["disk_bytes"] == other["usage"]["disk_bytes"] == 0
