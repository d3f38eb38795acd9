# SPDX-License-Identifier: Apache-2.0
"""The synchronous client. brig.aio has the same for asyncio."""

from __future__ import annotations

import contextlib
import os
import time
from concurrent import futures
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from . import calls, spawn
from .calls import Answer, Call, ExecutionState, Page, SessionState, T, new_key
from .errors import BrigError, ConnectionLost
from .events import BatchItem, BatchParser
from .exchange import Exchange
from .handles import Execution, Session, Stream
from .languages import language_of
from .request import input_fields, run_fields, session_fields
from .result import ExecutionResult
from .way import Way

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .request import RunOptions, SessionOptions


class Client(Way):
    """A connection to brig.

    url: "unix:PATH", "http://HOST:PORT", "https://HOST:PORT", or "spawn:" to start a process of
    `brig run` for each run. Without one: $BRIG_URL, $BRIG_SOCKET, a service at its default path, or
    the program. token (or $BRIG_TOKEN) is for TCP; ca names a file with certificates to trust.

    deadline is the time limit in seconds for a response, max_bytes its size limit. Requests that
    were refused with 429 are retried, at most `retries` times in `retry_seconds` in all; those that
    may have run are not, unless they have an idempotency key.
    """

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *ignored: object) -> None:
        """Does nothing: no connection is kept open."""

    # --- running code ---

    def execute(self, code: str, language: Optional[str] = "python", *,
                idempotency_key: Optional[str] = None,
                **options: "Unpack[RunOptions]") -> ExecutionResult:
        """Runs code and waits for its result, even if it fails."""
        if self.place.kind == "spawn":
            return spawn.run(self.place.path, code, language, most=self.max_bytes,
                             deadline=self.deadline, **options)
        fields = run_fields(code, language, **options)
        return self._ask(calls.execute(fields, idempotency_key))

    execute_code = execute

    def execute_file(self, path: Union[str, "os.PathLike[str]"], language: Optional[str] = None,
                     **options: "Unpack[RunOptions]") -> ExecutionResult:
        """Runs a source file; the default language is that of its extension or #! line."""
        if self.place.kind == "spawn":
            if not os.path.isfile(path):
                raise FileNotFoundError(f"file not found: {os.fspath(path)}")
            return spawn.run(self.place.path, "", language, most=self.max_bytes,
                             deadline=self.deadline, file=os.path.abspath(path), **options)
        code = Path(path).read_text(encoding="utf-8")
        said = language or language_of(os.fspath(path), code, self.runtimes())
        return self.execute(code, said, **options)

    def stream(self, code: str, language: str = "python", *,
               idempotency_key: Optional[str] = None, **options: "Unpack[RunOptions]") -> Stream:
        fields = run_fields(code, language, **options)
        return Stream(self, calls.stream(fields, idempotency_key))

    def submit(self, code: str, language: str = "python", *,
               idempotency_key: Optional[str] = None,
               **options: "Unpack[RunOptions]") -> Execution:
        """Submits a run, and returns as soon as it is recorded."""
        fields = run_fields(code, language, **options)
        return Execution(self, self._ask(calls.submit(fields, idempotency_key or new_key())))

    def execution(self, which: str) -> ExecutionState:
        return self._ask(calls.execution(which))

    def executions(self, before: Optional[str] = None,
                   limit: Optional[int] = None) -> "Page[ExecutionState]":
        """Newest first; without results."""
        return self._ask(calls.executions(before, limit))

    def events(self, which: str, after: Optional[str] = None) -> Stream:
        """The stream of an execution, from its beginning or after an event."""
        return Stream(self, calls.events(which, after), which, after)

    def cancel(self, which: str) -> ExecutionState:
        """Ends a run; returns when it has ended completely."""
        return self._ask(calls.cancel(which))

    def batch(self, programs: Sequence[Mapping[str, Any]],
              inputs: Optional[Sequence[Mapping[str, Any]]] = None) -> Iterator[BatchItem]:
        """Runs each program with each input; yields the results as they end.

        A program is {"code": ..., "language": ...} with any option of execute(); an input has
        stdin, args, env or files, in place of the program's own.
        """
        if self.place.kind == "spawn":
            return self._spawn_batch(programs, inputs)
        bodies = [run_fields(**{"language": None, **program}) for program in programs]
        given = None if inputs is None else [input_fields(**item) for item in inputs]
        return self._read_batch(calls.batch(bodies, given))

    # --- sessions ---

    def session(self, language: str = "python",
                **options: "Unpack[SessionOptions]") -> Session:
        """Opens a session, for runs that share variables and files."""
        return Session(self, self._ask(calls.open_session(session_fields(language, **options))))

    def attach(self, which: str) -> Session:
        """A session that is open already."""
        return Session(self, self._ask(calls.session(which)))

    def sessions(self, gone: bool = False, before: Optional[str] = None,
                 limit: Optional[int] = None) -> "Page[SessionState]":
        return self._ask(calls.sessions(gone, before, limit))

    # --- information ---

    def runtimes(self) -> List[Dict[str, Any]]:
        if self.place.kind == "spawn":
            return spawn.listing(self.place.path, "runtimes", "runtimes")
        return self._ask(calls.runtimes())

    def policies(self) -> List[Dict[str, Any]]:
        if self.place.kind == "spawn":
            return spawn.listing(self.place.path, "policy", "policies")
        return self._ask(calls.policies())

    def check(self, code: Optional[str] = None, language: str = "python",
              **options: "Unpack[RunOptions]") -> Dict[str, Any]:
        """Would this be allowed, and what would it get? Nothing is run."""
        return self._ask(calls.check(run_fields(code, language, **options)))

    def health(self) -> str:
        """"ok" or "draining"; raises if no service answers."""
        if self.place.kind == "spawn":
            spawn.listing(self.place.path, "runtimes", "runtimes")
            return "ok"
        return self._ask(calls.health())

    def metrics(self) -> str:
        return self._ask(calls.metrics())

    # --- requests ---

    def _try_open(self, call: Call[Any]) -> Exchange:
        exchange = Exchange(self.place, self._encode(call), self.deadline)
        try:
            head = exchange.answer
            if 200 <= head.status < 300:
                return exchange
            body = exchange.body(calls.PROBLEM_MAX)
            raise calls.error_of(Answer(head.status, head.headers, body))
        except BaseException:
            exchange.close()
            raise

    def _open(self, call: Call[Any]) -> Exchange:
        """The head of a successful response; its body has not been read yet."""
        retries = self._retries()
        while True:
            try:
                return self._try_open(call)
            except BrigError as error:
                pause = retries.pause(call, error)
                if pause is None:
                    raise
            time.sleep(pause)

    def _ask(self, call: Call[T]) -> T:
        retries = self._retries()
        while True:
            try:
                exchange = self._try_open(call)
                with contextlib.closing(exchange):
                    head = exchange.answer
                    body = exchange.body(self.max_bytes)
                return call.read(Answer(head.status, head.headers, body))
            except BrigError as error:
                pause = retries.pause(call, error)
                if pause is None:
                    raise
            time.sleep(pause)

    def _read_batch(self, call: Call[Any]) -> Iterator[BatchItem]:
        with contextlib.closing(self._open(call)) as exchange:
            parser = BatchParser(self.max_bytes)
            for piece in exchange.pieces():
                for item in parser.feed(piece):
                    yield item
                    exchange.wait_longer()
            if not parser.done:
                raise ConnectionLost("the batch ended before its last line")

    def _spawn_batch(self, programs: Sequence[Mapping[str, Any]],
                     inputs: Optional[Sequence[Mapping[str, Any]]]) -> Iterator[BatchItem]:
        pairs = spawn.pairs(programs, inputs)
        with futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            ordered = {pool.submit(self.execute, **options): (program, given)
                       for program, given, options in pairs}
            try:
                for done in futures.as_completed(ordered):
                    program, given = ordered[done]
                    yield spawn.item(program, given, done)
            finally:
                for waiting in ordered:
                    waiting.cancel()
