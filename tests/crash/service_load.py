# SPDX-License-Identifier: Apache-2.0
"""Clients of a service that dies all the time, and the record of its acknowledgements.

Every client sends requests, waits, and sends again; when its connection breaks it opens another.
Each response goes into the record, and a later contradiction is a complaint. A program prints
random bytes: two runs of it differ in their output.
"""

import hashlib
import http.client
import json
import random
import socket
import threading
import time

DRAWS = "import os; print(os.urandom(8).hex())"
DRAWS_SLOWLY = "import os, time; time.sleep(%.9f); print(os.urandom(8).hex())"
COUNTS = "n = globals().get('n', 0) + 1\nprint(n)"
TALKS = "import time\nfor i in range(5):\n    print(i, flush=True)\n    time.sleep(.01)"
UNDER_WAY = ("queued", "running")
# Responses that mean "not now", and acknowledge nothing.
NOT_NOW = {"queue_full", "memory_low", "ledger_unavailable", "unavailable", "queue_timeout",
           "session_limit"}
NOT_NOW_WORDS = ("try again", "restarting", "could not be recorded")
MCP = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
       "Mcp-Method": "tools/call", "Mcp-Name": "execute_code"}


class Gone(Exception):
    """The connection broke before the response was complete."""


class Stopped(Exception):
    """The load is over."""


class Connection(http.client.HTTPConnection):
    """HTTP over a unix socket, kept alive. If the service does not listen, the client waits a
    little."""

    def __init__(self, path, timeout=60):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        end = time.monotonic() + self.timeout
        while True:
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.sock.settimeout(self.timeout)
            try:
                return self.sock.connect(self.path)
            except (FileNotFoundError, ConnectionRefusedError, BlockingIOError):
                self.sock.close()
                if time.monotonic() > end:
                    raise
                time.sleep(0.005)

    def ask(self, method, target, body=None, headers=None):
        """(status, headers, body), complete; or Gone."""
        headers = dict(headers or {})
        if body is not None:
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        try:
            self.request(method, target, body, headers)
            response = self.getresponse()
            answer = response.status, response.headers, response.read()
            if response.headers.get("Connection", "").lower() == "close":
                self.close()
            return answer
        except TimeoutError:
            self.close()
            raise
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Gone(str(error)) from error


class Book:
    """Acknowledged results: they are looked up again, and must never change."""

    def __init__(self):
        self.lock = threading.Lock()
        self.results = {}    # id -> the result that a client has
        self.accepted = {}   # id -> when
        self.keys = {}       # key -> id
        self.ended = {}      # id -> the execution, as it was when it had ended
        self.unwanted = set()  # ids that a client has cancelled
        self.refused = set()   # SHA-256 of code that was refused as not recorded
        self.counts = {}     # kind -> number of responses
        self.complaints = []

    def complain(self, *what):
        with self.lock:
            self.complaints.append(" ".join(str(word) for word in what)[:1000])

    def count(self, kind):
        with self.lock:
            self.counts[kind] = self.counts.get(kind, 0) + 1

    def keep(self, table, name, value):
        """The first time it is recorded; then it must be the same."""
        with self.lock:
            known = getattr(self, table).setdefault(name, value)
        if known != value:
            self.complain(table, name, "was", known, "and is", value)

    def look_at(self, execution):
        """An execution as GET returns it."""
        name, status = execution["id"], execution["status"]
        if status in UNDER_WAY:
            if name in self.ended or name in self.results:
                self.complain(name, "had ended and is", status)
            return False
        self.keep("ended", name, execution)
        result = execution["result"]
        if status == "cancelled" and name in self.unwanted:
            return True
        if status not in ("ok", "lost"):
            self.complain(name, "ended as", status, execution["error"] or result)
        elif status == "ok" and len(result["stdout"]) < 2:
            self.complain(name, "has lost its output:", result["stdout"])
        known = self.results.get(name)
        if known and known != result:
            self.complain(name, "was answered with", known, "and is kept as", result)
        return True


class Load:
    """A client of each kind, until stop(). pause() lets running requests finish. Where there are
    gates, some runs have a network."""

    def __init__(self, path, book, seed=0, gates=False):
        self.path = path
        self.book = book
        self.stopping = threading.Event()
        self.open = threading.Event()
        self.open.set()
        self.busy = 0
        self.lock = threading.Lock()
        self.threads = [
            threading.Thread(target=self._live, args=(kind, random.Random(f"{seed}-{i}")),
                             name=kind.__name__, daemon=True)
            for i, kind in enumerate(KINDS + (reaches_out,) * gates)
        ]

    def start(self):
        for thread in self.threads:
            thread.start()
        return self

    def _live(self, kind, chance):
        connection = Connection(self.path)
        while not self.stopping.is_set():
            self.open.wait()
            with self.lock:
                self.busy += 1
            try:
                kind(self, connection, chance)
                self.book.count(kind.__name__)
            except (Gone, Stopped):
                self.book.count("cut off")
            except Exception as error:  # pylint: disable=broad-except
                connection.close()
                self.book.complain(kind.__name__, "failed:", repr(error))
                time.sleep(0.1)
            finally:
                with self.lock:
                    self.busy -= 1
            time.sleep(chance.uniform(0, 0.02))
        connection.close()

    def pause(self, seconds=60):
        self.open.clear()
        end = time.monotonic() + seconds
        while self.busy and time.monotonic() < end:
            time.sleep(0.01)
        if self.busy:
            self.book.complain(self.busy, "clients still wait for an answer")

    def resume(self):
        self.open.set()

    def stop(self, seconds=60):
        self.stopping.set()
        self.open.set()
        for thread in self.threads:
            thread.join(seconds)
            if thread.is_alive():
                self.book.complain(thread.name, "does not come to its end")

    def refused(self, status, body):
        """A problem that acknowledges nothing; anything else is a complaint."""
        problem = json.loads(body)
        if problem.get("code") not in NOT_NOW:
            self.book.complain("answered with", status, problem)
        self.book.count(problem.get("code"))
        time.sleep(0.02)


# --- the kinds of clients ------------------------------------------------------------------------


def waits(load, connection, chance, **more):
    """POST /v1/execute: the results are kept."""
    status, _, body = connection.ask("POST", "/v1/execute", {
        "code": DRAWS_SLOWLY % chance.uniform(0, 0.05) if chance.random() < 0.3 else DRAWS, **more})
    if status != 200:
        return load.refused(status, body)
    result = json.loads(body)
    load.book.keep("results", result["id"], result)
    if result["status"] != "ok":
        load.book.complain("a sync run ended as", result["status"], result["verdict"])
    return None


def reaches_out(load, connection, chance):
    """The same with a network: a gate dies with the roles, or survives them."""
    return waits(load, connection, chance, policy="net")


def polls(load, connection, chance):
    """POST /v1/executions, several at once; then GET until they have ended, or some time later."""
    mine = []
    for _ in range(chance.randrange(1, 6)):
        code = DRAWS_SLOWLY % chance.uniform(0, 0.2)
        status, _, body = connection.ask("POST", "/v1/executions", {"code": code})
        if status == 202:
            name = json.loads(body)["id"]
            load.book.keep("accepted", name, None)
            mine.append(name)
        else:
            load.book.refused.add(hashlib.sha256(code.encode()).hexdigest())
            load.refused(status, body)
    follow(load, connection, mine)


def follow(load, connection, names):
    """Until they have ended; those that take too long are left to others."""
    end = time.monotonic() + 10
    while names and time.monotonic() < end:
        for name in list(names):
            status, _, body = connection.ask("GET", f"/v1/executions/{name}")
            if status == 404:
                load.book.complain(name, "was acknowledged and is missing")
            elif status != 200:
                load.refused(status, body)
            elif load.book.look_at(json.loads(body)):
                names.remove(name)
        time.sleep(0.02)


def changes_its_mind(load, connection, chance):
    """POST /v1/executions, then DELETE: once that is answered, it has ended for good."""
    status, _, body = connection.ask("POST", "/v1/executions", {
        "code": DRAWS_SLOWLY % chance.uniform(0, 1)})
    if status != 202:
        return load.refused(status, body)
    name = json.loads(body)["id"]
    load.book.unwanted.add(name)
    load.book.keep("accepted", name, None)
    time.sleep(chance.uniform(0, 0.1))
    status, _, body = connection.ask("DELETE", f"/v1/executions/{name}")
    if status != 200:
        return load.refused(status, body)
    if not load.book.look_at(json.loads(body)):
        load.book.complain(name, "was cancelled and is", json.loads(body)["status"])
    return None


def insists(load, connection, chance):
    """POST /v1/execute with a key, until it is answered; then once more."""
    key = f"sync-{chance.getrandbits(64):x}"
    body = {"code": DRAWS_SLOWLY % chance.uniform(0, 0.1)}
    answers = []
    while len(answers) < 2:
        if load.stopping.is_set():
            raise Stopped
        try:
            status, headers, text = connection.ask("POST", "/v1/execute", body,
                                                   {"Idempotency-Key": key})
        except Gone:
            load.book.count("cut off with a key")
            continue
        if status != 200:
            load.refused(status, text)
            continue
        result = json.loads(text)
        if answers and "Idempotent-Replayed" not in headers:
            load.book.complain(key, "was run a second time")
        load.book.keep("keys", key, result["id"])
        load.book.keep("results", result["id"], result)
        if result["status"] not in ("ok", "lost"):
            load.book.complain(key, "ended as", result["status"])
        answers.append(result)


def insists_later(load, connection, chance):
    """POST /v1/executions with a key, until it is acknowledged, and again: always the same."""
    key = f"async-{chance.getrandbits(64):x}"
    body = {"code": DRAWS_SLOWLY % chance.uniform(0, 0.1)}
    answers = 0
    while answers < 3:
        if load.stopping.is_set():
            raise Stopped
        try:
            status, _, text = connection.ask("POST", "/v1/executions", body,
                                             {"Idempotency-Key": key})
        except Gone:
            load.book.count("cut off with a key")
            continue
        if status != 202:
            load.refused(status, text)
            continue
        name = json.loads(text)["id"]
        load.book.keep("keys", key, name)
        load.book.keep("accepted", name, None)
        answers += 1
        time.sleep(chance.uniform(0, 0.1))
    follow(load, connection, [name])


def counts(load, connection, chance):
    """A session: each run finds the state of the one before it, or the session is gone."""
    status, _, body = connection.ask("POST", "/v1/sessions", {"language": "python"})
    if status != 201:
        return load.refused(status, body)
    session = json.loads(body)["id"]
    for number in range(1, chance.randrange(2, 12)):
        status, _, body = connection.ask("POST", f"/v1/sessions/{session}/execute",
                                         {"code": COUNTS})
        if status in (404, 410):
            return load.book.count("session gone")
        if status != 200:
            return load.refused(status, body)
        result = json.loads(body)
        load.book.keep("results", result["id"], result)
        if result["stdout"] != f"{number}\n":
            load.book.complain("run", number, "of a session printed", result)
        time.sleep(0.02)
    connection.ask("DELETE", f"/v1/sessions/{session}")
    return None


def listens(load, connection, _):
    """A stream of events; complete, or cut off."""
    status, _, body = connection.ask("POST", "/v1/execute", {"code": TALKS, "stream": True})
    if status != 200:
        return load.refused(status, body)
    events = [dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
              for block in body.decode().split("\n\n") if block]
    if events[-1].get("event") == "error":
        return load.refused(status, events[-1]["data"])
    if events[-1].get("event") != "result":
        return load.book.complain("a stream ended with", events[-1])
    result = json.loads(events[-1]["data"])
    if result.get("stdout") != "0\n1\n2\n3\n4\n":
        load.book.complain("a stream's result is", result)
    load.book.keep("results", result["id"], result)
    return None


def calls_tools(load, connection, chance):
    """The same by MCP."""
    number = chance.randrange(10**6)
    status, _, body = connection.ask("POST", "/mcp", {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "execute_code",
            "arguments": {"language": "python", "code": f"print({number} + 1)"},
            "_meta": {"io.modelcontextprotocol/protocolVersion": MCP["MCP-Protocol-Version"],
                      "io.modelcontextprotocol/clientCapabilities": {}}}}, MCP)
    answer = json.loads(body)
    if status != 200 or "result" not in answer:
        return load.refused(status, body)
    result = answer["result"]
    if result["isError"] and any(word in result["content"][0]["text"] for word in NOT_NOW_WORDS):
        return load.book.count("tool not now")
    if result["isError"] or result["structuredContent"]["stdout"] != f"{number + 1}\n":
        load.book.complain("a tool answered", result)
    return None


KINDS = (waits, waits, polls, polls, changes_its_mind, insists, insists_later, counts, listens,
         calls_tools)
