# SPDX-License-Identifier: Apache-2.0
"""Runs untrusted code in sealed cells.

    import brig

    result = brig.execute_code("print(6 * 7)")
    print(result.status, result.stdout)

A program that fails, times out or is stopped gives a result; an exception means that it did not
run. Client has all functions of a service, AsyncClient the same for asyncio.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Optional, Union

from .aio import AsyncClient
from .aio_handles import AsyncExecution, AsyncSession, AsyncStream
from .calls import ExecutionState, Page, SessionFile, SessionState, new_key
from .client import Client
from .errors import (
    BadAnswer,
    BrigError,
    CannotConnect,
    ConnectionLost,
    DeadlineExceeded,
    NeedsService,
    Problem,
    UnsafePath,
)
from .events import BatchItem, Event, Finished, Output
from .handles import Execution, Session, Stream
from .request import InputFile
from .result import (
    Change,
    Connection,
    Denial,
    ExecutionResult,
    Refusal,
    ResultFile,
    Risk,
    RunEvent,
    Verdict,
)
from .sandbox import SandboxResult, SecureSandbox
from .server import Server

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .request import RunOptions

__version__ = "0.1.0"

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def execute_code(
    code: str, language: str = "python", **options: "Unpack[RunOptions]"
) -> ExecutionResult:
    """Runs code with the default Client, and waits for its result.

    Options: args, stdin, env, files, out, timeout (seconds), limits, policy, provider, venv,
    guard, network, want_value, changes.
    """
    return Client().execute(code, language, **options)


def execute_file(
    path: Union[str, "os.PathLike[str]"],
    language: Optional[str] = None,
    **options: "Unpack[RunOptions]",
) -> ExecutionResult:
    """Runs a source file; the default language is that of its extension or #! line."""
    return Client().execute_file(path, language, **options)


def printable(text: str) -> str:
    """Returns a program's output without control sequences for a terminal."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found.group()):02x}", text)


__all__ = [
    "AsyncClient", "AsyncExecution", "AsyncSession", "AsyncStream", "BadAnswer", "BatchItem",
    "BrigError", "CannotConnect", "Change", "Client", "Connection", "ConnectionLost",
    "DeadlineExceeded", "Denial", "Event", "Execution", "ExecutionResult", "ExecutionState",
    "Finished", "InputFile", "NeedsService", "Output", "Page", "Problem", "Refusal", "ResultFile",
    "Risk", "RunEvent", "SandboxResult", "SecureSandbox", "Server", "Session", "SessionFile",
    "SessionState", "Stream", "UnsafePath", "Verdict",
    "execute_code", "execute_file", "new_key", "printable",
]
