# SPDX-License-Identifier: Apache-2.0
"""Clients: by TCP with a token, by unix socket, by MCP, or with raw bytes."""

import contextlib
import http.client
import importlib.util
import itertools
import json
import os
import socket
import subprocess
import time
from pathlib import Path


def _load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


serve = _load("serve_conftest", Path(__file__).resolve().parent.parent / "serve" / "conftest.py")
wait_for = serve.wait_for


class Answer:
    def __init__(self, response, body):
        self.status = response.status
        self.headers = response.getheaders()
        self.body = body

    def header(self, name):
        return next((v for k, v in self.headers if k.lower() == name.lower()), None)

    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        return self.json().get("code") if self.body else None

    def events(self):
        return list(events_of(self.body.decode()))


def events_of(text):
    """(id, name, data) of each event, parsed as the standard requires: line by line."""
    fields = {}
    for line in text.split("\n"):
        if line == "" and fields:
            yield fields.get("id"), fields.get("event"), fields.get("data")
            fields = {}
        elif line and not line.startswith(":"):
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")


class Client:
    """One tenant, by one way of access. Every request has a connection of its own."""

    def __init__(self, connect, token=None):
        self.connect = connect
        self.token = token

    def all_headers(self, headers):
        own = {"Authorization": "Bearer " + self.token} if self.token else {}
        return {**own, **(headers or {})}

    def begin(self, method, target, body=None, headers=None):
        """Sends a request, and does not wait for a response."""
        headers = self.all_headers(headers)
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        connection = self.connect()
        connection.request(method, target, body, headers)
        return connection

    def ask(self, method, target, body=None, headers=None):
        connection = self.begin(method, target, body, headers)
        with contextlib.closing(connection):
            response = connection.getresponse()
            return Answer(response, response.read())

    def run(self, code, **fields):
        answer = self.ask("POST", "/v1/execute", {"code": code, **fields})
        assert answer.status == 200, answer.body
        return answer.json()

    def order(self, code, **fields):
        answer = self.ask("POST", "/v1/executions", {"code": code, **fields})
        assert answer.status == 202, answer.body
        return answer.json()["id"]

    def wait(self, execution, seconds=120):
        def ended():
            found = self.ask("GET", f"/v1/executions/{execution}").json()
            return found if found["status"] not in ("queued", "running") else None

        return wait_for(ended, seconds, f"end of {execution}")

    def session(self, **fields):
        answer = self.ask("POST", "/v1/sessions", fields)
        assert answer.status == 201, answer.body
        return answer.json()["id"]

    def run_in(self, session, code, **fields):
        answer = self.ask("POST", f"/v1/sessions/{session}/execute", {"code": code, **fields})
        assert answer.status == 200, answer.body
        return answer.json()

    def metrics(self):
        """The metrics without labels."""
        lines = self.ask("GET", "/metrics").body.decode().splitlines()
        return {k: float(v) for k, v in (x.split(" ") for x in lines if x[0] != "#") if "{" not in k}

    def mcp(self):
        return Mcp(self)


class Mcp:
    """A legacy session: the version in which the server keeps state for a client."""

    VERSION = "2025-11-25"

    def __init__(self, client):
        self.client = client
        self.ids = itertools.count(1)
        self.headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": self.VERSION,
        }
        answer = self.post("initialize", {
            "protocolVersion": self.VERSION, "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        })
        assert answer.status == 200, answer.body
        self.id = answer.header("Mcp-Session-Id")
        self.headers["Mcp-Session-Id"] = self.id

    def post(self, method, params, **headers):
        message = {"jsonrpc": "2.0", "id": next(self.ids), "method": method, "params": params}
        return self.client.ask("POST", "/mcp", message, {**self.headers, **headers})

    def call(self, tool, **arguments):
        answer = self.post("tools/call", {"name": tool, "arguments": arguments})
        assert answer.status in (200, 400), answer.body
        if answer.header("Content-Type").startswith("text/event-stream"):
            messages = [json.loads(data) for _, _, data in answer.events() if data]
            return next(m.get("result") or m for m in messages if "id" in m)
        message = answer.json()
        return message.get("result") or message

    def text(self, tool, **arguments):
        """(is it an error, its text)."""
        result = self.call(tool, **arguments)
        if "content" not in result:
            return True, json.dumps(result)
        return result.get("isError", False), result["content"][0].get("text", "")


class House:
    """A running service with tenants."""

    def __init__(self, make, *options, tokens=(), **kept):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.server = make("--listen", f"127.0.0.1:{self.port}", *options, **kept)
        self.file = self.server.dir / "tokens.json"
        self.tokens = {}
        for name, *rest in tokens:
            line = [serve.BRIG, "token", "new", name, "--json", "--file", self.file, *rest]
            done = subprocess.run(line, capture_output=True, check=True)
            self.tokens[name] = json.loads(done.stdout)["token"]
        self.server.options = (*self.server.options, "--tokens", self.file)

    def edit_tokens(self, change):
        """`change` gets the list of entries, by name."""
        listed = json.loads(self.file.read_text())
        change({entry["name"]: entry for entry in listed["tokens"]}, listed["tokens"])
        self.file.write_text(json.dumps(listed))

    def start(self):
        self.server.start()
        return self

    def tcp(self, name=None, token=None):
        return Client(
            lambda: http.client.HTTPConnection("127.0.0.1", self.port, timeout=180),
            token or self.tokens.get(name),
        )

    def unix(self, name=None):
        """Without a name it is root, or the service's own user: both are operators."""
        return Client(lambda: serve.UnixConnection(self.server.socket, 60), self.tokens.get(name))

    def raw(self, data, seconds=10):
        """Everything that comes back for these bytes, until it is closed or silent."""
        with self.socket() as door:
            door.settimeout(seconds)
            with contextlib.suppress(OSError):
                door.sendall(data)
            return read_all(door)

    def socket(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def head(self, method, target, name, *lines):
        """The beginning of a request of that tenant."""
        lines = [f"{method} {target} HTTP/1.1", f"Host: 127.0.0.1:{self.port}",
                 f"Authorization: Bearer {self.tokens[name]}", *lines]
        return "".join(line + "\r\n" for line in lines).encode() + b"\r\n"

    def resident_kib(self, role):
        status = Path(f"/proc/{self.server.roles()[role]}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])

    def audit(self, kind):
        """The chain's entries of a kind."""
        line = [serve.BRIG, "audit", "list", "--json", "--kind", kind, "--state", self.server.state]
        done = subprocess.run(line, capture_output=True, check=True)
        return [json.loads(entry) for entry in done.stdout.splitlines()]

    def cells(self):
        """Processes below the warden: cells, and those that are kept ready."""
        found, look = [], [self.server.roles()["warden"]]
        while look:
            below = serve.children_of(look.pop())
            found += below
            look += below
        return found


def read_all(door):
    got = b""
    with contextlib.suppress(OSError):
        while piece := door.recv(65536):
            got += piece
    return got


def quiet(client, seconds=15):
    """Nothing runs and nothing waits."""

    def nothing():
        now = client.metrics()
        return now["brig_executions_running"] == now["brig_executions_waiting"] == 0

    wait_for(nothing, seconds, "quiet")


def running(client, count=1, seconds=15):
    """This many of the client's executions are running: their ids."""

    def found():
        listed = client.ask("GET", "/v1/executions?limit=100").json()["executions"]
        ids = [e["id"] for e in listed if e["status"] == "running"]
        return ids if len(ids) >= count else None

    return wait_for(found, seconds, "it runs")


def timed(what):
    start = time.monotonic()
    result = what()
    return result, time.monotonic() - start


def cpu_seconds(house, role):
    """Processor time that a role has used: the wait of others, independent of the host's load."""
    fields = Path(f"/proc/{house.server.roles()[role]}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
