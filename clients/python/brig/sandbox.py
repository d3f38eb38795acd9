# SPDX-License-Identifier: Apache-2.0
"""SecureSandbox: the smallest way to run a piece of Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

from .client import Client
from .errors import BrigError
from .result import ExecutionResult


@dataclass(frozen=True)
class SandboxResult:
    """status is "success", "timeout" or "error"; also had by result["status"]."""

    status: str
    output: str
    error: Optional[str]
    result: Optional[ExecutionResult] = None

    def __getitem__(self, name: str) -> Any:
        if name not in ("status", "output", "error"):
            raise KeyError(name)
        return getattr(self, name)


class SecureSandbox:
    """Options are those of Client.execute(): policy, limits, ..."""

    def __init__(self, client: Optional[Client] = None, **options: Any):
        self._client = client or Client()
        self._options = options

    def execute(self, code: str, timeout: float = 5.0) -> SandboxResult:
        """Never raises for what the code does, nor because it could not be run."""
        try:
            result = self._client.execute(code, **{**self._options, "timeout": timeout})
        except BrigError as error:
            return SandboxResult("error", "", str(error))
        if result.ok:
            return SandboxResult("success", result.stdout, None, result)
        status = "timeout" if result.status in ("timeout", "cpu_limit") else "error"
        said = [result.stderr.rstrip("\n")]
        if result.status != "failed" or not said[0]:
            said.append(result.why)
        return SandboxResult(status, result.stdout, "\n".join(filter(None, said)), result)
