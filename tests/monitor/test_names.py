# SPDX-License-Identifier: Apache-2.0
"""Names that a program without a network looks up: reported once, and nothing else changes."""

import subprocess

import pytest
from conftest import BRIG, check_sums, of_kind

NO_NETWORK = "this run has no network"
ASK = """
import socket, sys, time
def ask(*names):
    began = time.monotonic()
    for name in names:
        try:
            socket.getaddrinfo(name, 80)
            print("found")
        except socket.gaierror as error:
            assert error.errno == socket.EAI_NONAME, error
    assert time.monotonic() - began < 4
def question(name):
    labels = b"".join(bytes([len(label)]) + label for label in name.split(b"."))
    return b"\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0" + labels + b"\\0\\0\\1\\0\\1"
def send(data, to=("127.0.0.53", 53)):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(data, to)
"""


def names(result):
    events = of_kind(result, "connection.refused")
    assert all(event["reason"].startswith(NO_NETWORK) for event in events), events
    return [event["subject"] for event in events]


def test_who_copes_is_told(run):
    """The status is the program's own, and the verdict is success."""
    result = run(ASK + "ask('example.org', 'data.example.org')\nprint('coped')")
    assert (result["status"], result["stdout"]) == ("ok", "coped\n"), result
    assert names(result) == ["example.org", "data.example.org"]
    assert "--net" in result["events"][0]["reason"] and "network" not in result
    assert result["verdict"]["cause"] == "exit" and result["verdict"]["remedy"] is None


def test_who_fails_has_a_remedy(run):
    result = run("import urllib.request\nurllib.request.urlopen('http://example.org/')")
    assert result["status"] == "failed" and result["exit_code"] == 1
    assert "tried to reach example.org, but its cell has no network" in result["verdict"]["remedy"]
    assert "network.allow" in result["verdict"]["operator_remedy"]


def test_who_asks_for_nobody_is_told_nothing(run):
    """The cell's own names, its loopback, and ports without a listener."""
    result = run(ASK + """
ask("localhost", "brig")
send(b"hello", ("127.0.0.1", 53))
send(b"hello", ("127.0.0.1", 8125))
send(b"hello", ("127.0.0.53", 8125))
""")
    assert result["stdout"] == "found\nfound\n" and result["events"] == [], result


def test_resolvers_of_their_own(run):
    """A query by a socket that is not connected, as static programs send it."""
    result = run(ASK + "send(question(b'static.example.org'))")
    assert names(result) == ["static.example.org"] and result["status"] == "ok"


@pytest.mark.parametrize("data", [
    "b''", "b'x'", "b'\\xff' * 12", "b'\\xff' * 1400", "question(b'a' * 63)[:-3]",
    "question(b'a.b')[:12] + b'\\xc0\\x0c\\0\\1\\0\\1'", "question(b'a')[:12] + b'\\x3f' * 600"])
def test_what_is_no_question(run, data):
    result = run(ASK + f"send({data})\nsend(question(b'after.example.org'))")
    assert "after.example.org" in names(result) and result["status"] == "ok", result


@pytest.mark.parametrize("name", ["b'a b'", "b'[end] all is well'", "b'\\x1b[2J'", "b'\\xff\\n'"])
def test_what_is_no_name(run, name):
    """Only valid host names get into brig's own messages."""
    result = run(ASK + f"send(question({name}))\nsys.exit(1)")
    assert names(result) == ["(not a host's name)"], result
    assert "tried to reach (not a host's name), but its cell has no" in result["verdict"]["remedy"]


def test_a_flood_is_counted(run):
    """More than there is room for, and no threshold: the program continues."""
    result = run(ASK + """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(3000):
    s.sendto(question(b"h%d.example.org" % i), ("127.0.0.53", 53))
print("coped")
""")
    assert (result["status"], result["stdout"]) == ("ok", "coped\n"), result
    assert len(names(result)) <= 8 and result["event_counts"]["connection.refused"] == 3000


def test_text(config, start):
    def lines(code):
        done = subprocess.run([BRIG, "run", "--config", config, "--start", start, "-c", ASK + code],
                              capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, [line for line in done.stderr.splitlines() if "network" in line]

    line = "brig: network: the run has no network, but the program tried to reach {}. Allow hosts with " \
           "--net, or in network.allow of the policy."
    assert lines("ask('a.example')") == (0, [line.format("a.example")])
    status, said = lines("ask('a.example', 'b.example')\nsys.exit(3)")
    assert status == 3 and len(said) == 1, said
    assert said[0].startswith("brig: failed: The program tried to reach a.example, but its cell has no")
    assert lines("ask(*'a.example b.example c.example d.example'.split())") == (
        0, [line.format("a.example, b.example, c.example, ...")])
    assert lines("ask('localhost')") == (0, [])


def test_sessions_tell_each_run_its_own(service):
    unix = service.unix()
    answer = unix.ask("POST", "/v1/sessions", {"language": "python"})
    assert answer.status == 201, answer.body
    path = f"/v1/sessions/{answer.json()['id']}/execute"

    def execute(code):
        result = unix.ask("POST", path, {"code": code}).json()
        check_sums(result)
        return result

    assert names(execute(ASK + "ask('first.example')")) == ["first.example"]
    assert names(execute("print(1)")) == []
    failed = execute("ask('second.example')\nraise SystemExit(2)")
    assert names(failed) == ["second.example"]
    flood = "for i in range(500): send(question(b'h%d.example' % i))"
    for _ in range(2):
        assert execute(flood)["event_counts"]["connection.refused"] == 500
    assert names(execute("print(1)")) == []


def test_a_remote_run_is_told(service):
    unix = service.unix()
    result = unix.run(code=ASK + "ask('example.org')")
    assert names(result) == ["example.org"] and result["status"] == "ok"

