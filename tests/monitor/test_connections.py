# SPDX-License-Identifier: Apache-2.0
"""Connections that the gate refuses, as events; also those that it has no room to report."""

import json

import pytest
from conftest import check_sums, of_kind

TRY = """
import socket
def reach(host, port=80):
    try:
        with socket.create_connection((host, port), 5) as s:
            s.sendall(b"GET / HTTP/1.0\\r\\nHost: %s\\r\\n\\r\\n" % host.encode())
            return "reached" if s.recv(100) else "closed"
    except OSError as error:
        return type(error).__name__
"""


@pytest.fixture
def run(world, schema, tmp_path):
    tmp_path.chmod(0o755)
    (tmp_path / "policies").mkdir()

    def run(code, *hosts, monitor=None):
        (tmp_path / "policies" / "net.json").write_text(
            json.dumps({"extends": "default", "monitor": monitor or {}}))
        line = ["run", "--json", "--config", str(tmp_path), "--policy", "net"]
        for host in hosts:
            line += ["--net", host]
        done = world.brig(*line, "-c", code)
        result = json.loads(done["stdout"])
        assert not [error.message for error in schema.iter_errors(result)], result
        check_sums(result)
        return result

    return run


def test_refused_names_and_ports(run):
    code = TRY + """
print(reach("public.test"), reach("elsewhere.test"), reach("public.test", 8080))
"""
    result = run(code, "public.test:80", "public.test:443")
    events = {event["subject"]: event for event in of_kind(result, "connection.refused")}
    assert "elsewhere.test" in events, result
    assert events["elsewhere.test"]["reason"] == "no rule allows that name"
    assert result["event_counts"]["connection.refused"] == sum(e["count"] for e in events.values())
    assert result["status"] == "ok"


def test_what_is_allowed_is_none(run):
    result = run(TRY + "print(reach('public.test'))", "public.test:80")
    assert result["stdout"] == "reached\n" and result["events"] == [], result


def test_too_many_refused(run):
    code = TRY + """
for i in range(1000000):
    reach("h%d.test" % i)
print("still here")
"""
    result = run(code, "public.test", monitor={"end_after": {"refused_connections": 10}})
    assert result["status"] == "denied" and result["verdict"]["cause"] == "connections", result
    assert result["stdout"] == ""
    assert ".test" in result["verdict"]["remedy"]
    assert "monitor.end_after.refused_connections" in result["verdict"]["operator_remedy"]
    # The program continues until the warden has received the event: how far it gets by then is
    # decided by the scheduler alone, so there is no closer bound that a busy host would keep.
    # Certain is that it does not reach its end.
    assert 11 <= result["event_counts"]["connection.refused"] < 1000000


def test_names_beyond_those_that_are_told(run):
    """The gate remembers 32 names; the others are counted, and end the run all the same."""
    code = TRY + """
for i in range(1000000):
    reach("h%d.test" % i)
print("still here")
"""
    result = run(code, "public.test", monitor={"end_after": {"refused_connections": 100}})
    assert result["status"] == "denied" and result["verdict"]["cause"] == "connections", result
    assert 101 <= result["event_counts"]["connection.refused"] < 1000000
    assert result["events_dropped"] > 60
    assert len(of_kind(result, "connection.refused")) == 8


def test_many_do_not_hide_another(run):
    """Only a number of them are reported one by one; after that another host is still reported."""
    code = TRY + """
print([reach("public.test") for i in range(150)].count("reached") > 60)
for i in range(150):
    try:
        socket.create_connection(("public.test", 80), 5).close()
    except OSError:
        pass
reach("elsewhere.test")
"""
    result = run(code, "public.test:80")
    assert result["stdout"] == "True\n", result
    events = of_kind(result, "connection.refused")
    assert "elsewhere.test" in {event["subject"] for event in events}, events
    assert result["event_counts"]["connection.refused"] > 150


def test_default_threshold(run):
    """The default policy ends a program that searches for an allowed host."""
    code = TRY + """
import struct
ask = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(20000):
    name = b"n%d" % i
    ask.sendto(struct.pack(">HHHHHH", i & 0xffff, 0x100, 1, 0, 0, 0) + bytes([len(name)]) + name +
               b"\\4test\\0" + struct.pack(">HH", 1, 1), ("127.0.0.53", 53))
    ask.recv(512)
print("still here")
"""
    result = run(code, "public.test")
    assert result["status"] == "denied" and result["verdict"]["cause"] == "connections", result
    assert len(of_kind(result, "connection.refused")) == 8
