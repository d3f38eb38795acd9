# SPDX-License-Identifier: Apache-2.0
"""The gate of cells that a service makes: by HTTP, in sessions, by MCP; and its counters."""

import http.client
import itertools
import json
import os
import re
import shutil
import signal
import socket
import tempfile
import time
from pathlib import Path

import pytest

BRIG = os.environ.get("BRIG", "build/brig")
VERSION = "2025-06-18"

GET = "import urllib.request as u; print(u.urlopen({!r}, timeout=20).read().decode())"


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Service:
    """`brig serve` on the host of the tests' network; its socket is a file that all
    users can open."""

    def __init__(self, world, directory):
        self.directory = directory
        self.socket = str(directory / "brig.sock")
        self.ids = itertools.count(1)
        self.headers = {"Accept": "application/json, text/event-stream",
                        "MCP-Protocol-Version": VERSION}
        line = (f"setsid {BRIG} serve --listen unix:{self.socket} --state {directory}/state "
                f"--config {directory}/config </dev/null >{directory}/log 2>&1 & echo $!")
        self.pid = int(world.command("/bin/sh", "-c", line)["stdout"])
        end = time.monotonic() + 60
        while time.monotonic() < end and "role=supervisor event=ready" not in self.log():
            time.sleep(0.05)

    def log(self):
        return (self.directory / "log").read_text(errors="replace")

    def stop(self):
        os.kill(self.pid, signal.SIGTERM)
        end = time.monotonic() + 30
        while time.monotonic() < end and os.path.exists(f"/proc/{self.pid}"):
            time.sleep(0.05)

    def ask(self, method, path, body=None, headers=None):
        connection = Connection(self.socket)
        connection.request(method, path, json.dumps(body) if body is not None else None,
                           {"Content-Type": "application/json", **(headers or {})})
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response, text

    def run(self, path="/v1/execute", **body):
        response, text = self.ask("POST", path, body)
        assert response.status in (200, 201), text + self.log()
        return json.loads(text)

    def metrics(self):
        text = self.ask("GET", "/metrics")[1]
        return {name: float(value)
                for name, value in re.findall(r"^brig_engine_gate_(\w+)_total (\S+)$", text, re.M)}

    def mcp(self, method, params):
        body = {"jsonrpc": "2.0", "id": next(self.ids), "method": method, "params": params}
        response, text = self.ask("POST", "/mcp", body, self.headers)
        self.headers["Mcp-Session-Id"] = response.getheader(
            "Mcp-Session-Id", self.headers.get("Mcp-Session-Id", ""))
        lines = [line[6:] for line in text.splitlines() if line.startswith("data: ")] or [text]
        return next(m["result"] for m in map(json.loads, lines) if "result" in m)

    def call(self, tool, **arguments):
        return self.mcp("tools/call", {"name": tool, "arguments": arguments})


@pytest.fixture(scope="module")
def service(world):
    # As root the warden is another user, who reads all of this.
    directory = Path(tempfile.mkdtemp(prefix="brig-gate-", dir="/tmp"))
    directory.chmod(0o755)
    (directory / "config" / "policies").mkdir(parents=True)
    shutil.copy(world.directory / "ca.pem", directory / "ca.pem")
    (directory / "token").write_text("Bearer of-the-operator\n")
    policy = {"extends": "default", "network": {"allow": ["api.test", "public.test"], "credentials": [
        {"host": "api.test", "header": "Authorization", "file": str(directory / "token"),
         "tls": "open", "authorities": str(directory / "ca.pem")}]}}
    (directory / "config" / "policies" / "default.json").write_text(
        json.dumps(dict(policy, extends="default")))
    made = Service(world, directory)
    yield made
    made.stop()
    shutil.rmtree(directory, ignore_errors=True)


def test_runs_with_opened_tls(service, world):
    before = service.metrics()
    result = service.run(code=GET.format("https://api.test/x"))
    assert json.loads(result["stdout"])["headers"]["Authorization"] == "Bearer of-the-operator", result
    assert result["network"][0]["verdict"] == "allowed"
    result = service.run(code="import socket\ntry: socket.getaddrinfo('evil.test', 80)\n"
                              "except OSError: print('no')")
    assert result["stdout"] == "no\n" and result["network"][0]["verdict"] == "refused_name"
    after = service.metrics()
    assert after["connections"] == before["connections"] + 1
    assert after["refused"] == before["refused"] + 1
    assert after["up_bytes"] > before["up_bytes"] and after["down_bytes"] > before["down_bytes"]


def test_a_request_selects(service):
    exists = "import os; print(os.path.exists('/etc/ssl/brig-cell.pem'))"
    assert service.run(code=exists)["stdout"] == "True\n"
    assert service.run(code=exists, network=["public.test"])["stdout"] == "False\n"
    assert service.run(code=exists, network=[])["stdout"] == "False\n"
    response, text = service.ask("POST", "/v1/execute", {"code": "1", "network": ["other.test"]})
    assert response.status == 403, text
    response, text = service.ask("POST", "/v1/execute", {"code": "1", "network": [
        {"host": "public.test", "tls": "open"}]})
    assert response.status == 400, text


def test_sessions(service):
    session = service.run("/v1/sessions", language="python")["id"]
    for path in ("/1", "/2"):
        result = service.run(f"/v1/sessions/{session}/execute",
                             code=GET.format("https://api.test" + path))
        answer = json.loads(result["stdout"])
        assert answer["path"] == path and "of-the-operator" in answer["headers"]["Authorization"]
    service.ask("DELETE", f"/v1/sessions/{session}")


def test_mcp_sessions_take_hosts(service):
    service.mcp("initialize", {"protocolVersion": VERSION, "capabilities": {},
                               "clientInfo": {"name": "test", "version": "1"}})
    tools = {tool["name"]: tool for tool in service.mcp("tools/list", {})["tools"]}
    for name in ("open_session", "execute_code"):
        assert "network" in tools[name]["inputSchema"]["properties"]
    for hosts in (["public.test:80"], []):
        opened = service.call("open_session", network=hosts)["structuredContent"]
        session = opened.get("session_id") or opened["id"]
        code = ("import socket\nfor host in ('api.test', 'public.test'):\n"
                " try: socket.getaddrinfo(host, 80); print(host, 'known')\n"
                " except OSError: print(host, 'unknown')")
        said = service.call("execute_code", code=code, session_id=session)["structuredContent"]["stdout"]
        assert "api.test unknown" in said, said
        assert f"public.test {'known' if hosts else 'unknown'}" in said, said
        service.call("close_session", session_id=session)
    refused = service.call("open_session", network=["other.test"])
    assert refused["isError"] and "other.test" in refused["content"][0]["text"], refused
    said = service.call("execute_code", network=["api.test:443"], code=GET.format("https://api.test/m"))
    assert "of-the-operator" in said["structuredContent"]["stdout"], said
