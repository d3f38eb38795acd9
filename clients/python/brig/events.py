# SPDX-License-Identifier: Apache-2.0
"""Streamed responses: lines, server-sent events, and their meaning."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Iterator, List, Optional, Union

from . import strict
from .errors import BadAnswer, Problem
from .result import ExecutionResult

_PLACE = re.compile(r"[\x21-\x7e]{1,64}")


@dataclass(frozen=True)
class Output:
    """Bytes that the program wrote, to "stdout" or "stderr"."""

    stream: str
    data: bytes
    id: Optional[str] = None

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class Finished:
    """The last event: how it ended."""

    result: ExecutionResult
    id: Optional[str] = None


Event = Union[Output, Finished]


@dataclass(frozen=True)
class BatchItem:
    """One program with one input: a result, or the problem that prevented the run."""

    program: int
    input: int
    result: Optional[ExecutionResult]
    error: Optional[Problem]


class Lines:
    """Splits bytes into lines of a limited length."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: List[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        *whole, rest = data.split(b"\n")
        for line in whole:
            self._add(line)
            yield b"".join(self._parts)
            self._parts, self._size = [], 0
        if rest:
            self._add(rest)

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._most:
            raise BadAnswer("the response is too large", "raise max_bytes of the client")
        self._parts.append(part)


@dataclass
class RawEvent:
    name: str = "message"
    data: bytes = b""
    id: Optional[str] = None


class EventParser:
    """Server-sent events, as far as brig uses them."""

    def __init__(self, most: int) -> None:
        self._lines = Lines(most)
        self._most = most
        self._event = RawEvent()
        self._data: List[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[RawEvent]:
        for line in self._lines.feed(data):
            line = line[:-1] if line.endswith(b"\r") else line
            if line:
                self._field(line)
            elif self._data:
                event, self._event = self._event, RawEvent()
                event.data = b"\n".join(self._data)
                self._data, self._size = [], 0
                yield event

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value[1:] if value.startswith(b" ") else value
        if name == b"data":
            self._size += len(value) + 1
            if self._size > self._most:
                raise BadAnswer("the response is too large", "raise max_bytes of the client")
            self._data.append(value)
        elif name == b"event":
            self._event.name = value.decode("latin-1")
        elif name == b"id":
            place = value.decode("latin-1")
            if not _PLACE.fullmatch(place):
                raise BadAnswer("malformed response: the id of an event")
            self._event.id = place


def problem_of(value: Any, retry_after: Optional[float] = None,
               location: Optional[str] = None) -> Problem:
    raw = strict.an_object(value, "problem")
    return Problem(
        code=strict.word(raw.get("code"), "problem.code"),
        title=strict.text(raw.get("title"), "problem.title"),
        detail=strict.text(raw.get("detail", ""), "problem.detail"),
        remedy=strict.maybe_text(raw.get("remedy"), "problem.remedy"),
        status=strict.integer(raw.get("status"), "problem.status"),
        retry_after=retry_after,
        location=location,
    )


def event_of(raw: RawEvent) -> Optional[Event]:
    """Converts an event of a run; raises the problem of one that could not run."""
    if raw.name == "result":
        return Finished(ExecutionResult.from_json(strict.parse(raw.data)), raw.id)
    if raw.name == "error":
        raise problem_of(strict.parse(raw.data))
    if raw.name != "output":
        return None  # of a later version
    fields = strict.an_object(strict.parse(raw.data), "output")
    stream = strict.text(fields.get("stream"), "output.stream")
    if stream not in ("stdout", "stderr"):
        raise BadAnswer("invalid response: output.stream")
    if "data_base64" in fields:
        return Output(stream, strict.data(fields["data_base64"], "output.data_base64"), raw.id)
    return Output(stream, strict.text(fields.get("data"), "output.data").encode(), raw.id)


class BatchParser:
    """The lines of a batch. .done: the last line has arrived, and its count is correct."""

    def __init__(self, most: int) -> None:
        self._lines = Lines(most)
        self._count = 0
        self.done = False

    def feed(self, data: bytes) -> Iterator[BatchItem]:
        for line in self._lines.feed(data):
            if not line.strip():
                continue
            raw = strict.an_object(strict.parse(line), "line")
            if self.done:
                raise BadAnswer("invalid response: data after its end")
            if raw.get("done") is True:
                if strict.integer(raw.get("count"), "count") != self._count:
                    raise BadAnswer("invalid response: lines are missing")
                self.done = True
                continue
            self._count += 1
            yield self._item(raw)

    @staticmethod
    def _item(raw: Any) -> BatchItem:
        result, error = raw.get("result"), raw.get("error")
        if (result is None) == (error is None):
            raise BadAnswer("invalid response: a line needs a result or an error")
        return BatchItem(
            program=strict.integer(raw.get("program"), "program"),
            input=strict.integer(raw.get("input"), "input"),
            result=None if result is None else ExecutionResult.from_json(result),
            error=None if error is None else problem_of(error),
        )
