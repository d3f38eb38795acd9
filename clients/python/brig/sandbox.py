# SPDX-License-Identifier: Apache-2.0
"""SecureSandbox: the smallest way to run a piece of Python."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional

from .client import Client
from .errors import BrigError
from .result import ExecutionResult

GRACE_MS = 500  # from SIGTERM to SIGKILL, when the time is up


class SandboxResult(Dict[str, Any]):
    """A dict of status ("success", "timeout" or "error"), output and error; also as attributes.
    `result` is brig's result, or None.
    """

    def __init__(self, status: str, output: str, error: Optional[str],
                 result: Optional[ExecutionResult] = None):
        super().__init__(status=status, output=output, error=error)
        self.result = result

    @property
    def status(self) -> str:
        return str(self["status"])

    @property
    def output(self) -> str:
        return str(self["output"])

    @property
    def error(self) -> Optional[str]:
        return None if self["error"] is None else str(self["error"])


class _ByClassOrObject:
    """SecureSandbox.execute(code) and SecureSandbox(client).execute(code) are the same."""

    def __init__(self, function: Callable[..., SandboxResult]):
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: Optional["SecureSandbox"], owner: type
                ) -> Callable[..., SandboxResult]:
        return self._function.__get__(owner() if instance is None else instance)  # type: ignore


class SecureSandbox:
    """Options are those of Client.execute(): policy, limits, ..."""

    def __init__(self, client: Optional[Client] = None, **options: Any):
        self._client = client
        self._options = options

    def _run(self, code: str, timeout: float) -> ExecutionResult:
        options = {"clamp": True, **self._options, "timeout": timeout}
        options["limits"] = {"grace_ms": GRACE_MS, **(options.get("limits") or {})}
        return (self._client or Client()).execute(code, **options)

    @_ByClassOrObject
    def execute(self, code: str, timeout: float = 5.0) -> SandboxResult:
        """Never raises because of the code, nor because it could not be run. The timeout is in
        seconds, and limited by the operator's ceiling.
        """
        try:
            result = self._run(code, timeout)
        except BrigError as error:
            return SandboxResult("error", "", str(error))
        if result.ok:
            return SandboxResult("success", result.stdout, None, result)
        status = "timeout" if result.status in ("timeout", "cpu_limit") else "error"
        said = [result.stderr.rstrip("\n")]
        if result.status != "failed" or not said[0]:
            said.append(result.why)
        return SandboxResult(status, result.stdout, "\n".join(filter(None, said)), result)
