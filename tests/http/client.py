# SPDX-License-Identifier: Apache-2.0
"""Raw connections: bytes out, responses in, nothing corrected on the way."""

import dataclasses
import socket


@dataclasses.dataclass
class Answer:
    status: int
    headers: dict
    body: bytes


def request(path="/echo", method="GET", version="1.1", headers=(), body=None):
    """A valid request."""
    lines = [f"{method} {path} HTTP/{version}", "Host: localhost", *headers]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")


class Raw:
    def __init__(self, where, timeout=10, receive_bytes=None, tls=None):
        unix = isinstance(where, str)
        self.socket = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
        self.socket.settimeout(timeout)
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.connect(where if unix else ("127.0.0.1", where))
        self.kept = b""
        if tls:
            # An end without close_notify is an error, not the end.
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost",
                                          suppress_ragged_eofs=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def send_what_goes(self, data):
        """The server may have closed by then."""
        try:
            self.socket.sendall(data)
        except OSError:
            pass

    def end_sending(self):
        # Of the connection beneath, if it has TLS.
        socket.socket.shutdown(self.socket, socket.SHUT_WR)

    def rest(self):
        """All bytes until the end; a reset is an end too."""
        parts = [self.kept]
        self.kept = b""
        while True:
            try:
                part = self.socket.recv(65536)
            except (ConnectionResetError, BrokenPipeError):
                break
            if not part:
                break
            parts.append(part)
        return b"".join(parts)

    def _fill(self):
        part = self.socket.recv(65536)
        if not part:
            raise EOFError(self.kept)
        self.kept += part

    def until(self, mark):
        while mark not in self.kept:
            self._fill()
        text, _, self.kept = self.kept.partition(mark)
        return text

    def exactly(self, size):
        while len(self.kept) < size:
            self._fill()
        text, self.kept = self.kept[:size], self.kept[size:]
        return text

    def head(self):
        first, *lines = self.until(b"\r\n\r\n").decode().split("\r\n")
        version, status, _ = first.split(" ", 2)
        assert version == "HTTP/1.1"
        headers = {}
        for line in lines:
            name, value = line.split(": ", 1)
            assert name.lower() not in headers, lines
            headers[name.lower()] = value
        return int(status), headers

    def _chunks(self):
        parts = []
        while True:
            size = int(self.until(b"\r\n"), 16)
            parts.append(self.exactly(size))
            assert self.exactly(2) == b"\r\n"
            if size == 0:
                return b"".join(parts)

    def answer(self, bare=False):
        """One response; `bare`: to HEAD."""
        status, headers = self.head()
        if bare or status < 200 or status in (204, 304):
            return Answer(status, headers, b"")
        if headers.get("transfer-encoding") == "chunked":
            return Answer(status, headers, self._chunks())
        if "content-length" in headers:
            return Answer(status, headers, self.exactly(int(headers["content-length"])))
        return Answer(status, headers, self.rest())
