# SPDX-License-Identifier: Apache-2.0
"""Two services (clear and TLS), every way to reach them, and servers that misbehave."""

import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
TREE = Path(os.environ.get("BRIG_TREE", HERE.parent.parent))
PACKAGE = TREE / "clients" / "python"
BRIG = os.path.abspath(os.environ.get("BRIG", "build/brig"))
sys.path.insert(0, str(PACKAGE))

import brig  # noqa: E402

_PATH = HERE.parent / "serve" / "conftest.py"
_spec = importlib.util.spec_from_file_location("serve_conftest", _PATH)
serve = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(serve)

DOORS = ("unix", "tcp", "tls", "spawn")
SERVED = DOORS[:3]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make_token(file):
    done = subprocess.run([BRIG, "token", "new", "clients", "--json", "--file", file],
                          capture_output=True, check=True)
    return json.loads(done.stdout)["token"]


def make_certificate(place):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "30", "-subj", "/CN=own", "-addext",
         "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", place / "own.key", "-out", place / "own.pem"],
        check=True, capture_output=True)
    (place / "own.key").chmod(0o600)
    (place / "own.pem").chmod(0o644)
    (place / "serve.json").write_text(
        json.dumps({"tls": {"certificate": "own.pem", "key": "own.key"}}))


class Services:
    """.doors: arguments of a client by way of access."""

    def __init__(self):
        self.servers = []
        clear, token, port = self._prepare()
        clear.start()
        self.socket = clear.socket
        self.doors = {
            "unix": {"url": f"unix:{clear.socket}"},
            "tcp": {"url": f"http://127.0.0.1:{port}", "token": token},
            "spawn": {"url": f"spawn:{BRIG}"},
        }
        closed, token, port = self._prepare()
        make_certificate(closed.config)
        closed.start()
        self.doors["tls"] = {"url": f"https://localhost:{port}", "token": token,
                             "ca": str(closed.config / "own.pem")}

    def _prepare(self):
        port = free_port()
        server = serve.Server("--listen", f"127.0.0.1:{port}")
        self.servers.append(server)
        tokens = server.dir / "tokens.json"
        token = make_token(tokens)
        server.options = (*server.options, "--tokens", tokens)
        return server, token, port

    def close(self):
        ends = []
        for server in self.servers:
            ends.append((server.readies(), server.stop(), server.log()))
            server.close()
        # After all requests: no role has died, and all end in good order.
        for readies, status, log in ends:
            assert readies == 1 and status == 0, log


@pytest.fixture(scope="session")
def services():
    made = Services()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    for name in ("BRIG_URL", "BRIG_SOCKET", "BRIG_TOKEN", "BRIG_CA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BRIG", BRIG)


@pytest.fixture(params=DOORS)
def client(request, services):
    """By every way of access."""
    return brig.Client(**services.doors[request.param])


@pytest.fixture(params=SERVED)
def served(request, services):
    """By every way of access to a service."""
    return brig.Client(**services.doors[request.param])


@pytest.fixture
def unix(services):
    return brig.Client(**services.doors["unix"])


class Listener:
    """A server on a unix socket that does `handle(connection, n)` with the n-th connection."""

    def __init__(self, place, handle):
        self.path = str(place / "s")
        self.url = f"unix:{self.path}"
        self.count = 0
        self._handle = handle
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(self.path)
        self._socket.listen(16)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.count += 1
            threading.Thread(target=self._one, args=(connection, self.count), daemon=True).start()

    def _one(self, connection, number):
        with connection:
            connection.settimeout(20)
            try:
                self._handle(connection, number)
            except OSError:
                pass

    def close(self):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def read_request(connection):
    """Head and body."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return data, b""
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n")
                   if line.lower().startswith(b"content-length:")), 0)
    while len(body) < length:
        body += connection.recv(65536)
    return head, body


@pytest.fixture
def listen(tmp_path_factory):
    """listen(handle): a server that answers; closed after the test."""
    made = []

    def make(handle):
        place = Path(f"/tmp/brig-fake-{os.getpid()}-{len(made)}")
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(mode=0o700)
        made.append((Listener(place, handle), place))
        return made[-1][0]

    yield make
    for listener, place in made:
        listener.close()
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def answer(listen):
    """answer(*raw): a server whose n-th response is raw[n]; the last one from then on."""
    def make(*raw):
        asked = []

        def handle(connection, number):
            asked.append(read_request(connection))
            connection.sendall(raw[min(number, len(raw)) - 1])

        listener = listen(handle)
        listener.asked = asked
        return listener

    return make


@pytest.fixture
def cutter(listen, services):
    """cutter(*sizes): forwards to the service, but cuts the n-th response after sizes[n] bytes."""
    def make(*sizes):
        def handle(connection, number):
            head, body = read_request(connection)
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as behind:
                behind.connect(services.socket)
                behind.sendall(head + b"\r\n\r\n" + body)
                left = sizes[number - 1] if number <= len(sizes) else None
                while left is None or left > 0:
                    data = behind.recv(65536 if left is None else min(left, 65536))
                    if not data:
                        return
                    connection.sendall(data)
                    left = None if left is None else left - len(data)

        return listen(handle)

    return make


def http(status, body, kind="application/json", **headers):
    """A response as bytes."""
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body
