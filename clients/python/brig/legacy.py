# SPDX-License-Identifier: Apache-2.0
"""execute_code() for older programs: arguments in another order, the result a dict."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple

from .client import Client
from .errors import BrigError, Problem
from .handles import Session
from .result import ExecutionResult
from .sandbox import SecureSandbox

TIMEOUT_LEAST, TIMEOUT_MOST = 1, 300
SESSIONS_MAX = 32
# All other statuses are an execution_error.
STATUSES = {
    "ok": "success",
    "timeout": "timeout",
    "cpu_limit": "timeout",
    "cancelled": "setup_error",
    "lost": "setup_error",
    "error": "setup_error",
}

# The kind of error.
CODES = {"timeout": "EXECUTION_TIMEOUT", "execution_error": "RUNTIME_ERROR",
         "setup_error": "SANDBOX_SETUP_FAILED"}
CUT = "\n[output truncated]"
_SESSION = re.compile(r"[A-Za-z0-9_-]{1,64}")

_lock = threading.Lock()
_sessions: Dict[Tuple[str, str, str], Session] = {}


def _session(client: Client, language: str, name: str) -> Session:
    """The first call with a name opens the session; names are local to this process."""
    which = (str(client.place), language, name)
    with _lock:
        if which not in _sessions:
            if len(_sessions) >= SESSIONS_MAX:
                raise BrigError(f"there are {SESSIONS_MAX} sessions open", "call close_session()")
            _sessions[which] = client.session(language)
        return _sessions[which]


def close_session(session_id: str) -> None:
    """Ends the sessions of that name; there need be none."""
    with _lock:
        names = [which for which in _sessions if which[2] == session_id]
        ended = [_sessions.pop(which) for which in names]
    for session in ended:
        try:
            session.close()
        except BrigError:
            pass  # The session has ended already, or the service has.


def _exit_code(result: ExecutionResult) -> int:
    if result.status in ("ok", "failed", "compile_failed"):
        if result.exit_code is not None:
            return result.exit_code
        if result.signal is not None:
            return 128 + result.signal
    return -1


@dataclass(frozen=True)
class ExecutionLimits:
    """The limits of a run; the operator's ceilings apply in any case."""

    timeout_seconds: float = 30
    memory_mb: int = 256
    cpu_cores: float = 0.5
    max_output_chars: int = 100000

    def __post_init__(self) -> None:
        for name, least, most in (("timeout_seconds", TIMEOUT_LEAST, TIMEOUT_MOST),
                                  ("memory_mb", 1, 1 << 20), ("cpu_cores", 0.01, 1024),
                                  ("max_output_chars", 1, 64 << 20)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise TypeError(f"{name} is a number")
            if not least <= value <= most:
                raise ValueError(f"{name} must be from {least} to {most}")

    def fields(self) -> Dict[str, float]:
        return {"memory_bytes": int(self.memory_mb * (1 << 20)),
                "cpu_millicores": int(self.cpu_cores * 1000)}


def _answer(status: str, error: Optional[str] = None, code: Optional[str] = None) -> Dict[str, Any]:
    return {"stdout": "", "stderr": "", "exit_code": -1, "execution_time": 0.0, "status": status,
            "error_message": error, "error_code": code or CODES.get(status),
            "resource_usage": None, "limits_applied": None}


def _cut(text: str, truncated: bool, most: Optional[int]) -> str:
    """Returns the output, with a mark where it was cut."""
    if most is not None and len(text) > most:
        text, truncated = text[:most], True
    return text + CUT if truncated else text


def _result(result: ExecutionResult, most: Optional[int]) -> Dict[str, Any]:
    status = STATUSES.get(result.status, "execution_error")
    limits = result.limits
    return {
        **_answer(status, None if result.ok else result.why),
        "stdout": _cut(result.stdout, result.stdout_truncated, most),
        "stderr": _cut(result.stderr, result.stderr_truncated, most),
        "exit_code": _exit_code(result) if status != "timeout" else -1,
        "execution_time": result.duration_ms / 1000,
        "resource_usage": {"execution_time": result.duration_ms / 1000,
                           "cpu_time": result.usage["cpu_ms"] / 1000,
                           "memory_mb": result.usage["memory_peak_bytes"] / (1 << 20)},
        "limits_applied": {"timeout_seconds": limits["wall_ms"] / 1000,
                           "memory_mb": limits["memory_bytes"] / (1 << 20),
                           "cpu_cores": limits["cpu_millicores"] / 1000,
                           "max_output_chars": most or limits["stdout_bytes"]},
    }


def execute_code(language: str, code: str, stdin: Optional[str] = None,
                 timeout: Optional[float] = None, session_id: Optional[str] = None, *,
                 limits: Optional[ExecutionLimits] = None, client: Optional[Client] = None
                 ) -> Dict[str, Any]:
    """stdout, stderr, exit_code (-1: an error of brig, or a timeout), execution_time in seconds,
    status (success, timeout, execution_error, setup_error), error_message, error_code,
    resource_usage, limits_applied. The timeout (30 s by default) is clamped to 1..300 and to the
    operator's ceiling. Never raises because of the code, nor because it could not be run.
    """
    if timeout is None:
        timeout = limits.timeout_seconds if limits else 30
    options: Dict[str, Any] = {"clamp": True,
                               "timeout": min(max(timeout, TIMEOUT_LEAST), TIMEOUT_MOST)}
    if stdin is not None:
        options["stdin"] = stdin
    if session_id is not None and not _SESSION.fullmatch(session_id):
        return _answer("setup_error",
                       "session_id: must be 1 to 64 letters, digits, '_' and '-'")
    try:
        used = client or Client()
        if session_id is None:
            if limits:
                options["limits"] = limits.fields()
            result = used.execute(code, language, **options)
        else:
            result = _session(used, language, session_id).run(code, **options)
    except BrigError as error:
        if session_id is not None and isinstance(error, Problem) and error.code in (
                "session_gone", "not_found"):
            close_session(session_id)  # The next call opens a new one.
        return _failed(error, client)
    return _result(result, limits.max_output_chars if limits else None)


def _failed(error: BrigError, client: Optional[Client]) -> Dict[str, Any]:
    """The message for an unsupported language, with the supported ones."""
    if not isinstance(error, Problem) or error.code != "unsupported_language":
        return _answer("setup_error", str(error))
    try:
        names = [item["name"] for item in (client or Client()).runtimes()
                 if item.get("installed", True)]
    except (BrigError, KeyError):
        names = []
    said = f"{error.detail}; supported are: {', '.join(names)}" if names else str(error)
    return _answer("setup_error", said, "UNSUPPORTED_LANGUAGE")


def execute_python_sandbox(code: str) -> str:
    """The name of a tool that ran code in its own process. This one runs it in the sandbox, and
    returns its output or the error.
    """
    done = SecureSandbox.execute(code)
    return done.output if done.status == "success" else f"Error: {done.error}"
