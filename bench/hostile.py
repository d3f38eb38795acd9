# SPDX-License-Identifier: Apache-2.0
"""Hostile tenants: one attack on the service each, in a loop, with a token of its own."""

import base64
import collections
import http.client
import json
import os
import socket
import subprocess
import time
import urllib.parse

import service

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tests", "programs",
                        "hostile")
MCP_VERSION = "2026-07-28"
Attack = collections.namedtuple("Attack", "name about turn")


class Server:
    """`brig serve` with a token for the ordinary tenant and one for each attack."""

    def __init__(self, brig, scratch):
        self.brig, self.scratch = brig, scratch
        self.socket = os.path.join(scratch, "brig.sock")
        self.port = int(service.free_port())
        self.tokens, self.process = {}, None

    def start(self):
        config = os.path.join(self.scratch, "config")
        os.makedirs(config, mode=0o755)
        file = os.path.join(config, "tokens.json")
        for name in ["ordinary"] + [attack.name for attack in ATTACKS]:
            made = subprocess.run([self.brig, "token", "new", name, "--json", "--file", file],
                                  check=True, capture_output=True)
            self.tokens[name] = json.loads(made.stdout)["token"]
        command = [self.brig, "serve", "--config", config, "--state", self.scratch + "/state",
                   "--listen", "unix:" + self.socket, "--listen", "127.0.0.1:%d" % self.port,
                   "--tokens", file]
        with open(os.path.join(self.scratch, "log"), "wb") as log:
            # pylint: disable=consider-using-with
            self.process = subprocess.Popen(command, stderr=log)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                if self.asker("ordinary").ask("GET", "/v1/health")[0] == 200:
                    return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("the service does not start; its log is in " + self.scratch)

    def stop(self):
        self.process.terminate()
        self.process.wait(60)

    def asker(self, name):
        return Asker(self.port, self.tokens[name])


class Asker:
    """One tenant's requests by TCP."""

    def __init__(self, port, token):
        self.port = port
        self.headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}

    def open(self, method, path, body=None, timeout=60):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        connection.request(method, path, None if body is None else json.dumps(body), self.headers)
        return connection, connection.getresponse()

    def ask(self, method, path, body=None, timeout=60):
        connection, answer = self.open(method, path, body, timeout)
        try:
            data = answer.read()
        finally:
            connection.close()
        try:
            return answer.status, json.loads(data)
        except ValueError:
            return answer.status, {"bytes": len(data)}

    def deaf(self, method, path, body, seconds):
        """Sends a request and does not read the response."""
        text = json.dumps(body).encode() if body is not None else b""
        head = "%s %s HTTP/1.1\r\nHost: localhost\r\n" % (method, path)
        head += "".join("%s: %s\r\n" % item for item in self.headers.items())
        head += "Content-Length: %d\r\n\r\n" % len(text)
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as raw:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            raw.sendall(head.encode() + text)
            time.sleep(seconds)
        return "deaf"


class Loop:
    """Repeats an attack; counts the responses by their kind."""

    def __init__(self, attack, server):
        self.attack, self.asker = attack, server.asker(attack.name)
        self.answers = collections.Counter()

    def go_on(self, until):
        while time.monotonic() < until:
            try:
                answer = self.attack.turn(self.asker)
            except (OSError, http.client.HTTPException) as error:
                answer = type(error).__name__
                time.sleep(0.2)
            self.answers[str(answer)] += 1
        return self.answers

    def summary(self):
        return ", ".join("%s %d" % item for item in self.answers.most_common(5))


def outcome(answer):
    status, body = answer
    return body.get("status") if status == 200 else "%d %s" % (status, body.get("code", ""))


def source(name):
    with open(os.path.join(PROGRAMS, name), encoding="utf-8") as file:
        return file.read()


def program(name, **fields):
    """A turn that runs a file of tests/programs/hostile and reads the whole answer."""
    def turn(asker):
        return outcome(asker.ask("POST", "/v1/execute", {"code": source(name), **fields}))
    return turn


def unread(name, seconds=3, **fields):
    """The same as a stream that is never read."""
    def turn(asker):
        body = {"code": source(name), "stream": True, **fields}
        return asker.deaf("POST", "/v1/execute", body, seconds)
    return turn


WIDE = {"limits": {"stdout_bytes": 64 << 20, "stderr_bytes": 64 << 20}}


def globs(asker):
    """The maximum number of patterns, each of maximum length, against thousands of files."""
    code = "for i in range(3000): open('f%d' % i + 'a' * 240, 'w').close()"
    out = ["*" + "a*" * 38 + "%02d" % i for i in range(100)]
    return outcome(asker.ask("POST", "/v1/execute", {"code": code, "out": out}))


def slow_death(asker):
    """Thirty spinning processes that share a hundredth of a core."""
    code = "import os\nfor i in range(30):\n  if not os.fork():\n    while True: pass\nwhile True: pass"
    return outcome(asker.ask("POST", "/v1/execute", {
        "code": code, "limits": {"cpu_millicores": 10, "wall_ms": 1000}}))


def sparse_file(asker):
    """A file of a session that takes no disk space, fetched by many clients that do not read."""
    status, session = asker.ask("POST", "/v1/sessions", {"language": "python"})
    if status != 201:
        return "%d %s" % (status, session.get("code", ""))
    path = "/v1/sessions/%s" % urllib.parse.quote(session["id"])
    readers = []
    try:
        asker.ask("POST", path + "/execute", {"code": "open('s', 'wb').truncate(60 << 20)"})
        for _ in range(60):
            readers.append(asker.open("GET", path + "/files/s", timeout=30)[0])
    finally:
        for connection in readers:
            connection.close()
        asker.ask("DELETE", path)
    return "read"


def replay(asker):
    """A large stored result whose events are requested by many clients at once."""
    _, made = asker.ask("POST", "/v1/executions", {"code": source("large_text.py"), **WIDE})
    if "id" not in made:
        return made.get("code", "refused")
    path, readers = "/v1/executions/%s" % made["id"], []
    for _ in range(100):
        if asker.ask("GET", path)[1].get("status") not in ("queued", "running"):
            break
        time.sleep(0.1)
    try:
        for _ in range(90):
            readers.append(asker.open("GET", path + "/events", timeout=30)[0])
    finally:
        for connection in readers:
            connection.close()
    return "replayed"


def mcp(asker):
    """A large result by the tool: 45 MB in a file, 60 MB as base64."""
    meta = {"io.modelcontextprotocol/protocolVersion": MCP_VERSION,
            "io.modelcontextprotocol/clientCapabilities": {}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "execute_code", "_meta": meta,
        "arguments": {"language": "python", "code": source("large_file.py")}}}
    asker.headers |= {"Accept": "application/json, text/event-stream", "Mcp-Method": call["method"],
                      "MCP-Protocol-Version": MCP_VERSION, "Mcp-Name": call["params"]["name"]}
    return asker.ask("POST", "/mcp", call)[0]


def large_bodies(asker):
    """Files of the maximum length of a body."""
    content = base64.b64encode(bytes(11 << 20)).decode()
    return outcome(asker.ask("POST", "/v1/execute", {
        "code": "1", "files": [{"path": "big", "content_base64": content}]}))


def pools(asker):
    """Forty kinds of cell, so that each request needs a pool of its own."""
    for i in range(40):
        asker.ask("POST", "/v1/execute", {"code": "1", "limits": {"disk_bytes": (1 << 20) + i * 4096}})
    return "asked"


def not_found(asker):
    """Two hundred unknown ids in a row."""
    for _ in range(200):
        asker.ask("GET", "/v1/executions/01M7MY16H0B8BGB5S0H3GRM5TY")
    return "asked"


def queue(asker):
    """As many requests as the queue takes, each of them cancelled again."""
    ids = []
    for _ in range(100):
        status, made = asker.ask("POST", "/v1/executions", {"code": source("packet_pipe.py")})
        if status != 202:
            break
        ids.append(made["id"])
    for one in ids:
        asker.ask("DELETE", "/v1/executions/" + one)
    return "queued"


ATTACKS = [
    Attack("packet_pipe", "single bytes by turns on both streams, as packets",
           program("packet_pipe.py")),
    Attack("packet_pipe_unread", "the same to a reader that does not read",
           unread("packet_pipe.py")),
    Attack("alternate_unread", "80,000 parts of output, unread", unread("alternate_output.py")),
    Attack("control_output", "64 MiB of a byte that JSON writes as six",
           program("control_output.py", **WIDE)),
    Attack("both_streams", "64 MiB on each stream, none of it text",
           program("both_streams.py", **WIDE)),
    Attack("globs", globs.__doc__, globs),
    Attack("slow_death", slow_death.__doc__, slow_death),
    Attack("sparse_file", sparse_file.__doc__, sparse_file),
    Attack("replay", replay.__doc__, replay),
    Attack("mcp", mcp.__doc__, mcp),
    Attack("large_bodies", large_bodies.__doc__, large_bodies),
    Attack("pools", pools.__doc__, pools),
    Attack("not_found", not_found.__doc__, not_found),
    Attack("queue", queue.__doc__, queue),
]
