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

    def server(name, *flags, names=None):
        """The certificate that the servers present for this name instead."""
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-keyout", "one.key", "-out", "one.crt", "-subj", f"/CN={name}",
                "-addext", f"subjectAltName=DNS:{names or name}",
                "-addext", "basicConstraints=critical,CA:FALSE", *flags)
        both = (directory / "one.crt").read_text() + (directory / "one.key").read_text()
        (directory / f"{name}.pem").write_text(both)

    signed = ["-CA", "ca.pem", "-CAkey", "ca.key"]
    server("selfsigned.test", "-days", "30")
    server("wrongname.test", *signed, "-days", "30", names="evil.test")
    server("client.test", *signed, "-days", "30", "-addext", "extendedKeyUsage=clientAuth")
    server("api.test", *signed, "-days", "30")
    # `openssl req` accepts no dates before 3.4; `openssl x509` accepts days in the past.
    openssl("req", "-new", "-key", "server.key", "-out", "expired.csr", "-subj", "/CN=expired.test")
    (directory / "names").write_text("subjectAltName=DNS:expired.test\n")
    openssl("x509", "-req", "-in", "expired.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-out", "expired.crt", "-days", "-1", "-extfile", "names")
    (directory / "expired.test.pem").write_text(
        (directory / "expired.crt").read_text() + (directory / "server.key").read_text())


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
        """The prefix of a command that runs on the host of this world, as a child of ours."""
        line = ["nsenter", "-t", str(self.process.pid), "-n", "-m", "--wd=/"]
        if os.geteuid() != 0:
            line += ["-U", "--preserve-credentials", "setpriv", "--ambient-caps=-all",
                     "--inh-caps=-all", "--"]
        return line

    def brig(self, *args, **options):
        return self.command(BRIG, *args, **options)

    def visits(self):
        """Connections outside since the last call, as [address, port, what]; and the
        DNS queries."""
        answer = self.order(op="visits")
        return answer["visits"], answer["asked"]

    def host(self, line):
        """A command that changes the network of brig's host."""
        self.order(op="host", line=line)

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
    """Runs Python code (or other arguments) with these hosts; the result matches the schema."""
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


class Opened:
    """A policy by which TLS to some hosts is opened."""

    def __init__(self, world, run, directory):
        self.world = world
        self.runner = run
        self.directory = directory
        (directory / "policies").mkdir()
        (directory / "token").write_text("Bearer of-the-operator\n")
        directory.chmod(0o755)
        self.options = ["--config", str(directory), "--policy", "open"]
        self.write()

    def credential(self, host, **more):
        return {"host": host, "header": "Authorization", "file": str(self.directory / "token"),
                "tls": "open", "authorities": str(self.world.directory / "ca.pem"), **more}

    def write(self, credentials=None, allow=("api.test", "public.test"), **more):
        credentials = [self.credential("api.test")] if credentials is None else credentials
        (self.directory / "policies" / "open.json").write_text(json.dumps(
            {"extends": "default",
             "network": {"allow": list(allow), "credentials": credentials, **more}}))

    def run(self, code, *hosts, options=(), **more):
        return self.runner(code, *hosts, options=[*self.options, *options], **more)


@pytest.fixture
def opened(world, run, tmp_path):
    return Opened(world, run, tmp_path)
