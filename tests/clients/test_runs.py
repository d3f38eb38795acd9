# SPDX-License-Identifier: Apache-2.0
"""Running code, by every way of access."""

import hashlib
import os
import random

import brig
import pytest
from conftest import BRIG


def test_execute(client):
    result = client.execute("print(6 * 7)\n'done'")
    assert isinstance(result, brig.ExecutionResult)
    assert (result.ok, result.status, result.exit_code, result.signal) == (True, "ok", 0, None)
    assert (result.stdout, result.stderr, result.value) == ("42\n", "", "done")
    assert result.text == "42" and result.verdict.cause == "exit"
    assert result.language == "python" and result.policy.startswith("default@sha256:")
    assert result.usage["wall_ms"] > 0 and result.limits["wall_ms"] == 30000
    assert "seccomp" in result.layers and result.raw["id"] == result.id
    assert result.changes is None and not result.stdout_truncated


def test_all_options(client):
    result = client.execute(
        "import os, sys\n"
        "print(sys.argv[1:], sys.stdin.read(), os.environ['COLOUR'], os.environ['TZ'])\n"
        "print(open('data/in.txt').read(), open('raw', 'rb').read())\n"
        "os.makedirs('out', exist_ok=True)\n"
        "open('out/a', 'w').write('A'); open('b.txt', 'w').write('B')\n",
        args=["one", "-x", "two words"], stdin="given", env={"COLOUR": "blue", "TZ": "UTC"},
        files={"data/in.txt": "text", "raw": b"\x00\xff"}, out=["*.txt"], timeout=20,
        limits={"memory_bytes": 64 << 20, "cpu_millicores": 500}, policy="default",
        want_value=False, changes=True, start="cold")
    assert result.ok, result.text
    assert result.stdout == "['one', '-x', 'two words'] given blue UTC\ntext b'\\x00\\xff'\n"
    assert {item.path: item.content for item in result.files} == {"out/a": b"A", "b.txt": b"B"}
    assert result.file("b.txt").text == "B"
    with pytest.raises(KeyError):
        result.file("c.txt")
    assert {"b.txt": "created"}.items() <= {c.path: c.kind for c in result.changes}.items()
    assert result.limits["memory_bytes"] == 64 << 20 and result.limits["wall_ms"] == 20000
    assert result.limits["cpu_millicores"] == 500


def test_executable_file(client):
    files = [brig.InputFile("tool", "#!/bin/sh\necho tool\n", executable=True)]
    result = client.execute("./tool", "bash", files=files)
    assert (result.stdout, result.status) == ("tool\n", "ok"), result.text


def test_bytes(client):
    result = client.execute("import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())",
                            stdin=b"\xff\x00\x1b[31m")
    assert result.stdout_bytes == b"\xff\x00\x1b[31m" and result.encoding == "base64"
    assert result.stdout == "\ufffd\x00\x1b[31m"
    assert brig.printable(result.stdout) == "\ufffd\\x00\\x1b[31m"


def test_file_of_20_mb(client):
    data = random.Random(20).randbytes(20_000_000)
    result = client.execute("import hashlib; print(hashlib.sha256(open('f', 'rb').read()).hexdigest())",
                            files={"f": data})
    assert result.stdout == hashlib.sha256(data).hexdigest() + "\n", result.text


def test_failures_are_results(client):
    result = client.execute("import sys; print('no', file=sys.stderr); sys.exit(3)")
    assert (result.ok, result.status, result.exit_code) == (False, "failed", 3)
    assert result.text.startswith("no\n[failed, exit 3")
    result = client.execute("while True: pass", limits={"cpu_ms": 300})
    assert result.status == "cpu_limit" and result.verdict.limit_name == "cpu_ms"
    assert result.verdict.remedy in result.text
    result = client.execute("import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)")
    assert result.verdict.denial.call == "socket" and "refused: socket(" in result.why


def test_what_cannot_run_is_an_exception(client):
    with pytest.raises(brig.Problem) as caught:
        client.execute("x", "cobol")
    assert caught.value.code == "unsupported_language"
    assert "cobol" in caught.value.detail and "python" in caught.value.remedy
    assert caught.value.remedy in str(caught.value) and caught.value.title
    with pytest.raises(brig.Problem) as caught:
        client.execute("x", policy="no-such-policy")
    assert caught.value.code in ("invalid_request", "policy_forbids")
    with pytest.raises(TypeError, match="tiemout"):
        client.execute("x", tiemout=3)


def test_execute_file(client, tmp_path):
    for name, text in {"a.py": "print('py')", "b.sh": "echo sh", "c": "#!/usr/bin/env node\n"
                       "console.log('node')"}.items():
        (tmp_path / name).write_text(text)
        assert client.execute_file(tmp_path / name).stdout in ("py\n", "sh\n", "node\n")
    with pytest.raises(FileNotFoundError):
        client.execute_file(tmp_path / "none.py")
    (tmp_path / "d").write_text("echo by name")
    assert client.execute_file(tmp_path / "d", "bash", args=["x"]).stdout == "by name\n"


def test_batch(client):
    programs = [{"code": "print(int(input()) * 2)"},
                {"code": "read -r x; exit $x", "language": "bash"}]
    seen = {(item.program, item.input): (item.result.stdout, item.result.exit_code)
            for item in client.batch(programs, [{"stdin": "3"}, {"stdin": "4"}])}
    assert seen == {(0, 0): ("6\n", 0), (0, 1): ("8\n", 0), (1, 0): ("", 3), (1, 1): ("", 4)}
    assert [item.result.stdout for item in client.batch([{"code": "print(1)"}])] == ["1\n"]


def test_what_there_is(client):
    names = {item["name"] for item in client.runtimes() if item["installed"]}
    assert {"python", "bash", "javascript"} <= names
    assert {"default", "strict"} <= {item["name"] for item in client.policies()}
    assert client.health() == "ok"


def test_many_bytes(client):
    data = os.urandom(300_000)
    code = "import sys\nopen('out/copy', 'wb').write(sys.stdin.buffer.read())"
    assert client.execute(code, stdin=data).file("out/copy").content == data


def test_spawn_needs_service():
    client = brig.Client(f"spawn:{BRIG}")
    for what in (lambda: client.stream("1"), lambda: client.submit("1"), client.session,
                 lambda: client.execute("1", limits={"none_such": 1}), client.metrics,
                 lambda: client.execute("1", more={"x": 1})):
        with pytest.raises(brig.NeedsService) as caught:
            what()
        assert "brig serve" in caught.value.remedy


def test_spawn_hides_variables_from_the_command_line():
    from brig import spawn

    with spawn.prepare("brig", "1", "python", env={"SECRET": "a secret", "PATH": "/x"}) as command:
        assert "a secret" not in " ".join(command.words) and command.env["SECRET"] == "a secret"
        # Variables that would change brig itself are not in its environment.
        assert "PATH=/x" in command.words and command.env["PATH"] == os.environ["PATH"]


def test_spawn_takes_no_name_apart(tmp_path):
    with pytest.raises(ValueError, match="command line"):
        brig.Client(f"spawn:{BRIG}").execute("1", files={f"x={tmp_path}": "y"})
    words = ["--", "--rw", "/"]
    assert brig.Client(f"spawn:{BRIG}").execute("import sys; sys.argv[1:]", args=words).value == words


def test_spawn_deadline():
    client = brig.Client(f"spawn:{BRIG}", deadline=1)
    with pytest.raises(brig.DeadlineExceeded):
        client.execute("import time; time.sleep(60)")


def test_default_place(services, monkeypatch, tmp_path):
    for name in ("XDG_RUNTIME_DIR", "XDG_STATE_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    assert brig.execute_code("print(1)").stdout == "1\n"
    (tmp_path / "x.py").write_text("print(2)")
    assert brig.execute_file(tmp_path / "x.py").stdout == "2\n"
    monkeypatch.setenv("BRIG_SOCKET", services.socket)
    assert brig.Client().place.path == services.socket
    monkeypatch.setenv("BRIG_URL", services.doors["tcp"]["url"])
    monkeypatch.setenv("BRIG_TOKEN", services.doors["tcp"]["token"])
    assert brig.Client().place.kind == "tcp"
    assert brig.execute_code("print(3)").stdout == "3\n"


@pytest.mark.parametrize("url", ["", "ftp://x", "http://", "unix:", "https://h/path", "x y"])
def test_addresses_that_are_none(url, monkeypatch):
    monkeypatch.setenv("BRIG_URL", url or "none")
    with pytest.raises(brig.BrigError):
        brig.Client()


def test_tokens_stay_out_of_sight():
    with pytest.raises(brig.BrigError, match="in clear"):
        brig.Client("http://198.51.100.1:80", token="brig_x")
    assert brig.Client("http://198.51.100.1:80", token="brig_x", allow_clear=True)
    with pytest.raises(brig.BrigError, match="address"):
        brig.Client("https://user:brig_x@localhost:1")
    assert "brig_x" not in repr(brig.Client("https://localhost:1", token="brig_x"))


def test_nobody_there(tmp_path, monkeypatch):
    with pytest.raises(brig.CannotConnect, match="brig serve"):
        brig.Client(f"unix:{tmp_path}/none").health()
    with pytest.raises(brig.CannotConnect):
        brig.Client("spawn:/no/such/brig")
    monkeypatch.setenv("BRIG", "/no/such/brig")
    for name in ("XDG_RUNTIME_DIR", "XDG_STATE_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    with pytest.raises(brig.CannotConnect, match="no service answers at"):
        brig.Client()


def test_wrong_token_and_wrong_certificate(services):
    door = services.doors["tcp"]
    with pytest.raises(brig.Problem) as caught:
        brig.Client(door["url"], token="brig_wrong").runtimes()
    assert (caught.value.code, caught.value.status) == ("unauthorized", 401)
    with pytest.raises(brig.CannotConnect, match="CERTIFICATE_VERIFY_FAILED|certificate"):
        brig.Client(services.doors["tls"]["url"], token="x").health()


def test_events(client):
    result = client.execute("import ctypes\n"
                            "for _ in range(3): ctypes.CDLL(None).syscall(101, 0, 0, 0, 0)")
    (event,) = [event for event in result.events if event.kind == "call.denied"]
    assert isinstance(event, brig.RunEvent) and "ptrace" in event.subject and event.reason
    assert event.count == result.event_counts["call.denied"] == 3
    assert 0 < event.first_ms <= result.duration_ms and result.events_dropped == 0
    quiet = client.execute("1")
    assert quiet.events == [] and set(quiet.event_counts.values()) == {0}


@pytest.mark.parametrize("timeout", [0, -1, 0.0001, float("nan"), float("inf"), -float("inf")])
def test_times_that_are_none(services, timeout):
    """The same error by every way of access."""
    told = set()
    for door in ("unix", "spawn"):
        with pytest.raises(brig.Problem) as caught:
            brig.Client(**services.doors[door]).execute("print(1)", timeout=timeout)
        told.add((caught.value.code, caught.value.detail, caught.value.remedy))
    assert len(told) == 1, told
    code, detail, _ = told.pop()
    assert code == "invalid_request"
    assert ("1ms to 5m" in detail) != ("not a valid time" in detail)


TOLD = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b"told\\n"), sys.exit(0)))
os.write(1, b"on\\n")
while True: time.sleep(0.01)
"""


def test_grace_and_clamp(client):
    for _ in range(5):  # a busy host may be late with its start
        result = client.execute(TOLD, timeout=0.6, limits={"grace_ms": 9000})
        if result.stdout:
            break
    assert (result.status, result.stdout) == ("timeout", "on\ntold\n")
    result = client.execute("1", timeout=1000, limits={"grace_ms": 1e6}, clamp=True)
    assert (result.limits["wall_ms"], result.limits["grace_ms"]) == (300000, 10000)


def test_consent_and_directories(client):
    if client.place.kind == "spawn":
        assert client.execute("print(1)", consent=True).ok
        return
    with pytest.raises(brig.Problem) as caught:
        client.execute("print(1)", consent=True)
    assert caught.value.code == "consent_not_allowed"
    for mounts in (["nothing"], [{"name": "nothing", "writable": True}]):
        with pytest.raises(brig.Problem) as caught:
            client.execute("print(1)", mounts=mounts)
        assert caught.value.code == "policy_forbids" and "nothing" in caught.value.detail
    with pytest.raises(TypeError):
        client.execute("print(1)", mounts="data")
