# SPDX-License-Identifier: Apache-2.0
"""MCP messages by hand, so that they can be wrong."""

import contextlib
import http.client
import json
import os
import select
import socket
import subprocess
import time
import urllib.parse

VERSION = "2026-07-28"
LEGACY = "2025-11-25"
META = "io.modelcontextprotocol/"


def request(method, params=None, number=1, **more):
    body = {"jsonrpc": "2.0", "id": number, "method": method}
    if params is not None:
        body["params"] = params
    return {**body, **more}


def modern(method, params=None, number=1, abilities=None, **meta):
    """A request of the modern version."""
    params = dict(params or {})
    params["_meta"] = {META + "protocolVersion": VERSION,
                       META + "clientCapabilities": abilities or {}, **meta}
    return request(method, params, number)


def call(name, arguments=None, **more):
    return modern("tools/call", {"name": name, "arguments": arguments or {}}, **more)


class Answer:
    """One HTTP response: the status, the headers, and its messages."""

    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.type = response.headers.get("Content-Type", "")
        self.text = response.read().decode()
        self.events = []
        if self.type.startswith("text/event-stream"):
            self.events = events(self.text)
            self.messages = [json.loads(e["data"]) for e in self.events if e.get("data")]
        else:
            self.messages = [json.loads(self.text)] if self.text else []

    @property
    def body(self):
        """The last message: the answer to the request."""
        return self.messages[-1] if self.messages else None

    @property
    def code(self):
        return self.body.get("error", {}).get("code") if self.body else None


def events(text):
    found = []
    for block in text.split("\n\n"):
        event = {}
        for line in block.splitlines():
            if line and not line.startswith(":"):
                key, _, value = line.partition(":")
                event[key] = value.strip()
        if event:
            found.append(event)
    return found


class Http:
    """A client that sends exactly the given messages."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.host, self.port, self.path = parts.hostname, parts.port, parts.path
        self.session = None

    def send(self, method, body=None, headers=None, timeout=20):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        with contextlib.closing(connection):
            connection.request(method, self.path, body, headers or {})
            return Answer(connection.getresponse())

    def post(self, body, headers=None, **options):
        """A body (JSON, or raw bytes), with the headers that belong to it."""
        fitting = {"Content-Type": "application/json",
                   "Accept": "application/json, text/event-stream"}
        params = body.get("params") if isinstance(body, dict) else None
        if isinstance(params, dict) and "_meta" in params:
            fitting["MCP-Protocol-Version"] = VERSION
            fitting["Mcp-Method"] = body.get("method", "")
            name = params.get("name") or params.get("uri")
            if name:
                fitting["Mcp-Name"] = name
        elif self.session:
            fitting["Mcp-Session-Id"] = self.session
            fitting["MCP-Protocol-Version"] = LEGACY
        for key, value in (headers or {}).items():
            fitting.pop(key, None)
            if value is not None:
                fitting[key] = value
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.send("POST", data, fitting, **options)

    def open(self, version=LEGACY, headers=None, capabilities=None):
        """A session of the legacy version."""
        answer = self.post(request("initialize", {
            "protocolVersion": version, "capabilities": capabilities or {},
            "clientInfo": {"name": "test", "version": "1"}}), headers)
        assert answer.status == 200, answer.text
        self.session = answer.headers["Mcp-Session-Id"]
        return answer

    def raw(self):
        return socket.create_connection((self.host, self.port), timeout=20)


class Stdio:
    """The program at the other end of two pipes."""

    def __init__(self, program, *words):
        self.process = subprocess.Popen([program, *words], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, bufsize=0)
        self.rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def write(self, data):
        self.process.stdin.write(data)

    def send(self, *messages):
        for message in messages:
            self.write(json.dumps(message).encode() + b"\n")

    def line(self, timeout=20):
        """The next line; None at the end."""
        until = time.monotonic() + timeout
        fd = self.process.stdout.fileno()
        while b"\n" not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([fd], [], [], left)[0]:
                raise TimeoutError("no line came")
            data = os.read(fd, 65536)
            if not data:
                return None
            self.rest += data
        line, _, self.rest = self.rest.partition(b"\n")
        return line

    def next(self, timeout=20):
        line = self.line(timeout)
        return None if line is None else json.loads(line)

    def silent(self, seconds=0.3):
        try:
            return self.line(seconds) is None
        except TimeoutError:
            return True

    def ask(self, message):
        """Sends, and waits for the answer with that id."""
        self.send(message)
        while True:
            answer = self.next()
            if answer is None or answer.get("id") == message["id"]:
                return answer

    def open(self, version=LEGACY, capabilities=None):
        return self.ask(request("initialize", {
            "protocolVersion": version, "capabilities": capabilities or {},
            "clientInfo": {"name": "test", "version": "1"}}, 0))

    def close(self):
        self.process.stdin.close()
        return self.process.wait(10)
