# SPDX-License-Identifier: Apache-2.0
"""Ordinary programs: a policy learned from a program is enough for it."""

import json
import socket
import threading

import pytest

PROGRAMS = {
    "python": ("code.py", """
import json, re, threading
open('/tmp/a', 'w').write('x')
t = threading.Thread(target=lambda: print('thread'))
t.start(); t.join()
print(json.dumps({'a': open('/tmp/a').read()}))
"""),
    "bash": ("code.sh", "mkdir d; for i in 3 1 2; do echo $i > d/$i; done\ncat d/* | sort | head -1\n"),
    "c": ("code.c", """
#include <stdio.h>
#include <stdlib.h>
int main(void) { char *p = malloc(1 << 20); FILE *f = fopen("out/x", "w");
    fputs("z", f); fclose(f); puts(p ? "c" : "no"); free(p); return 3; }
"""),
    "javascript": ("code.js", "require('fs').writeFileSync('/tmp/q', '1');"
                              "setTimeout(() => console.log('later'), 5)\n"),
}


@pytest.mark.parametrize("language", PROGRAMS)
def test_enough_for_the_same_program(brig, learned, tmp_path, language):
    name, code = PROGRAMS[language]
    (tmp_path / name).write_text(code)
    done = learned.learn(tmp_path / name)
    assert b"ended the same" in done.stderr
    plain = json.loads(brig("run", "--json", tmp_path / name).stdout)
    for _ in range(3):
        under = learned.run(tmp_path / name)
        assert (under["status"], under["exit_code"], under["stdout"]) == \
            (plain["status"], plain["exit_code"], plain["stdout"]), under
    assert learned.policy()["runtimes"] == [language]


def test_a_bare_program(learned):
    learned.learn("--", "ls", "/usr/bin")
    assert learned.run("--", "ls", "/usr/bin")["status"] == "ok"


def test_every_call_has_a_line_and_a_reason(learned, tmp_path):
    (tmp_path / "code.py").write_text("open('/tmp/seen', 'w')\n")
    learned.learn(tmp_path / "code.py")
    lines = [line.strip() for line in learned.text.split('"syscalls": [')[1].splitlines()]
    calls = [line for line in lines if line.startswith('"@') and ":" in line.split('"')[1]]
    assert len(calls) > 20
    assert all(" // " in line for line in calls), calls
    openat = [line for line in calls if line.startswith('"@file:openat"')]
    assert len(openat) == 1 and " times, first /" in openat[0]
    # None by its bare name: the groups' conditions would be lost.
    assert all(entry.startswith(("@", "-")) for entry in learned.policy()["syscalls"])
    assert "not what it should be allowed" in learned.text
    assert "/tmp/seen: written" in learned.text


def test_arguments_are_named(learned):
    learned.learn("-c", "import socket; socket.socketpair()", "--lang", "python")
    assert '"@socket:socketpair arg0 == AF_UNIX"' in learned.text
    assert '"-socket"' in learned.text


def test_limits_have_margins(learned):
    learned.learn("-c", "x = b'x' * 50_000_000; print(len(x))", "--lang", "python")
    limits = learned.policy()["limits"]
    assert 50_000_000 < limits["memory_bytes"] <= 256 << 20
    assert limits["wall_ms"] <= 30_000 and limits["net_bytes"] == 0
    assert "half as much again" in learned.text


def test_standard_input_is_the_same_for_both_runs(learned):
    done = learned.learn("--stdin", "-", "--", "wc", "-c", stdin=b"12345")
    assert b"5\n" in done.stderr and b"other output" not in done.stderr


def test_never_overwrites_unasked(learned):
    learned.learn("--", "true")
    before = learned.text
    done = learned.learn("--", "ls", expect=2)
    assert b"already exists" in done.stderr and learned.text == before
    learned.learn("--force", "--", "ls")
    assert learned.text != before


def test_to_stdout(brig, tmp_path):
    done = brig("policy", "learn", "--", "echo", "said by the program")
    assert done.returncode == 0
    assert b"said by the program\n" in done.stderr
    assert b"\nsaid by the program" not in done.stdout
    (tmp_path / "p.json").write_bytes(done.stdout)
    assert brig("policy", "check", tmp_path / "p.json").returncode == 0


def test_extend_joins_two_programs(learned, tmp_path):
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("import socket; socket.socketpair(); print(1)")
    two.write_text("import os, socket\nsocket.socket(socket.AF_INET)\n"
                   "if os.fork() == 0: os._exit(0)\nos.wait(); print(2)")
    learned.learn(one)
    assert learned.run(two)["status"] == "failed"
    learned.learn("--extend", learned.file, two)
    assert learned.run(one)["stdout"] == "1\n"
    assert learned.run(two)["stdout"] == "2\n"
    assert "(kept: not used this time)" in learned.text
    # Operations of neither program stay forbidden.
    assert learned.run("--lang", "python", "-c", "import socket; "
                       "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)")["status"] == "failed"


def test_the_record_as_json(record):
    found = record("--lang", "python", "-c", "import os; os.mkdir('/tmp/d'); os.listdir('/nowhere')")
    assert found["status"] == "failed" and found["exit_code"] == 1
    calls = {call["call"]: call for call in found["calls"]}
    assert calls["mkdir"]["allowed"] == 1 and calls["mkdir"]["first"] == "/tmp/d"
    files = {file["path"]: file for file in found["files"]}
    assert files["/tmp/d"]["written"] and not files["/nowhere"]["in_cell"]
    assert any(file["executed"] for file in found["files"])
    assert found["verify"] == {"same": True, "status": "failed", "exit_code": 1, "error": None}
    assert found["peak"]["memory_bytes"] > 0
    assert record("--no-verify", "--", "true")["verify"] is None


def test_every_way_to_open_a_file(record):
    # Calls that the policy answers with an error of its own are in the record as well.
    found = record("--no-verify", "--lang", "python", "-c", """
import ctypes, struct
how = ctypes.create_string_buffer(struct.pack('QQQ', 0o101, 0o600, 0))
libc = ctypes.CDLL(None)
libc.syscall(437, -100, b'/tmp/openat2', how, 24)
libc.syscall(437, -100, b'/tmp/nothing', None, 24)
libc.syscall(257, -100, b'/tmp/openat', 0o101, 0o600)
libc.syscall(2, b'/tmp/open', 0o101, 0o600)
libc.syscall(85, b'/tmp/creat', 0o600)
""")
    files = {file["path"]: file for file in found["files"]}
    for name in ("openat2", "openat", "open", "creat"):
        assert files[f"/tmp/{name}"]["written"] and not files[f"/tmp/{name}"]["read"], name
    assert not files["/tmp/nothing"]["written"] and not files["/tmp/nothing"]["read"]


def test_directories_by_name(learned, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "in").write_text("given")
    code = tmp_path / "code.py"
    code.write_text("print(open('/mnt/data/in').read())")
    learned.learn("--rw", data, code)
    # Only read: it is proposed for reading only.
    assert f'{{ "name": "data", "path": "{data}", "mode": "ro" }}' in learned.text
    assert learned.run("--ro", "data", code)["stdout"] == "given\n"
    assert learned.run("--ro", data, code).get("error")
    assert learned.run("--rw", "data", code).get("error")


def test_what_the_host_has_and_the_cell_has_not(learned, tmp_path):
    code = tmp_path / "code.py"
    code.write_text("import os; print(os.path.exists('/etc/shadow'), os.path.exists('/etc/nosuch'))")
    learned.learn(code)
    asked = learned.text.split("The host has these")[1].split('"mounts"')[0]
    assert "/etc/shadow: looked at" in asked and "/etc/nosuch" not in asked
    assert learned.policy()["mounts"] == []


@pytest.fixture
def server():
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.sendall(b"served")
            connection.close()

    threading.Thread(target=serve, daemon=True).start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def test_hosts_that_were_reached(learned, tmp_path, server):
    code = tmp_path / "code.py"
    code.write_text("import socket\n"
                    f"print(socket.create_connection(('localhost', {server})).recv(10).decode())")
    learned.learn("--net", f"local:localhost:{server}", "--net", "example.org", code)
    allowed = learned.policy()["network"]["allow"]
    assert len(allowed) == 1 and str(server) in allowed[0] and "local" in allowed[0]
    assert learned.run(code)["stdout"] == "served\n"
    assert learned.run("--net", "example.org", code).get("error")


def test_hosts_that_were_wanted(learned):
    learned.learn("--lang", "python", "-c", """
import socket
for host in ('wanted.example.org', '192.0.2.7'):
    try: socket.create_connection((host, 81), timeout=1)
    except OSError: pass
""")
    assert "wanted.example.org" in learned.text and "192.0.2.7:81" in learned.text
    assert '"network": "none"' in learned.text


def test_under_another_policy(learned):
    (learned.config / "policies" / "mine.json").write_text(
        '{ "extends": "default", "limits": { "memory": "20M", "wall": "9s" }, "guard": "imports" }')
    learned.learn("--config", learned.config, "--policy", "mine", "--lang", "python", "-c", "print(1)")
    assert "under the policy mine" in learned.text
    policy = learned.policy()
    # Never more than the base has.
    assert policy["limits"]["memory_bytes"] <= 20 << 20 and policy["limits"]["wall_ms"] <= 9000
    assert '"guard": "imports"' in learned.text


def test_not_without_walls(brig):
    done = brig("policy", "learn", "--policy", "open", "--yes", "--", "true")
    assert done.returncode == 125 or done.returncode == 126
    assert b"can be watched only behind a filter" in done.stderr


@pytest.mark.parametrize("args, words", [
    ([], b"missing code or command"),
    (["--extend", "/nonexistent", "--", "true"], b"/nonexistent"),
    (["--policy", "nosuch", "--", "true"], b"nosuch"),
    (["--out", "/nonexistent/x", "--", "true"], b"/nonexistent/x"),
])
def test_errors(brig, args, words):
    done = brig("policy", "learn", *args)
    assert done.returncode in (2, 125, 126) and words in done.stderr
    assert done.stdout == b""


def test_help(brig):
    done = brig("policy", "learn", "--help")
    assert done.returncode == 0 and b"--extend" in done.stdout
    assert b"learn" in brig("policy", "--help").stdout


def test_environment(learned):
    learned.learn("--env", "GREETING=hello", "--lang", "bash", "-c", "echo $GREETING")
    assert learned.policy()["env_allow"] == ["GREETING"]
    assert learned.run("--env", "OTHER=x", "--lang", "bash", "-c", "echo").get("error")


def test_executed_from_a_writable_place(learned, tmp_path):
    code = tmp_path / "code.sh"
    code.write_text("printf '#!/bin/bash\\necho ran\\n' > x; chmod +x x; ./x\n")
    learned.learn(code)
    assert learned.policy()["exec_writable"] is True
    learned.learn("--force", "--", "true")
    assert learned.policy()["exec_writable"] is False




def test_cells_made_ahead_start_under_it(learned, tmp_path):
    code = tmp_path / "code.py"
    code.write_text("print(6 * 7)")
    learned.learn(code)
    under = learned.run("--start", "warm", code)
    assert (under["status"], under["stdout"], under["start"]) == ("ok", "42\n", "warm")
