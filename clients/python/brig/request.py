# SPDX-License-Identifier: Apache-2.0
"""The fields of a request, from Python's names to those of the API."""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass
from typing import (
    Any, Dict, Iterable, List, Literal, Mapping, Optional, Sequence, TypedDict, Union,
)

from .errors import Problem

Content = Union[str, bytes]
# How Python code is checked before it runs; each is stricter than the one before.
Guard = Literal["off", "imports", "strict"]


@dataclass(frozen=True)
class InputFile:
    """A file for /sandbox with more properties than a name."""

    path: str
    content: Content
    executable: bool = False


Mounts = Sequence[Union[str, Mapping[str, Any]]]
Files = Union[Mapping[str, Content], Iterable[InputFile]]


class RunOptions(TypedDict, total=False):
    """Options of every way to run code, besides the code and its language."""

    args: Sequence[str]
    stdin: Content
    env: Mapping[str, str]
    files: Files  # {"data/in.csv": "..."} or InputFile objects
    out: Sequence[str]  # globs of files to return; files in out/ always are
    timeout: float  # seconds on the clock
    limits: Mapping[str, float]  # {"memory_bytes": 64 << 20}: each replaces the policy's
    clamp: bool  # limits that the policy refuses become the nearest allowed value
    consent: bool  # a person agrees to this run, where the policy requires it
    mounts: Mounts  # ["data"] or [{"name": "data", "writable": True}], of those the policy lists
    policy: str
    provider: str  # one that the policy names, such as "oci"
    venv: str  # a virtualenv that the policy lists; without a service, also its path
    guard: Guard  # at least as strict as in the policy
    network: Sequence[str]  # ["pypi.org", "*.example.org:443"], of those that the policy allows
    want_value: bool
    changes: bool
    start: Literal["auto", "cold", "warm"]
    more: Mapping[str, Any]  # fields of the API that this version does not support by name


class SessionOptions(TypedDict, total=False):
    """Options of a new session."""

    env: Mapping[str, str]
    files: Files
    timeout: float  # seconds on the clock, of each run
    limits: Mapping[str, float]
    clamp: bool
    consent: bool
    mounts: Mounts
    policy: str
    provider: str
    venv: str
    guard: Guard
    network: Sequence[str]
    idle_timeout: float  # seconds without a run after which it is closed
    lifetime: float  # seconds
    more: Mapping[str, Any]


def _as_field(name: str, value: Content) -> Dict[str, str]:
    """Text unchanged; other bytes as base64."""
    if isinstance(value, str):
        return {name: value}
    return {f"{name}_base64": base64.b64encode(value).decode()}


def input_files(files: Files) -> List[InputFile]:
    if isinstance(files, Mapping):
        return [InputFile(path, content) for path, content in files.items()]
    return list(files)


def file_fields(files: Files) -> List[Dict[str, Any]]:
    fields: List[Dict[str, Any]] = []
    for item in input_files(files):
        fields.append({"path": item.path, **_as_field("content", item.content)})
        if item.executable:
            fields[-1]["executable"] = True
    return fields


def milliseconds(name: str, seconds: float) -> float:
    """brig checks the allowed range; a value that is not a time is refused here."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"{name} is a number of seconds")
    if not math.isfinite(seconds):
        why = f"{name}: {seconds} is not a valid time"
        raise Problem("invalid_request", why, why, "give a number of seconds")
    return max(0, round(seconds * 1000, 3))


def input_fields(
    *,
    args: Optional[Sequence[str]] = None,
    stdin: Optional[Content] = None,
    env: Optional[Mapping[str, str]] = None,
    files: Optional[Files] = None,
) -> Dict[str, Any]:
    """Options that may differ from input to input of a batch."""
    fields: Dict[str, Any] = {}
    if args is not None:
        fields["args"] = list(args)
    if stdin is not None:
        fields.update(_as_field("stdin", stdin))
    if env is not None:
        fields["env"] = dict(env)
    if files is not None:
        fields["files"] = file_fields(files)
    return fields


def mount_fields(mounts: Mounts) -> List[Dict[str, Any]]:
    if isinstance(mounts, str):
        raise TypeError("mounts is a list of names")
    return [{"name": item} if isinstance(item, str) else dict(item) for item in mounts]


def run_fields(
    code: Optional[str],
    language: Optional[str],
    *,
    args: Optional[Sequence[str]] = None,
    stdin: Optional[Content] = None,
    env: Optional[Mapping[str, str]] = None,
    files: Optional[Files] = None,
    timeout: Optional[float] = None,
    mounts: Optional[Mounts] = None,
    more: Optional[Mapping[str, Any]] = None,
    **rest: Any,
) -> Dict[str, Any]:
    unknown = set(rest) - {"out", "limits", "clamp", "consent", "policy", "provider", "venv", "guard",
                           "network", "want_value", "changes", "start", "session"}
    if unknown:
        raise TypeError(f"unknown option {', '.join(sorted(unknown))}")
    fields: Dict[str, Any] = {"code": code, "language": language}
    fields.update(input_fields(args=args, stdin=stdin, env=env, files=files))
    if mounts is not None:
        fields["mounts"] = mount_fields(mounts)
    if timeout is not None:
        fields["timeout_ms"] = milliseconds("timeout", timeout)
    if isinstance(rest.get("network"), str):
        raise TypeError("network is a list of hosts")
    for name, kind in (("out", list), ("network", list), ("limits", dict)):
        if rest.get(name) is not None:
            rest[name] = kind(rest[name])
    fields.update(rest)
    fields.update(more or {})
    return {name: value for name, value in fields.items() if value is not None}


def session_fields(
    language: str,
    *,
    idle_timeout: Optional[float] = None,
    lifetime: Optional[float] = None,
    **options: Any,
) -> Dict[str, Any]:
    unknown = set(options) - set(SessionOptions.__annotations__)
    if unknown:
        raise TypeError(f"a session has no option {', '.join(sorted(unknown))}")
    fields = run_fields(None, language, **options)
    if idle_timeout is not None:
        fields["idle_timeout_ms"] = milliseconds("idle_timeout", idle_timeout)
    if lifetime is not None:
        fields["lifetime_ms"] = milliseconds("lifetime", lifetime)
    return fields
