# SPDX-License-Identifier: Apache-2.0
"""One request on an asyncio connection, and its response as it arrives."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any, AsyncIterator, Awaitable, List

from . import where
from .calls import Answer
from .errors import BadAnswer, CannotConnect, ConnectionLost, DeadlineExceeded
from .exchange import RECEIVE
from .http import Parser


class AsyncExchange:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float):
        self._reader = reader
        self._writer = writer
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._parser = Parser()
        self._pieces: List[bytes] = []

    @classmethod
    async def open(cls, place: where.Place, request: bytes, seconds: float) -> "AsyncExchange":
        """Sends the request, and reads the head of the response."""
        try:
            connect: Any = (
                asyncio.open_unix_connection(place.path) if place.kind == "unix"
                else asyncio.open_connection(place.host, place.port, ssl=place.tls)
            )
            reader, writer = await asyncio.wait_for(connect, seconds)
        except asyncio.TimeoutError:
            raise CannotConnect(f"{place}: no connection within {seconds:g} s") from None
        except OSError as error:
            why = error.strerror or str(error)
            raise CannotConnect(f"{place}: {why}", where.START_ONE) from None
        made = cls(reader, writer, seconds)
        try:
            await made._send(request)
            while not made._parser.has_head:
                await made._receive()
        except BaseException:
            made.close()
            raise
        return made

    @property
    def answer(self) -> Answer:
        return Answer(self._parser.status, self._parser.headers)

    def close(self) -> None:
        with contextlib.suppress(Exception):
            # Not close(): TLS would wait for the other side.
            self._writer.transport.abort()

    def wait_longer(self) -> None:
        self._end = time.monotonic() + self._seconds

    async def pieces(self) -> AsyncIterator[bytes]:
        while True:
            while self._pieces:
                yield self._pieces.pop(0)
            if self._parser.done:
                return
            await self._receive()

    async def body(self, most: int) -> bytes:
        parts, size = [], 0
        async for piece in self.pieces():
            size += len(piece)
            if size > most:
                raise BadAnswer("the response is too large", "raise max_bytes of the client")
            parts.append(piece)
        return b"".join(parts)

    async def _in_time(self, work: Awaitable[Any]) -> Any:
        try:
            return await asyncio.wait_for(work, max(0, self._end - time.monotonic()))
        except asyncio.TimeoutError:
            raise DeadlineExceeded(f"no response within {self._seconds:g} s") from None

    async def _send(self, request: bytes) -> None:
        self._writer.write(request)
        try:
            await self._in_time(self._writer.drain())
        except (BrokenPipeError, ConnectionResetError):
            pass  # It may have sent the reason before it closed.
        except OSError as error:
            raise ConnectionLost(f"the connection ended: {error}") from None

    async def _receive(self) -> None:
        try:
            data = await self._in_time(self._reader.read(RECEIVE))
        except OSError as error:
            raise ConnectionLost(f"the connection ended: {error}") from None
        if data:
            self._pieces += self._parser.feed(data)
        else:
            self._parser.end()
