# SPDX-License-Identifier: Apache-2.0
"""The result of a run, as docs/result.md describes it."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple, Union

from . import strict
from .errors import BadAnswer
from .save import save_all


@dataclass(frozen=True)
class ResultFile:
    """A file that the program left."""

    path: str
    size: int
    sha256: str
    executable: bool
    content: bytes = field(repr=False)

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")


@dataclass(frozen=True)
class Change:
    """A change in /sandbox: `kind` is created, modified or deleted."""

    path: str
    kind: str
    size: int
    sha256: Optional[str]


@dataclass(frozen=True)
class Denial:
    """The first system call that the policy refused."""

    call: str
    meaning: str
    reason: str
    count: int


@dataclass(frozen=True)
class Refusal:
    """A refusal of the guard, with its place in the code."""

    rule: str
    reason: str
    line: Optional[int]
    column: Optional[int]


@dataclass(frozen=True)
class Risk:
    """The guard's risk score of the code: 0 to 100."""

    score: int
    reasons: List[str]


@dataclass(frozen=True)
class Connection:
    """A connection that the program made or tried; `verdict` is allowed, or why it failed."""

    host: str
    port: int
    address: Optional[str]
    verdict: str
    bytes_up: int
    bytes_down: int
    ms: float


@dataclass(frozen=True)
class RunEvent:
    """A denied or watched action of a run; `kind` is "call.denied" or similar."""

    kind: str
    subject: str
    reason: str
    count: int
    first_ms: float


@dataclass(frozen=True)
class Verdict:
    """Why it ended. `remedy` is for the author of the code."""

    cause: str
    limit_name: Optional[str] = None
    limit: Optional[float] = None
    peak: Optional[float] = None
    denial: Optional[Denial] = None
    remedy: Optional[str] = None
    operator_remedy: Optional[str] = None
    refusal: Optional[Refusal] = None


@dataclass(frozen=True)
class ExecutionResult:
    """The result of one run: its output, its files, why it ended, the resources it used.

    `stdout` and `stderr` are text (bytes that are not UTF-8 are replaced); the exact bytes are in
    `stdout_bytes` and `stderr_bytes`. `raw` is the whole object, as brig sent it.
    """

    id: str
    status: str
    exit_code: Optional[int]
    signal: Optional[int]
    stdout: str
    stderr: str
    stdout_bytes: bytes = field(repr=False)
    stderr_bytes: bytes = field(repr=False)
    stdout_truncated: bool
    stderr_truncated: bool
    encoding: str
    value: Any
    value_repr: Optional[str]  # of a value that is not JSON
    files: List[ResultFile]
    files_note: Optional[str]
    changes: Optional[List[Change]]
    verdict: Verdict
    duration_ms: float
    usage: Dict[str, float]
    limits: Dict[str, float]
    means: Dict[str, str]
    language: Optional[str]
    runtime: Optional[str]
    policy: str
    provider: str
    start: str
    layers: List[str]
    build_cached: bool
    expires_at: Optional[str]
    network: List[Connection]  # of a run that had one
    network_untold: int  # connections beyond those
    risk: Optional[Risk]
    events: List[RunEvent]
    events_dropped: int  # those that did not fit into the list
    event_counts: Dict[str, int]  # all of them, by kind
    raw: Dict[str, Any] = field(repr=False, compare=False)

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def text(self) -> str:
        """For display to a person or a model: all output, and why it ended unless it succeeded."""
        parts = [part.rstrip("\n") for part in (self.stdout, self.stderr) if part]
        if not self.ok:
            parts.append(f"[{self.why}]")
        return "\n".join(parts)

    @property
    def why(self) -> str:
        """How it ended, what was refused and the remedy, in one line."""
        how = self.status
        if self.status == "failed":
            how += f", exit {self.exit_code}" if self.signal is None else f", signal {self.signal}"
        denial, remedy = self.verdict.denial, self.verdict.remedy
        words = [how]
        if denial:
            words.append(f"refused: {denial.meaning}")
        if self.verdict.refusal:
            words.append(self.verdict.refusal.reason)
        # The remedy of a refusal has its reason in it.
        if remedy:
            words.append(remedy)
        elif denial:
            words.append(denial.reason)
        return "; ".join(words)

    def file(self, path: str) -> ResultFile:
        """The file of that name; KeyError: it was not returned."""
        for found in self.files:
            if found.path == path:
                return found
        raise KeyError(path)

    def save_files(
        self,
        directory: Union[str, "os.PathLike[str]"],
        *,
        overwrite: bool = False,
        executable: bool = False,
    ) -> List[str]:
        """Writes all files beneath a directory, and nowhere else; returns their paths.

        A name with "..", an absolute one, or one with a link in its path is an UnsafePath; names
        are checked before anything is written. Existing files are only replaced with `overwrite`;
        execute bits are only kept with `executable`.
        """
        entries = [(item.path, item.content, item.executable and executable) for item in self.files]
        return save_all(directory, entries, overwrite)

    @classmethod
    def from_json(cls, value: Any) -> "ExecutionResult":
        """Converts the object that brig sends; raises BadAnswer if it is invalid."""
        return _result(strict.an_object(value, "result"))


def _streams(raw: Dict[str, Any]) -> Tuple[str, bytes, bytes]:
    encoding = strict.word(raw.get("encoding"), "encoding")
    if encoding == "base64":
        return encoding, strict.data(raw.get("stdout"), "stdout"), strict.data(
            raw.get("stderr"), "stderr")
    if encoding != "utf-8":
        raise BadAnswer(f"invalid response: encoding {encoding}")
    out, err = strict.text(raw.get("stdout"), "stdout"), strict.text(raw.get("stderr"), "stderr")
    return encoding, out.encode(), err.encode()


def _file(value: Any) -> ResultFile:
    raw = strict.an_object(value, "files[]")
    made = ResultFile(
        path=strict.text(raw.get("path"), "files[].path"),
        size=strict.integer(raw.get("size"), "files[].size"),
        sha256=strict.text(raw.get("sha256"), "files[].sha256"),
        executable=strict.boolean(raw.get("executable", False), "files[].executable"),
        content=strict.data(raw.get("content_base64"), "files[].content_base64"),
    )
    if made.size != len(made.content) or made.sha256 != hashlib.sha256(made.content).hexdigest():
        raise BadAnswer("invalid response: a file's size or hash does not match its content")
    return made


def _change(value: Any) -> Change:
    raw = strict.an_object(value, "changes[]")
    return Change(
        path=strict.text(raw.get("path"), "changes[].path"),
        kind=strict.word(raw.get("kind"), "changes[].kind"),
        size=strict.integer(raw.get("size"), "changes[].size"),
        sha256=strict.maybe_text(raw.get("sha256"), "changes[].sha256"),
    )


def _denial(value: Any) -> Optional[Denial]:
    if value is None:
        return None
    raw = strict.an_object(value, "verdict.denial")
    return Denial(
        call=strict.text(raw.get("call"), "denial.call"),
        meaning=strict.text(raw.get("meaning"), "denial.meaning"),
        reason=strict.text(raw.get("reason"), "denial.reason"),
        count=strict.integer(raw.get("count"), "denial.count"),
    )


def _refusal(value: Any) -> Optional[Refusal]:
    if value is None:
        return None
    raw = strict.an_object(value, "verdict.refusal")
    return Refusal(
        rule=strict.text(raw.get("rule"), "refusal.rule"),
        reason=strict.text(raw.get("reason"), "refusal.reason"),
        line=strict.maybe_integer(raw.get("line"), "refusal.line"),
        column=strict.maybe_integer(raw.get("column"), "refusal.column"),
    )


def _risk(value: Any) -> Optional[Risk]:
    if value is None:
        return None
    raw = strict.an_object(value, "risk")
    reasons = strict.a_list(raw.get("reasons"), "risk.reasons")
    return Risk(strict.integer(raw.get("score"), "risk.score"),
                [strict.text(item, "risk.reasons") for item in reasons])


def _connection(value: Any) -> Connection:
    raw = strict.an_object(value, "network[]")
    return Connection(
        host=strict.text(raw.get("host"), "network[].host"),
        port=strict.integer(raw.get("port"), "network[].port"),
        address=strict.maybe_text(raw.get("address"), "network[].address"),
        verdict=strict.word(raw.get("verdict"), "network[].verdict"),
        bytes_up=strict.integer(raw.get("bytes_up"), "network[].bytes_up"),
        bytes_down=strict.integer(raw.get("bytes_down"), "network[].bytes_down"),
        ms=strict.number(raw.get("ms"), "network[].ms"),
    )


def _event(value: Any) -> RunEvent:
    raw = strict.an_object(value, "events[]")
    return RunEvent(
        kind=strict.word(raw.get("kind"), "events[].kind"),
        subject=strict.text(raw.get("subject"), "events[].subject"),
        reason=strict.text(raw.get("reason"), "events[].reason"),
        count=strict.integer(raw.get("count"), "events[].count"),
        first_ms=strict.number(raw.get("first_ms"), "events[].first_ms"),
    )


def _verdict(value: Any) -> Verdict:
    raw = strict.an_object(value, "verdict")
    return Verdict(
        cause=strict.text(raw.get("cause"), "verdict.cause"),
        limit_name=strict.maybe_text(raw.get("limit_name"), "verdict.limit_name"),
        limit=strict.maybe_number(raw.get("limit"), "verdict.limit"),
        peak=strict.maybe_number(raw.get("peak"), "verdict.peak"),
        denial=_denial(raw.get("denial")),
        refusal=_refusal(raw.get("refusal")),
        remedy=strict.maybe_text(raw.get("remedy"), "verdict.remedy"),
        operator_remedy=strict.maybe_text(raw.get("operator_remedy"), "verdict.operator_remedy"),
    )


def _numbers(raw: Dict[str, Any], name: str) -> Dict[str, float]:
    found = strict.an_object(raw.get(name), name)
    return {key: strict.number(value, f"{name}.{key}") for key, value in found.items()}


def _result(raw: Dict[str, Any]) -> ExecutionResult:
    encoding, out, err = _streams(raw)
    changes = raw.get("changes")
    means = strict.an_object(raw.get("means", {}), "means")
    # Older versions of brig have none of them.
    counts = strict.an_object(raw.get("event_counts", {}), "event_counts")
    return ExecutionResult(
        id=strict.word(raw.get("id"), "id"),
        status=strict.word(raw.get("status"), "status"),
        exit_code=strict.maybe_integer(raw.get("exit_code"), "exit_code"),
        signal=strict.maybe_integer(raw.get("signal"), "signal"),
        stdout=out.decode("utf-8", "replace"),
        stderr=err.decode("utf-8", "replace"),
        stdout_bytes=out,
        stderr_bytes=err,
        stdout_truncated=strict.boolean(raw.get("stdout_truncated"), "stdout_truncated"),
        stderr_truncated=strict.boolean(raw.get("stderr_truncated"), "stderr_truncated"),
        encoding=encoding,
        value=raw.get("value"),
        value_repr=strict.maybe_text(raw.get("value_repr"), "value_repr"),
        files=[_file(item) for item in strict.a_list(raw.get("files"), "files")],
        files_note=strict.maybe_text(raw.get("files_note"), "files_note"),
        changes=None if changes is None
        else [_change(item) for item in strict.a_list(changes, "changes")],
        verdict=_verdict(raw.get("verdict")),
        duration_ms=strict.number(raw.get("duration_ms"), "duration_ms"),
        usage=_numbers(raw, "usage"),
        limits=_numbers(raw, "limits"),
        means={key: strict.text(value, "means") for key, value in means.items()},
        language=strict.maybe_text(raw.get("language"), "language"),
        runtime=strict.maybe_text(raw.get("runtime"), "runtime"),
        policy=strict.text(raw.get("policy"), "policy"),
        provider=strict.text(raw.get("provider"), "provider"),
        start=strict.text(raw.get("start"), "start"),
        layers=[strict.text(item, "layers") for item in strict.a_list(raw.get("layers"), "layers")],
        build_cached=strict.boolean(raw.get("build_cached", False), "build_cached"),
        expires_at=strict.maybe_text(raw.get("expires_at"), "expires_at"),
        network=[_connection(item) for item in strict.a_list(raw.get("network", []), "network")],
        network_untold=strict.integer(raw.get("network_untold", 0), "network_untold"),
        risk=_risk(raw.get("risk")),
        events=[_event(item) for item in strict.a_list(raw.get("events", []), "events")],
        events_dropped=strict.integer(raw.get("events_dropped", 0), "events_dropped"),
        event_counts={key: strict.integer(value, f"event_counts.{key}")
                      for key, value in counts.items()},
        raw=raw,
    )
