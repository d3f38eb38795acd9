# SPDX-License-Identifier: Apache-2.0
"""A server for a test: started in a temporary directory, on a unix socket, stopped."""

import http.client
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

BRIG = os.environ.get("BRIG", "build/brig")
# As root there is a broker as well, so that the warden need not be root.
ROLES = ("front", "warden", "ledger") + (("broker",) if os.geteuid() == 0 else ())


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path, timeout=30):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = dict(response.getheaders())
        self.body = response.read()

    def json(self):
        return json.loads(self.body)


def children_of(pid):
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def is_alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def wait_for(condition, seconds=20, what="condition"):
    """Polls until the condition returns a true value; returns it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"{what}: not within {seconds} s")


class Server:
    """`brig serve`: .socket, .pid, .dir, .log(), .request(method, path, body, headers)."""

    def __init__(self, *options, directory=None, env=None):
        self._temporary = None
        if directory is None:
            # Short: the path of a unix socket has at most 107 bytes.
            self._temporary = tempfile.TemporaryDirectory(prefix="brig-serve-", dir="/tmp")
            # As root the warden is another user, who reads the configuration in it.
            os.chmod(self._temporary.name, 0o711)
            directory = self._temporary.name
        self.dir = Path(directory)
        self.socket = str(self.dir / "brig.sock")
        self.state = self.dir / "state"
        self.config = self.dir / "config"
        self.config.mkdir(exist_ok=True, mode=0o755)
        self.options = options
        self.env = env
        self.process = None

    @property
    def pid(self):
        return self.process.pid

    def start(self, ready=True):
        with open(self.dir / "log", "ab") as log:
            self.process = subprocess.Popen(
                [
                    BRIG, "serve", "--listen", f"unix:{self.socket}", "--state", self.state,
                    "--config", self.config, "--log-level", "info", *self.options,
                ],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.env,
            )
        if ready:
            self.wait_ready()
        return self

    def log(self):
        return (self.dir / "log").read_text(errors="replace")

    def readies(self):
        return self.log().count("role=supervisor event=ready")

    def wait_ready(self, times=1, seconds=30):
        def ready():
            assert self.process.poll() is None, self.log()
            return self.readies() >= times

        wait_for(ready, seconds, "ready")

    def roles(self):
        """Pids by role: of those that have executed their program."""
        found = {}
        for pid in children_of(self.pid):
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            except (FileNotFoundError, ProcessLookupError):
                continue
            name = words[0].decode().removeprefix("brig-")
            if name in ROLES and words[1:2] == [b"--role"]:
                found[name] = pid
        return found

    def request(self, method, path, body=None, headers=None, timeout=60):
        """One request on a connection of its own. A body that is not bytes is sent as JSON."""
        headers = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        connection = UnixConnection(self.socket, timeout)
        try:
            connection.request(method, path, body, headers)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def stop(self, sign=signal.SIGTERM, seconds=40):
        """Returns the exit status."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(sign)
        return self.process.wait(seconds) if self.process else None

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait(20)
        if self._temporary:
            # Roles of a killed supervisor may still be exiting.
            wait_for(lambda: self._temporary.cleanup() is None, 5, "removal")


@pytest.fixture
def make_server():
    """make_server(*options, directory=None, env=None): not started yet; closed after the test."""
    made = []

    def make(*options, **kept):
        made.append(Server(*options, **kept))
        return made[-1]

    yield make
    for server in made:
        server.close()


@pytest.fixture
def server(make_server):
    """A server that is ready."""
    return make_server().start()
