# SPDX-License-Identifier: Apache-2.0
"""Daemons that are not what they should be: each answers on a unix socket in its own wrong way."""

import os
import socket
import threading

ESCAPES = b'{"message": "bad \\u001b[31m words \\n"}'
HEADER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nApi-Version: 1.41\r\n"


def read_request(connection):
    """One request, with its body."""
    seen = b""
    while b"\r\n\r\n" not in seen:
        more = connection.recv(65536)
        if not more:
            return b""
        seen += more
    head, _, body = seen.partition(b"\r\n\r\n")
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            while len(body) < int(value):
                more = connection.recv(65536)
                if not more:
                    return b""
                body += more
    return head


def send_for_ever(connection, first, text):
    connection.sendall(first)
    while True:
        connection.sendall(text)


def silence(connection):
    while connection.recv(65536):
        pass


def fixed(*parts):
    return lambda connection: connection.sendall(b"".join(parts))


def body(text, length=None):
    return fixed(HEADER, b"Content-Length: %d\r\n\r\n" % (len(text) if length is None else length), text)


# name: what it does with a connection after a request. The connection is closed after that.
WAYS = {
    "silence": silence,
    "end": lambda connection: None,
    "garbage": lambda connection: connection.sendall(os.urandom(1 << 20)),
    "zeros": lambda connection: send_for_ever(connection, b"", bytes(65536)),
    "endless-line": lambda connection: send_for_ever(connection, b"HTTP/1.1 200 O", b"K" * 65536),
    "endless-header": lambda connection: send_for_ever(connection, HEADER, b"X-More: word\r\n" * 4096),
    "endless-body": lambda connection: send_for_ever(
        connection, HEADER + b"Content-Length: 1099511627776\r\n\r\n", b" " * 65536),
    "endless-chunks": lambda connection: send_for_ever(
        connection, HEADER + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n" * 8192),
    "huge-chunk": fixed(HEADER, b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}"),
    "bad-chunk": fixed(HEADER, b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n"),
    "negative-length": fixed(HEADER, b"Content-Length: -1\r\n\r\n{}"),
    "length-is-no-number": fixed(HEADER, b"Content-Length: two\r\n\r\n{}"),
    "two-lengths": fixed(HEADER, b"Content-Length: 2\r\nContent-Length: 5\r\n\r\n{}"),
    "overflowing-length": fixed(HEADER, b"Content-Length: 18446744073709551618\r\n\r\n{}"),
    "body-too-short": body(b"{}", 1000),
    "deep": body(b"[" * 200000),
    "other-types": body(b'{"Id": 7, "ApiVersion": [], "State": "x", "StatusCode": "0", "Warnings": {}}'),
    "no-object": body(b'"text"'),
    "error-with-escapes": fixed(b"HTTP/1.1 500 Oh\r\nContent-Length: %d\r\n\r\n" % len(ESCAPES), ESCAPES),
    "error-without-words": fixed(b"HTTP/1.1 503 \r\nContent-Length: 0\r\n\r\n"),
    "old": body(b'{"ApiVersion": "1.12", "MinAPIVersion": "1.12", "Version": "1.0"}'),
    "switch": fixed(b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n",
                    bytes([9, 1, 1, 1, 255, 255, 255, 255]), bytes(100000)),
    "redirect": fixed(b"HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\nContent-Length: 0\r\n\r\n"),
    "slow": lambda connection: [connection.sendall(b"H") for _ in iter(lambda: wait_a_little(), None)],
}


def wait_a_little():
    threading.Event().wait(0.2)
    return True


class FalseDaemon:
    """Listens, and does the same wrong thing with each connection; a `way` of None never accepts."""

    def __init__(self, path, way):
        self.way, self.path = way, str(path)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        os.chmod(self.path, 0o777)
        self.listener.listen(0 if way is None else 64)
        self.open, self.heads = [], []
        if way is None:
            self.fill()
        else:
            threading.Thread(target=self.accept, daemon=True).start()

    def fill(self):
        """The queue of the listener: a further connect() waits."""
        for _ in range(4):
            one = socket.socket(socket.AF_UNIX)
            one.setblocking(False)
            one.connect_ex(self.path)
            self.open.append(one)

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.open.append(connection)
            threading.Thread(target=self.answer_one, args=(connection,), daemon=True).start()

    def answer_one(self, connection):
        try:
            self.answer(connection)
        except OSError:
            pass
        finally:
            end(connection)

    def answer(self, connection):
        self.heads.append(read_request(connection))
        self.way(connection)

    def close(self):
        end(self.listener)
        for one in self.open:
            end(one)


class Between(FalseDaemon):
    """Passes all on to a true daemon, until a request has one of these words: the way begins there."""

    def __init__(self, path, daemon, words, way):
        self.daemon, self.words, self.met = daemon, words, threading.Event()
        super().__init__(path, way)

    def answer(self, connection):
        true = socket.socket(socket.AF_UNIX)
        true.connect(self.daemon)
        self.open.append(true)
        back = threading.Thread(target=self.pass_back, args=(true, connection), daemon=True)
        back.start()
        while True:
            data = connection.recv(65536)
            if not data:
                break
            self.heads.append(data.split(b"\r\n", 1)[0])
            if any(word in self.heads[-1] for word in self.words):
                self.met.set()
                end(true)
                back.join()
                self.way(connection)
                return
            true.sendall(data)
        true.shutdown(socket.SHUT_WR)
        back.join()

    @staticmethod
    def pass_back(true, connection):
        try:
            while True:
                data = true.recv(65536)
                if not data:
                    break
                connection.sendall(data)
        except OSError:
            pass
        try:
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def end(connection):
    """Also of threads that wait for it."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    connection.close()
