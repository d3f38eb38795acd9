# SPDX-License-Identifier: Apache-2.0
"""Every request of the API as data: its content, how its response is read, whether to retry it."""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass, field
from typing import (
    Any, Callable, Dict, Generic, List, Mapping, Optional, Sequence, Tuple, TypeVar,
)
from urllib.parse import quote, urlencode

from . import strict
from .errors import BadAnswer, BrigError, Problem
from .events import problem_of
from .result import ExecutionResult

T = TypeVar("T")

PROBLEM_MAX = 1 << 20
UNDER_WAY = ("queued", "running")


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes = b""

    def json(self) -> Any:
        return strict.parse(self.body)


@dataclass(frozen=True)
class Call(Generic[T]):
    """`safe`: sending it twice has the same effect as sending it once."""

    method: str
    path: str
    read: Callable[[Answer], T]
    body: Optional[bytes] = None
    headers: Mapping[str, str] = field(default_factory=dict)
    safe: bool = False


@dataclass(frozen=True)
class ExecutionState:
    """The state of an execution. `result` of one that ran, `error` of one that could not."""

    id: str
    status: str
    created_at: Optional[str]
    started_at: Optional[str]
    ended_at: Optional[str]
    language: Optional[str]
    policy: Optional[str]
    session: Optional[str]
    expires_at: Optional[str]
    result: Optional[ExecutionResult] = None
    error: Optional[Problem] = None

    @property
    def ended(self) -> bool:
        return self.status not in UNDER_WAY


@dataclass(frozen=True)
class SessionState:
    """`state` is idle, busy or gone; for gone, `reason` has the cause."""

    id: str
    state: str
    language: Optional[str]
    policy: Optional[str]
    created_at: Optional[str]
    expires_at: Optional[str]
    runs: int
    reason: Optional[str]
    raw: Dict[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True)
class SessionFile:
    path: str
    size: int


@dataclass(frozen=True)
class Page(Generic[T]):
    """`next` is the value of `before` for the next page; None: there is none."""

    items: List[T]
    next: Optional[str]


def new_key() -> str:
    """Returns a unique idempotency key."""
    return secrets.token_urlsafe(18)


# --- reading -------------------------------------------------------------------------------------


def _seconds(value: Optional[str]) -> Optional[float]:
    return float(value) if value and re.fullmatch("[0-9]{1,9}", value) else None


def error_of(answer: Answer) -> BrigError:
    """Returns the error for a response that is not a success."""
    kind = answer.headers.get("content-type", "").split(";")[0].strip()
    if answer.status < 400 or kind not in ("application/problem+json", "application/json"):
        return BadAnswer(f"HTTP status {answer.status} without a problem: this is not brig")
    return problem_of(answer.json(), _seconds(answer.headers.get("retry-after")),
                      answer.headers.get("location"))


def location_id(headers: Mapping[str, str]) -> Optional[str]:
    """The execution that a response's Location names."""
    found = re.fullmatch(r"/v1/executions/([0-9A-Z]{26})", headers.get("location", ""))
    return found.group(1) if found else None


def _nothing(answer: Answer) -> None:
    return None


def _result(answer: Answer) -> ExecutionResult:
    return ExecutionResult.from_json(answer.json())


def _object(answer: Answer) -> Dict[str, Any]:
    return strict.an_object(answer.json(), "answer")


def _named_list(name: str) -> Callable[[Answer], List[Dict[str, Any]]]:
    def read(answer: Answer) -> List[Dict[str, Any]]:
        found = strict.a_list(_object(answer).get(name), name)
        return [strict.an_object(item, name) for item in found]

    return read


def _accepted(answer: Answer) -> str:
    return strict.word(_object(answer).get("id"), "id")


def _execution_of(value: Any) -> ExecutionState:
    raw = strict.an_object(value, "execution")
    result, error = raw.get("result"), raw.get("error")
    texts = ("created_at", "started_at", "ended_at", "language", "policy", "session", "expires_at")
    return ExecutionState(
        id=strict.word(raw.get("id"), "id"),
        status=strict.word(raw.get("status"), "status"),
        result=None if result is None else ExecutionResult.from_json(result),
        error=None if error is None else problem_of(error),
        **{name: strict.maybe_text(raw.get(name), name) for name in texts},
    )


def _execution(answer: Answer) -> ExecutionState:
    return _execution_of(answer.json())


def _session_of(value: Any) -> SessionState:
    raw = strict.an_object(value, "session")
    texts = ("language", "policy", "created_at", "expires_at", "reason")
    return SessionState(
        id=strict.word(raw.get("id"), "id"),
        state=strict.word(raw.get("state"), "state"),
        runs=strict.integer(raw.get("runs", 0), "runs"),
        raw=raw,
        **{name: strict.maybe_text(raw.get(name), name) for name in texts},
    )


def _session(answer: Answer) -> SessionState:
    return _session_of(answer.json())


def _page(name: str, read: Callable[[Any], T]) -> Callable[[Answer], "Page[T]"]:
    def page(answer: Answer) -> "Page[T]":
        raw = _object(answer)
        items = [read(item) for item in strict.a_list(raw.get(name), name)]
        return Page(items, strict.maybe_text(raw.get("next"), "next"))

    return page


def _session_file(value: Any) -> SessionFile:
    raw = strict.an_object(value, "file")
    path = strict.text(raw.get("path"), "path")
    return SessionFile(path, strict.integer(raw.get("size"), "size"))


def _files(answer: Answer) -> List[SessionFile]:
    return [_session_file(item) for item in _named_list("files")(answer)]


# --- requests
# --------------------------------------------------------------------------------------


def _id(value: str) -> str:
    if not re.fullmatch("[A-Za-z0-9_-]{1,64}", value):
        raise ValueError(f"{value!r} is not an id")
    return value


def _json(value: Any) -> Tuple[bytes, Dict[str, str]]:
    body = json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "strict")
    return body, {"Content-Type": "application/json"}


def _query(path: str, **fields: Any) -> str:
    given = {name: value for name, value in fields.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def _post(path: str, value: Any, read: Callable[[Answer], T], key: Optional[str] = None,
          accept: Optional[str] = None) -> Call[T]:
    body, headers = _json(value)
    if key is not None:
        headers["Idempotency-Key"] = key
    if accept is not None:
        headers["Accept"] = accept
    return Call("POST", path, read, body, headers, safe=key is not None)


def _get(path: str, read: Callable[[Answer], T]) -> Call[T]:
    return Call("GET", path, read, safe=True)


def execute(fields: Mapping[str, Any], key: Optional[str] = None) -> Call[ExecutionResult]:
    return _post("/v1/execute", fields, _result, key)


def stream(fields: Mapping[str, Any], key: Optional[str] = None) -> Call[None]:
    return _post("/v1/execute", {**fields, "stream": True}, _nothing, key, "text/event-stream")


def events(execution: str, after: Optional[str] = None) -> Call[None]:
    headers = {"Accept": "text/event-stream"}
    if after is not None:
        headers["Last-Event-ID"] = after
    path = f"/v1/executions/{_id(execution)}/events"
    return Call("GET", path, _nothing, headers=headers, safe=True)


def submit(fields: Mapping[str, Any], key: str) -> Call[str]:
    return _post("/v1/executions", fields, _accepted, key)


def execution(which: str) -> Call[ExecutionState]:
    return _get(f"/v1/executions/{_id(which)}", _execution)


def executions(before: Optional[str], limit: Optional[int]) -> Call[Page[ExecutionState]]:
    path = _query("/v1/executions", before=before, limit=limit)
    return _get(path, _page("executions", _execution_of))


def cancel(which: str) -> Call[ExecutionState]:
    return Call("DELETE", f"/v1/executions/{_id(which)}", _execution, safe=True)


def batch(programs: Sequence[Mapping[str, Any]], inputs: Optional[Sequence[Mapping[str, Any]]]
          ) -> Call[None]:
    fields: Dict[str, Any] = {"programs": list(programs)}
    if inputs is not None:
        fields["inputs"] = list(inputs)
    return _post("/v1/batch", fields, _nothing)


def open_session(fields: Mapping[str, Any]) -> Call[SessionState]:
    return _post("/v1/sessions", fields, _session)


def session(which: str) -> Call[SessionState]:
    return _get(f"/v1/sessions/{_id(which)}", _session)


def sessions(gone: bool, before: Optional[str], limit: Optional[int]) -> Call[Page[SessionState]]:
    path = _query("/v1/sessions", state="gone" if gone else None, before=before, limit=limit)
    return _get(path, _page("sessions", _session_of))


def close_session(which: str) -> Call[None]:
    return Call("DELETE", f"/v1/sessions/{_id(which)}", _nothing, safe=True)


def interrupt(which: str) -> Call[SessionState]:
    return Call("POST", f"/v1/sessions/{_id(which)}/interrupt", _session)


def fork(which: str) -> Call[SessionState]:
    return Call("POST", f"/v1/sessions/{_id(which)}/fork", _session)


def files(which: str) -> Call[List[SessionFile]]:
    return _get(f"/v1/sessions/{_id(which)}/files", _files)


def _file_path(which: str, path: str) -> str:
    return f"/v1/sessions/{_id(which)}/files/{quote(path, safe='/')}"


def get_file(which: str, path: str) -> Call[bytes]:
    return _get(_file_path(which, path), lambda answer: answer.body)


def put_file(which: str, path: str, content: bytes) -> Call[None]:
    headers = {"Content-Type": "application/octet-stream"}
    return Call("PUT", _file_path(which, path), _nothing, content, headers, safe=True)


def delete_file(which: str, path: str) -> Call[None]:
    return Call("DELETE", _file_path(which, path), _nothing, safe=True)


def runtimes() -> Call[List[Dict[str, Any]]]:
    return _get("/v1/runtimes", _named_list("runtimes"))


def policies() -> Call[List[Dict[str, Any]]]:
    return _get("/v1/policies", _named_list("policies"))


def check(fields: Mapping[str, Any]) -> Call[Dict[str, Any]]:
    call = _post("/v1/policies/check", fields, _object)
    return Call(call.method, call.path, call.read, call.body, call.headers, safe=True)


def health() -> Call[str]:
    return _get("/v1/health", lambda answer: strict.word(_object(answer).get("status"), "status"))


def metrics() -> Call[str]:
    return _get("/metrics", lambda answer: answer.body.decode("utf-8", "replace"))
