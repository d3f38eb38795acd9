# SPDX-License-Identifier: Apache-2.0
"""Objects of a client: streams, executions and sessions."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Iterator, List, Optional

from . import calls
from .calls import Call, ExecutionState, SessionFile, SessionState
from .errors import BrigError, CannotConnect, ConnectionLost, DeadlineExceeded
from .events import Event, EventParser, Finished, event_of
from .exchange import Exchange
from .request import Content, run_fields
from .result import ExecutionResult

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .client import Client
    from .request import RunOptions


class Stream:
    """The output of a run as it is written; iterate over it. The last event is a Finished.

    A lost connection is resumed where it was cut. `result` is set after the end, `id` from the
    beginning. Closing it early ends the run: close(), or use it with `with`.
    """

    def __init__(self, client: "Client", call: Call[None], execution: Optional[str] = None,
                 after: Optional[str] = None):
        self._client = client
        self.id = execution
        self.last_event_id = after
        self.result: Optional[ExecutionResult] = None
        self._exchange: Optional[Exchange] = client._open(call)
        self._take_head()
        self._events = self._run()

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        return next(self._events)

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *ignored: object) -> None:
        self.close()

    def close(self) -> None:
        if self._exchange:
            self._exchange.close()

    def cancel(self) -> ExecutionState:
        """Ends the run at once; then the stream ends."""
        if not self.id:
            raise BrigError("the stream has no id, so it cannot be cancelled")
        return self._client.cancel(self.id)

    def wait(self) -> ExecutionResult:
        """Reads to the end."""
        for _ in self:
            pass
        if not self.result:
            raise ConnectionLost("the stream ended without a result")
        return self.result

    def _take_head(self) -> None:
        assert self._exchange
        self.id = calls.location_id(self._exchange.answer.headers) or self.id

    def _run(self) -> Iterator[Event]:
        while True:
            try:
                yield from self._read()
                return
            except ConnectionLost as error:
                self.close()
                self._resume(error)
            except BaseException:
                self.close()
                raise

    def _read(self) -> Iterator[Event]:
        assert self._exchange
        if self._exchange.answer.status == 204:
            return
        parser = EventParser(self._client.max_bytes)
        for piece in self._exchange.pieces():
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

    def _resume(self, error: ConnectionLost) -> None:
        """Raises the error if that is not possible."""
        if not self.id or isinstance(error, DeadlineExceeded):
            raise error
        call = calls.events(self.id, self.last_event_id)
        retries = self._client._retries()
        lost: BrigError = error
        while True:
            pause = retries.pause(call, lost)
            if pause is None:
                raise lost
            time.sleep(pause)
            try:
                self._exchange = self._client._try_open(call)
                return
            except CannotConnect:
                lost = error
            except BrigError as again:
                lost = again


class Execution:
    """An asynchronous run: get its state, wait for it, end it."""

    def __init__(self, client: "Client", which: str):
        self._client = client
        self.id = which

    def __repr__(self) -> str:
        return f"Execution({self.id!r})"

    def poll(self) -> ExecutionState:
        return self._client.execution(self.id)

    def wait(self, seconds: Optional[float] = None, interval: float = 0.05) -> ExecutionResult:
        """Waits for the result; raises the Problem of a run that could not start."""
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            state = self.poll()
            if state.ended:
                return ended_result(state)
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise DeadlineExceeded(f"{self.id} is {state.status} after {seconds:g} s")
            time.sleep(interval if left is None else min(interval, left))
            interval = min(interval * 1.5, 2)

    def events(self, after: Optional[str] = None) -> Stream:
        return self._client.events(self.id, after)

    def cancel(self) -> ExecutionState:
        return self._client.cancel(self.id)


def ended_result(state: ExecutionState) -> ExecutionResult:
    if state.result:
        return state.result
    raise state.error or BrigError(f"the result of {state.id} is no longer kept")


class Session:
    """An interpreter that keeps state and files from run to run. Closed at the end of a `with`."""

    def __init__(self, client: "Client", state: SessionState):
        self._client = client
        self.id = state.id
        self.language = state.language
        self.opened = state

    def __repr__(self) -> str:
        return f"Session({self.id!r}, language={self.language!r})"

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *ignored: object) -> None:
        with contextlib.suppress(BrigError):
            self.close()

    def run(self, code: str, *, idempotency_key: Optional[str] = None,
            **options: "Unpack[RunOptions]") -> ExecutionResult:
        fields = run_fields(code, None, session=self.id, **options)
        return self._client._ask(calls.execute(fields, idempotency_key))

    def stream(self, code: str, *, idempotency_key: Optional[str] = None,
               **options: "Unpack[RunOptions]") -> Stream:
        fields = run_fields(code, None, session=self.id, **options)
        return Stream(self._client, calls.stream(fields, idempotency_key))

    def interrupt(self) -> SessionState:
        """Ends the active run; the state is kept."""
        return self._client._ask(calls.interrupt(self.id))

    def fork(self) -> "Session":
        """Returns a copy. `opened.raw` lists the copied names, and those that were left out."""
        return Session(self._client, self._client._ask(calls.fork(self.id)))

    def state(self) -> SessionState:
        return self._client._ask(calls.session(self.id))

    def files(self) -> List[SessionFile]:
        return self._client._ask(calls.files(self.id))

    def get(self, path: str) -> bytes:
        return self._client._ask(calls.get_file(self.id, path))

    def put(self, path: str, content: Content) -> None:
        data = content.encode() if isinstance(content, str) else content
        self._client._ask(calls.put_file(self.id, path, data))

    def delete(self, path: str) -> None:
        self._client._ask(calls.delete_file(self.id, path))

    def close(self) -> None:
        self._client._ask(calls.close_session(self.id))
