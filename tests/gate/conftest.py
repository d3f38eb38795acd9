# SPDX-License-Identifier: Apache-2.0
"""brig in a network that the tests own: see world.py."""

import http.client
import json
import os
import socket
import subprocess
import sys
import threading

import jsonschema
import pytest

BRIG = os.environ.get("BRIG", "build/brig")
HERE = os.path.dirname(os.path.abspath(__file__))


def make_certificates(directory):
    """An authority, and a server's certificate for all names of the tests."""
    def openssl(*args):
        subprocess.run(["openssl", *args], check=True, capture_output=True, cwd=directory)

    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem",
            "-days", "30", "-subj", "/CN=test authority")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out", "server.csr",
            "-subj", "/CN=public.test")
    (directory / "names").write_text(
        "subjectAltName=DNS:public.test,DNS:other.test,DNS:*.wild.test,DNS:six.test\n")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-out", "server.crt", "-days", "30", "-extfile", "names")
    both = (directory / "server.crt").read_text() + (directory / "server.key").read_text()
    (directory / "server.pem").write_text(both)


class World:
    def __init__(self, directory):
        self.directory = directory
        make_certificates(directory)
        flags = ["-n", "-m"]
        if os.geteuid() != 0:
            flags += ["-U", "--map-current-user", "--keep-caps"]
        self.process = subprocess.Popen(
            ["unshare", *flags, sys.executable, os.path.join(HERE, "world.py"), str(directory),
             str(directory / "server.pem")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lock = threading.Lock()
        assert self.process.stdout.readline() == "ready\n"

    def order(self, **order):
        with self.lock:
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)

    def command(self, *argv, **options):
        """Any command on the host of this world."""
        return self.order(op="run", argv=list(argv), **options)

    def entering(self):
        """What a command is started with to be on the host of this world, as a child of ours."""
        line = ["nsenter", "-t", str(self.process.pid), "-n", "-m", "--wd=/"]
        if os.geteuid() != 0:
            line += ["-U", "--preserve-credentials", "setpriv", "--ambient-caps=-all",
                     "--inh-caps=-all", "--"]
        return line

    def brig(self, *args, **options):
        return self.command(BRIG, *args, **options)

    def visits(self):
        """Who has come outside since the last time, as [address, port, what]; and what was asked."""
        answer = self.order(op="visits")
        return answer["visits"], answer["asked"]

    def name(self, name, addresses):
        self.order(op="name", name=name, addresses=addresses)


def http_unix(path, method, target, body=None):
    """One request to a unix socket; the answer's JSON."""
    connection = http.client.HTTPConnection("localhost", timeout=60)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(60)
    connection.sock.connect(path)
    with connection.sock:
        text = json.dumps(body) if body is not None else None
        connection.request(method, target, text, {"Content-Type": "application/json"})
        return json.loads(connection.getresponse().read() or b"{}")


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    directory = tmp_path_factory.mktemp("world")
    world = World(directory)
    yield world
    world.close()


@pytest.fixture(scope="session")
def schema():
    text = subprocess.run([BRIG, "run", "--json-schema"], capture_output=True, check=True).stdout
    return jsonschema.Draft202012Validator(json.loads(text))


@pytest.fixture
def run(world, schema):
    """Runs Python code (or other arguments) with these hosts; the result fulfils the schema."""
    world.visits()

    def run(code, *hosts, args=(), options=(), **more):
        line = ["run", "--json", *options]
        for host in hosts:
            line += ["--net", host]
        line += ["-c", code] if code is not None else []
        done = world.brig(*line, *args, **more)
        result = json.loads(done["stdout"])
        if "error" not in result:
            wrong = [error.message for error in schema.iter_errors(result)]
            assert not wrong, (wrong, result)
        return result

    return run
