# SPDX-License-Identifier: Apache-2.0
"""Objects of an AsyncClient: streams, executions and sessions."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, AsyncIterator, List, Optional

from . import calls
from .aio_exchange import AsyncExchange
from .calls import Call, ExecutionState, SessionFile, SessionState
from .errors import BrigError, CannotConnect, ConnectionLost, DeadlineExceeded
from .events import Event, EventParser, Finished, event_of
from .handles import ended_result
from .request import Content, run_fields
from .result import ExecutionResult

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .aio import AsyncClient
    from .request import RunOptions


class AsyncStream:
    """As Stream, with `async for` and `async with`."""

    def __init__(self, client: "AsyncClient", exchange: AsyncExchange, execution: Optional[str],
                 after: Optional[str]):
        self._client = client
        self._exchange = exchange
        self.id = calls.location_id(exchange.answer.headers) or execution
        self.last_event_id = after
        self.result: Optional[ExecutionResult] = None
        self._events = self._run()

    @classmethod
    async def open(cls, client: "AsyncClient", call: Call[None], execution: Optional[str] = None,
                   after: Optional[str] = None) -> "AsyncStream":
        return cls(client, await client._open(call), execution, after)

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._events

    async def __aenter__(self) -> "AsyncStream":
        return self

    async def __aexit__(self, *ignored: object) -> None:
        self.close()

    def close(self) -> None:
        self._exchange.close()

    async def cancel(self) -> ExecutionState:
        if not self.id:
            raise BrigError("the stream has no id, so it cannot be cancelled")
        return await self._client.cancel(self.id)

    async def wait(self) -> ExecutionResult:
        async for _ in self:
            pass
        if not self.result:
            raise ConnectionLost("the stream ended without a result")
        return self.result

    async def _run(self) -> AsyncIterator[Event]:
        while True:
            try:
                async for event in self._read():
                    yield event
                return
            except ConnectionLost as error:
                self.close()
                await self._resume(error)
            except BaseException:
                self.close()
                raise

    async def _read(self) -> AsyncIterator[Event]:
        if self._exchange.answer.status == 204:
            return
        parser = EventParser(self._client.max_bytes)
        async for piece in self._exchange.pieces():
            for raw in parser.feed(piece):
                event = event_of(raw)
                if event is None:
                    continue
                self.last_event_id = event.id or self.last_event_id
                if isinstance(event, Finished):
                    self.result = event.result
                    self.close()
                    yield event
                    return
                yield event
                self._exchange.wait_longer()
        raise ConnectionLost("the stream ended before the run did")

    async def _resume(self, error: ConnectionLost) -> None:
        if not self.id or isinstance(error, DeadlineExceeded):
            raise error
        call = calls.events(self.id, self.last_event_id)
        retries = self._client._retries()
        lost: BrigError = error
        while True:
            pause = retries.pause(call, lost)
            if pause is None:
                raise lost
            await asyncio.sleep(pause)
            try:
                self._exchange = await self._client._try_open(call)
                return
            except CannotConnect:
                lost = error
            except BrigError as again:
                lost = again


class AsyncExecution:
    def __init__(self, client: "AsyncClient", which: str):
        self._client = client
        self.id = which

    def __repr__(self) -> str:
        return f"AsyncExecution({self.id!r})"

    async def poll(self) -> ExecutionState:
        return await self._client.execution(self.id)

    async def wait(self, seconds: Optional[float] = None, interval: float = 0.05
                   ) -> ExecutionResult:
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            state = await self.poll()
            if state.ended:
                return ended_result(state)
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise DeadlineExceeded(f"{self.id} is {state.status} after {seconds:g} s")
            await asyncio.sleep(interval if left is None else min(interval, left))
            interval = min(interval * 1.5, 2)

    async def events(self, after: Optional[str] = None) -> AsyncStream:
        return await self._client.events(self.id, after)

    async def cancel(self) -> ExecutionState:
        return await self._client.cancel(self.id)


class AsyncSession:
    """As Session, with `async with`."""

    def __init__(self, client: "AsyncClient", state: SessionState):
        self._client = client
        self.id = state.id
        self.language = state.language
        self.opened = state

    def __repr__(self) -> str:
        return f"AsyncSession({self.id!r}, language={self.language!r})"

    async def __aenter__(self) -> "AsyncSession":
        return self

    async def __aexit__(self, *ignored: object) -> None:
        with contextlib.suppress(BrigError):
            await self.close()

    async def run(self, code: str, *, idempotency_key: Optional[str] = None,
                  **options: "Unpack[RunOptions]") -> ExecutionResult:
        fields = run_fields(code, None, session=self.id, **options)
        return await self._client._ask(calls.execute(fields, idempotency_key))

    async def stream(self, code: str, *, idempotency_key: Optional[str] = None,
                     **options: "Unpack[RunOptions]") -> AsyncStream:
        fields = run_fields(code, None, session=self.id, **options)
        return await AsyncStream.open(self._client, calls.stream(fields, idempotency_key))

    async def interrupt(self) -> SessionState:
        return await self._client._ask(calls.interrupt(self.id))

    async def fork(self) -> "AsyncSession":
        return AsyncSession(self._client, await self._client._ask(calls.fork(self.id)))

    async def state(self) -> SessionState:
        return await self._client._ask(calls.session(self.id))

    async def files(self) -> List[SessionFile]:
        return await self._client._ask(calls.files(self.id))

    async def get(self, path: str) -> bytes:
        return await self._client._ask(calls.get_file(self.id, path))

    async def put(self, path: str, content: Content) -> None:
        data = content.encode() if isinstance(content, str) else content
        await self._client._ask(calls.put_file(self.id, path, data))

    async def delete(self, path: str) -> None:
        await self._client._ask(calls.delete_file(self.id, path))

    async def close(self) -> None:
        await self._client._ask(calls.close_session(self.id))
