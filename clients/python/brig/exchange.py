# SPDX-License-Identifier: Apache-2.0
"""One request on a socket, and its response as it arrives."""

from __future__ import annotations

import socket
import time
from typing import Iterator, List, Optional

from . import where
from .calls import Answer
from .errors import BadAnswer, CannotConnect, ConnectionLost, DeadlineExceeded
from .http import Parser

RECEIVE = 64 << 10


class Exchange:
    """One request on a connection of its own, and its response as it arrives."""

    def __init__(self, place: where.Place, request: bytes, seconds: float):
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._parser = Parser()
        self._pieces: List[bytes] = []
        self._socket = self._connect(place)
        try:
            self._send(request)
            while not self._parser.has_head:
                self._receive()
        except BaseException:
            self.close()
            raise

    @property
    def answer(self) -> Answer:
        return Answer(self._parser.status, self._parser.headers)

    def close(self) -> None:
        self._socket.close()

    def wait_longer(self) -> None:
        """Restarts the deadline: data has arrived."""
        self._end = time.monotonic() + self._seconds

    def pieces(self) -> Iterator[bytes]:
        while True:
            while self._pieces:
                yield self._pieces.pop(0)
            if self._parser.done:
                return
            self._receive()

    def body(self, most: int) -> bytes:
        parts, size = [], 0
        for piece in self.pieces():
            size += len(piece)
            if size > most:
                raise BadAnswer("the response is too large", "raise max_bytes of the client")
            parts.append(piece)
        return b"".join(parts)

    def _connect(self, place: where.Place) -> socket.socket:
        made: Optional[socket.socket] = None
        try:
            if place.kind == "unix":
                made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                made.settimeout(self._seconds)
                made.connect(place.path)
                return made
            made = socket.create_connection((place.host, place.port), timeout=self._seconds)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if place.tls:
                return place.tls.wrap_socket(made, server_hostname=place.host)
            return made
        except OSError as error:
            if made:
                made.close()
            why = error.strerror or str(error)
            raise CannotConnect(f"{place}: {why}", where.START_ONE) from None

    def _limit(self) -> None:
        left = self._end - time.monotonic()
        if left <= 0:
            raise DeadlineExceeded(f"no response within {self._seconds:g} s")
        self._socket.settimeout(left)

    def _send(self, request: bytes) -> None:
        try:
            self._limit()
            self._socket.sendall(request)
        except socket.timeout:
            raise DeadlineExceeded(f"not sent within {self._seconds:g} s") from None
        except (BrokenPipeError, ConnectionResetError):
            pass  # It may have sent the reason before it closed.
        except OSError as error:
            raise ConnectionLost(f"the connection ended: {error}") from None

    def _receive(self) -> None:
        try:
            self._limit()
            data = self._socket.recv(RECEIVE)
        except socket.timeout:
            raise DeadlineExceeded(f"no response within {self._seconds:g} s") from None
        except OSError as error:
            raise ConnectionLost(f"the connection ended: {error}") from None
        if data:
            self._pieces += self._parser.feed(data)
        else:
            self._parser.end()
