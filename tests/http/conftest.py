# SPDX-License-Identifier: Apache-2.0
"""A server of our HTTP layer for each test, with the limits that the test needs."""

import json
import os
import pathlib
import ssl
import subprocess

import client
import pytest

HERE = pathlib.Path(__file__).parent
TREE = pathlib.Path(os.environ.get("BRIG_TREE", HERE.parent.parent))
BUILD = pathlib.Path(os.environ.get("BRIG_BUILD", TREE / "build"))


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    target = tmp_path_factory.mktemp("http") / "server"
    subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror",
                    "-I", TREE / "src", "-I", TREE / "include", "-o", target, HERE / "server.c",
                    BUILD / "libserve.a", BUILD / "libbrig.a", "-lssl", "-lcrypto"],
                   check=True)
    return target


def client_context(certificate):
    """Of a client that trusts only this certificate, and requires close_notify."""
    context = ssl.create_default_context(cafile=certificate)
    context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
    return context


def make_certificate(place, *kind):
    """A certificate for localhost and its key, in one file."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", *kind, "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                    "-keyout", place / "key", "-out", place / "certificate"],
                   check=True, capture_output=True)
    both = place / "both"
    both.write_bytes((place / "certificate").read_bytes() + (place / "key").read_bytes())
    return both


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("tls"), "ec", "-pkeyopt",
                            "ec_paramgen_curve:P-256")


class Server:
    """One running server; `connect()` gives a raw connection to it."""

    def __init__(self, program, where, limits, tls=None):
        words = [f"{name}={int(value)}" for name, value in limits.items()]
        self.tls = client_context(tls) if tls else None
        words += [f"tls={tls}"] if tls else []
        self.where = str(where)
        self.process = subprocess.Popen([program, self.where, *words], text=True,
                                        stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline())
        self.pid = self.process.pid

    def connect(self, **options):
        options.setdefault("tls", self.tls)
        return client.Raw(self.where if self.port == 0 else self.port, **options)

    def exchange(self, data, **options):
        """Sends the bytes, and returns everything that comes back until the server closes."""
        with self.connect(**options) as raw:
            raw.send(data)
            return raw.rest()

    def counts(self):
        with self.connect() as raw:
            raw.send(client.request("/counts"))
            return json.loads(raw.answer().body)

    def peak_kib(self):
        return self._status("VmHWM")

    def memory_kib(self):
        return self._status("VmRSS")

    def _status(self, key):
        for line in pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(key + ":"):
                return int(line.split()[1])
        raise AssertionError(key)

    def end(self):
        """It was alive all the time."""
        alive = self.process.poll() is None
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        assert alive, self.process.returncode


@pytest.fixture
def serve(program):
    """serve(limit=number...): over TCP; serve("/path"): over a unix socket."""
    servers = []

    def start(where=0, **limits):
        servers.append(Server(program, where, limits))
        return servers[-1]

    yield start
    for server in servers:
        server.end()


@pytest.fixture(scope="module")
def server(program):
    """One server with short limits for tests that change none."""
    one = Server(program, 0, {"body_bytes": 1 << 20})
    yield one
    one.end()
