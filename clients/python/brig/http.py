# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 without sockets: requests as bytes, and a parser that is fed with received bytes.

One connection is for one request. The server is not trusted: every length is bounded, and unknown
forms are refused.
"""

from __future__ import annotations

import re
from typing import Dict, List, Mapping, Optional

from .errors import BadAnswer, ConnectionLost

HEAD_MAX = 64 << 10
INTERIM_MAX = 8
CHUNK_LINE_MAX = 256
TRAILER_MAX = 8 << 10
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9][0-9])(?: .*)?")
_FIELD = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VISIBLE = re.compile(r"[\x21-\x7e]+")
_VALUE = re.compile(r"[\x20-\x7e]*")


def encode_request(
    method: str, target: str, host: str, headers: Mapping[str, str], body: Optional[bytes]
) -> bytes:
    """The whole request. No argument of a caller can add a line to its head."""
    fields = {"Host": host, "Connection": "close", "User-Agent": "brig-python", **headers}
    if body is not None or method in ("POST", "PUT"):
        fields["Content-Length"] = str(len(body or b""))
    if not _VISIBLE.fullmatch(target):
        raise ValueError(f"{target!r} is not a valid path")
    for name, value in fields.items():
        if not _FIELD.fullmatch(name) or not _VALUE.fullmatch(value):
            raise ValueError(f"{name}: a header can have only visible ASCII characters")
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii") + (body or b"")


class Parser:
    """feed() returns the pieces of the body; .status and .headers are set once .has_head is."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: Dict[str, str] = {}
        self.has_head = False
        self.done = False
        self._buffer = bytearray()
        self._interim = 0
        self._left: Optional[int] = None  # of the body or the chunk; None: until the end
        self._state = self._read_head

    def feed(self, data: bytes) -> List[bytes]:
        self._buffer += data
        pieces: List[bytes] = []
        while not self.done and self._state(pieces):
            pass
        return pieces

    def end(self) -> None:
        """The other side has closed the connection."""
        if self.has_head and self._state == self._read_rest:
            self.done = True
        if not self.done:
            raise ConnectionLost("the connection ended before the response was complete")

    # Each state processes what it can; True: there may be more to do.

    def _read_head(self, pieces: List[bytes]) -> bool:
        end = self._buffer.find(b"\r\n\r\n", 0, HEAD_MAX)
        if end < 0:
            if len(self._buffer) >= HEAD_MAX:
                raise BadAnswer("the head of the response is too large")
            return False
        lines = bytes(self._buffer[:end]).split(b"\r\n")
        del self._buffer[: end + 4]
        found = _STATUS.fullmatch(lines[0])
        if not found:
            raise BadAnswer("the response is not HTTP")
        self.status = int(found.group(1))
        self.headers = self._fields(lines[1:])
        if self.status < 200:
            self._interim += 1
            if self.status == 101 or self._interim > INTERIM_MAX:
                raise BadAnswer("unexpected interim response")
            return True
        self.has_head = True
        self._begin_body()
        return True

    @staticmethod
    def _fields(lines: List[bytes]) -> Dict[str, str]:
        fields: Dict[str, str] = {}
        for line in lines:
            name, colon, value = line.decode("latin-1").partition(":")
            name = name.lower()
            if not colon or not _FIELD.fullmatch(name):
                raise BadAnswer("the head of the response is malformed")
            if name in fields and name in ("content-length", "transfer-encoding"):
                raise BadAnswer(f"the response has {name} twice")
            fields.setdefault(name, value.strip())
        return fields

    def _begin_body(self) -> None:
        length = self.headers.get("content-length")
        coding = self.headers.get("transfer-encoding")
        if self.status in (204, 304):
            self.done = True
        elif coding is not None:
            if coding.lower() != "chunked" or length is not None:
                raise BadAnswer("the length of the response is ambiguous")
            self._state = self._read_chunk_line
        elif length is not None:
            if not re.fullmatch("[0-9]{1,18}", length):
                raise BadAnswer("the length of the response is not a number")
            self._left = int(length)
            self.done = self._left == 0
            self._state = self._read_sized
        else:
            self._state = self._read_rest

    def _take(self, size: int) -> bytes:
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def _read_rest(self, pieces: List[bytes]) -> bool:
        if self._buffer:
            pieces.append(self._take(len(self._buffer)))
        return False

    def _read_sized(self, pieces: List[bytes]) -> bool:
        piece = self._take(self._left or 0)
        self._left = (self._left or 0) - len(piece)
        if piece:
            pieces.append(piece)
        self.done = self._left == 0
        return False

    def _line(self, most: int) -> Optional[bytes]:
        end = self._buffer.find(b"\r\n", 0, most)
        if end < 0:
            if len(self._buffer) >= most:
                raise BadAnswer("malformed response: a line is too long")
            return None
        return self._take(end + 2)[:-2]

    def _read_chunk_line(self, pieces: List[bytes]) -> bool:
        line = self._line(CHUNK_LINE_MAX)
        if line is None:
            return False
        size = line.split(b";")[0].strip()
        if not re.fullmatch(b"[0-9A-Fa-f]{1,15}", size):
            raise BadAnswer("malformed response: a chunk has no length")
        self._left = int(size, 16)
        self._state = self._read_chunk if self._left else self._read_trailer
        return True

    def _read_chunk(self, pieces: List[bytes]) -> bool:
        if self._left:
            piece = self._take(self._left)
            self._left -= len(piece)
            if piece:
                pieces.append(piece)
            if self._left:
                return False
        if len(self._buffer) < 2:
            return False
        if self._take(2) != b"\r\n":
            raise BadAnswer("malformed response: a chunk has no end")
        self._state = self._read_chunk_line
        return True

    def _read_trailer(self, pieces: List[bytes]) -> bool:
        line = self._line(TRAILER_MAX)
        if line is None:
            return False
        self._interim += 1
        if self._interim > 64:
            raise BadAnswer("malformed response: its trailer does not end")
        self.done = line == b""
        return not self.done
