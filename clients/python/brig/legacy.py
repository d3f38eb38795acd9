# SPDX-License-Identifier: Apache-2.0
"""execute_code() as older programs know it: arguments in another order, the result a dict."""

from __future__ import annotations

import threading
from typing import Any, Dict, Optional, Tuple

from .client import Client
from .errors import BrigError, Problem
from .handles import Session
from .result import ExecutionResult

TIMEOUT_LEAST, TIMEOUT_MOST = 1, 300
SESSIONS_MAX = 32
# What is not here is an execution_error.
STATUSES = {
    "ok": "success",
    "timeout": "timeout",
    "cpu_limit": "timeout",
    "cancelled": "setup_error",
    "lost": "setup_error",
    "error": "setup_error",
}

_lock = threading.Lock()
_sessions: Dict[Tuple[str, str, str], Session] = {}


def _session(client: Client, language: str, name: str) -> Session:
    """The first call with a name opens the session; names are this process's own."""
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
            pass  # It is gone already, or the service is.


def _exit_code(result: ExecutionResult) -> int:
    if result.status in ("ok", "failed", "compile_failed"):
        if result.exit_code is not None:
            return result.exit_code
        if result.signal is not None:
            return 128 + result.signal
    return -1


def _answer(status: str, error: Optional[str] = None, stdout: str = "", stderr: str = "",
            exit_code: int = -1, execution_time: float = 0.0) -> Dict[str, Any]:
    return {"stdout": stdout, "stderr": stderr, "exit_code": exit_code,
            "execution_time": execution_time, "status": status, "error_message": error}


def execute_code(language: str, code: str, stdin: Optional[str] = None, timeout: float = 30,
                 session_id: Optional[str] = None, *, client: Optional[Client] = None
                 ) -> Dict[str, Any]:
    """stdout, stderr, exit_code (-1: brig's own trouble, or the time is up), execution_time in
    seconds, status (success, timeout, execution_error, setup_error), error_message. Never raises
    for what the code does, nor because it could not be run.
    """
    options: Dict[str, Any] = {"timeout": min(max(timeout, TIMEOUT_LEAST), TIMEOUT_MOST)}
    if stdin is not None:
        options["stdin"] = stdin
    try:
        used = client or Client()
        if session_id is None:
            result = used.execute(code, language, **options)
        else:
            result = _session(used, language, session_id).run(code, **options)
    except BrigError as error:
        if session_id is not None and isinstance(error, Problem) and error.code in (
                "session_gone", "not_found"):
            close_session(session_id)  # The next call begins a new one.
        return _answer("setup_error", str(error))
    status = STATUSES.get(result.status, "execution_error")
    return _answer(status, None if result.ok else result.why, result.stdout, result.stderr,
                   _exit_code(result) if status != "timeout" else -1, result.duration_ms / 1000)
