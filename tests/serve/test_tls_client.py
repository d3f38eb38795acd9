# SPDX-License-Identifier: Apache-2.0
"""TLS to services that are broken or hostile: a program of its own relays it (src/tls_program)."""

import contextlib
import os
import signal
import socket
import ssl
import subprocess
import threading

import pytest
from conftest import BRIG
from test_certificates import pair  # noqa: F401: a fixture

CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("BRIG_")}
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4000\r\n\r\n{"


class Service:
    """Answers one connection by a function, in a thread."""

    def __init__(self, pair, answer, tls=True, host="localhost"):
        self.pair, self.answer, self.tls, self.host = pair, answer, tls, host
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(60)
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.pair)
        with contextlib.suppress(OSError):
            line, _ = self.listener.accept()
            line.settimeout(60)
            if self.tls:
                line = context.wrap_socket(line, server_side=True)
            with line:
                self.answer(line)

    def words(self, *more):
        port = self.listener.getsockname()[1]
        return [BRIG, "run", "--service", f"https://{self.host}:{port}", *more, "-c", "print(1)"]

    def env(self):
        return dict(CLEAN, BRIG_CA=str(self.pair[0]), BRIG_TOKEN="brig_" + "a" * 43)

    def run(self, *more, arrange=None):
        try:
            return subprocess.run(self.words(*more), env=self.env(), capture_output=True,
                                  timeout=60, check=False, preexec_fn=arrange)
        finally:
            self.end()

    def end(self):
        self.thread.join(60)
        self.listener.close()
        assert not self.thread.is_alive()


def read_request(line):
    data = b""
    while b"\r\n\r\n" not in data:
        data += line.recv(65536)
    return data


def cut(line):
    """Closed without the word of TLS that this is the end."""
    read_request(line)
    line.sendall(ANSWER)
    line.shutdown(socket.SHUT_RDWR)


def ended(line):
    read_request(line)
    line.sendall(ANSWER)
    line.unwrap()


def endless(line):
    """A head without an end."""
    read_request(line)
    line.sendall(b"HTTP/1.1 200 OK\r\n")
    with contextlib.suppress(OSError):
        while True:
            line.sendall(b"X: " + b"a" * 1000 + b"\r\n")


def early(line):
    """An answer before the request has been read, which never is."""
    line.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
    line.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("answer, word", [
    (cut, b"incomplete: Protocol error"), (ended, b"incomplete\n"), (endless, b"too large")])
def test_an_answer_that_is_not_whole_is_an_error(pair, answer, word):
    done = Service(pair, answer).run()
    assert done.returncode == 125 and done.stdout == b"", done
    assert done.stderr.startswith(b"brig: the response of the service is "), done
    assert word in done.stderr, done


def test_the_end_is_known_where_ends_of_children_are_ignored(pair):
    service = Service(pair, ended, host="127.0.0.1")  # no name: that would be looked up by a child
    done = service.run(arrange=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert b"incomplete\n" in done.stderr, done


def test_a_service_that_does_not_read_is_an_error(pair, tmp_path):
    (tmp_path / "f").write_bytes(bytes(20 << 20))
    done = Service(pair, early).run("--in", str(tmp_path / "f"))
    # Whether its response comes in time or not.
    assert done.returncode == 125 and done.stderr.startswith(b"brig: the service "), done


def test_a_service_without_tls(pair):
    done = Service(pair, lambda line: line.sendall(b"HTTP/1.1 400 No\r\n\r\n"), tls=False).run()
    assert done.returncode == 125 and b"TLS handshake with localhost" in done.stderr, done


@pytest.mark.parametrize("shakes", [False, True])
def test_nothing_stays_of_a_command_that_was_killed(pair, shakes):
    """The service sees the end: the program that had the connection is gone as well."""
    waits, gone = threading.Event(), threading.Event()

    def answer(line):
        if shakes:
            read_request(line)
        else:
            line.recv(1)
        waits.set()
        with contextlib.suppress(OSError):
            while line.recv(65536):
                pass
        gone.set()

    service = Service(pair, answer, tls=shakes)
    command = subprocess.Popen(service.words(), env=service.env(), stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        assert waits.wait(60)
    finally:
        command.send_signal(signal.SIGKILL)
        command.wait(60)
    assert gone.wait(60)
    service.end()


