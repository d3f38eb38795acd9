# SPDX-License-Identifier: Apache-2.0
"""The same for asyncio: AsyncClient. Cancelling a task that waits for a run ends the run."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path
from typing import (
    TYPE_CHECKING, Any, AsyncIterator, Dict, List, Mapping, Optional, Sequence, Union,
)

from . import aio_spawn, calls, spawn
from .aio_exchange import AsyncExchange
from .aio_handles import AsyncExecution, AsyncSession, AsyncStream
from .calls import Answer, Call, ExecutionState, Page, SessionState, T, new_key
from .errors import BrigError, ConnectionLost, Problem
from .events import BatchItem, BatchParser
from .languages import language_of
from .request import input_fields, run_fields, session_fields
from .result import ExecutionResult
from .way import Way

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .request import RunOptions, SessionOptions


class AsyncClient(Way):
    """A connection to brig, for asyncio. The arguments are those of Client."""

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *ignored: object) -> None:
        """Does nothing: no connection is kept open."""

    # --- running code ---

    async def execute(self, code: str, language: Optional[str] = "python", *,
                      idempotency_key: Optional[str] = None,
                      **options: "Unpack[RunOptions]") -> ExecutionResult:
        if self.place.kind == "spawn":
            return await aio_spawn.run(self.place.path, code, language, most=self.max_bytes,
                                       deadline=self.deadline, **options)
        fields = run_fields(code, language, **options)
        return await self._ask(calls.execute(fields, idempotency_key))

    execute_code = execute

    async def execute_file(self, path: Union[str, "os.PathLike[str]"],
                           language: Optional[str] = None,
                           **options: "Unpack[RunOptions]") -> ExecutionResult:
        code = Path(path).read_text(encoding="utf-8")
        said = language or language_of(os.fspath(path), code, await self.runtimes())
        return await self.execute(code, said, **options)

    async def stream(self, code: str, language: str = "python", *,
                     idempotency_key: Optional[str] = None,
                     **options: "Unpack[RunOptions]") -> AsyncStream:
        fields = run_fields(code, language, **options)
        return await AsyncStream.open(self, calls.stream(fields, idempotency_key))

    async def submit(self, code: str, language: str = "python", *,
                     idempotency_key: Optional[str] = None,
                     **options: "Unpack[RunOptions]") -> AsyncExecution:
        fields = run_fields(code, language, **options)
        which = await self._ask(calls.submit(fields, idempotency_key or new_key()))
        return AsyncExecution(self, which)

    async def execution(self, which: str) -> ExecutionState:
        return await self._ask(calls.execution(which))

    async def executions(self, before: Optional[str] = None,
                         limit: Optional[int] = None) -> "Page[ExecutionState]":
        return await self._ask(calls.executions(before, limit))

    async def events(self, which: str, after: Optional[str] = None) -> AsyncStream:
        return await AsyncStream.open(self, calls.events(which, after), which, after)

    async def cancel(self, which: str) -> ExecutionState:
        return await self._ask(calls.cancel(which))

    async def batch(self, programs: Sequence[Mapping[str, Any]],
                    inputs: Optional[Sequence[Mapping[str, Any]]] = None
                    ) -> AsyncIterator[BatchItem]:
        """Use it with `async for`."""
        if self.place.kind == "spawn":
            async for item in self._spawn_batch(programs, inputs):
                yield item
            return
        bodies = [run_fields(**{"language": None, **program}) for program in programs]
        given = None if inputs is None else [input_fields(**entry) for entry in inputs]
        exchange = await self._open(calls.batch(bodies, given))
        try:
            parser = BatchParser(self.max_bytes)
            async for piece in exchange.pieces():
                for item in parser.feed(piece):
                    yield item
                    exchange.wait_longer()
            if not parser.done:
                raise ConnectionLost("the batch ended before its last line")
        finally:
            exchange.close()

    async def _spawn_batch(self, programs: Sequence[Mapping[str, Any]],
                           inputs: Optional[Sequence[Mapping[str, Any]]]
                           ) -> AsyncIterator[BatchItem]:
        room = asyncio.Semaphore(os.cpu_count() or 1)

        async def one(program: int, given: int, options: Dict[str, Any]) -> BatchItem:
            async with room:
                try:
                    return BatchItem(program, given, await self.execute(**options), None)
                except Problem as error:
                    return BatchItem(program, given, None, error)

        tasks = [asyncio.ensure_future(one(*pair)) for pair in spawn.pairs(programs, inputs)]
        try:
            for done in asyncio.as_completed(tasks):
                yield await done
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # --- sessions ---

    async def session(self, language: str = "python",
                      **options: "Unpack[SessionOptions]") -> AsyncSession:
        call = calls.open_session(session_fields(language, **options))
        return AsyncSession(self, await self._ask(call))

    async def attach(self, which: str) -> AsyncSession:
        return AsyncSession(self, await self._ask(calls.session(which)))

    async def sessions(self, gone: bool = False, before: Optional[str] = None,
                       limit: Optional[int] = None) -> "Page[SessionState]":
        return await self._ask(calls.sessions(gone, before, limit))

    # --- information ---

    async def runtimes(self) -> List[Dict[str, Any]]:
        if self.place.kind == "spawn":
            return await self._listing("runtimes", "runtimes")
        return await self._ask(calls.runtimes())

    async def policies(self) -> List[Dict[str, Any]]:
        if self.place.kind == "spawn":
            return await self._listing("policy", "policies")
        return await self._ask(calls.policies())

    async def check(self, code: Optional[str] = None, language: str = "python",
                    **options: "Unpack[RunOptions]") -> Dict[str, Any]:
        return await self._ask(calls.check(run_fields(code, language, **options)))

    async def health(self) -> str:
        if self.place.kind == "spawn":
            await self._listing("runtimes", "runtimes")
            return "ok"
        return await self._ask(calls.health())

    async def metrics(self) -> str:
        return await self._ask(calls.metrics())

    # --- requests ---

    async def _listing(self, command: str, name: str) -> List[Dict[str, Any]]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, spawn.listing, self.place.path, command, name)

    async def _try_open(self, call: Call[Any]) -> AsyncExchange:
        exchange = await AsyncExchange.open(self.place, self._encode(call), self.deadline)
        try:
            head = exchange.answer
            if 200 <= head.status < 300:
                return exchange
            body = await exchange.body(calls.PROBLEM_MAX)
            raise calls.error_of(Answer(head.status, head.headers, body))
        except BaseException:
            exchange.close()
            raise

    async def _open(self, call: Call[Any]) -> AsyncExchange:
        retries = self._retries()
        while True:
            try:
                return await self._try_open(call)
            except BrigError as error:
                pause = retries.pause(call, error)
                if pause is None:
                    raise
            await asyncio.sleep(pause)

    async def _ask(self, call: Call[T]) -> T:
        retries = self._retries()
        while True:
            try:
                exchange = await self._try_open(call)
                with contextlib.closing(exchange):
                    head = exchange.answer
                    body = await exchange.body(self.max_bytes)
                return call.read(Answer(head.status, head.headers, body))
            except BrigError as error:
                pause = retries.pause(call, error)
                if pause is None:
                    raise
            await asyncio.sleep(pause)
