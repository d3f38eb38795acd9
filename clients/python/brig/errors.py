# SPDX-License-Identifier: Apache-2.0
"""The exceptions. A program that ran and failed is not an error: it gives a result."""

from __future__ import annotations

from typing import Any, Optional


class BrigError(Exception):
    """The base class of all exceptions of this package."""

    remedy: Optional[str] = None

    def __init__(self, message: str, remedy: Optional[str] = None):
        super().__init__(message)
        self.remedy = remedy

    def __str__(self) -> str:
        text = str(self.args[0])
        return f"{text} ({self.remedy})" if self.remedy else text


class Problem(BrigError):
    """brig refused the request, or could not run it.

    `code` is stable and meant for programs; `title`, `detail` and `remedy` are for people.
    `retry_after` has the seconds after which a retry makes sense, if brig sent them.
    """

    def __init__(
        self,
        code: str,
        title: str,
        detail: str = "",
        remedy: Optional[str] = None,
        status: int = 0,
        retry_after: Optional[float] = None,
        location: Optional[str] = None,
    ):
        super().__init__(f"{code}: {detail or title}", remedy)
        self.code = code
        self.title = title
        self.detail = detail
        self.status = status
        self.retry_after = retry_after
        self.location = location

    def __reduce__(self) -> Any:
        return (
            type(self),
            (self.code, self.title, self.detail, self.remedy, self.status, self.retry_after,
             self.location),
        )


class CannotConnect(BrigError):
    """No service answers, or the program `brig` was not found. Nothing was sent."""


class ConnectionLost(BrigError):
    """The connection ended before the response was complete. Whether the code ran is not known."""


class DeadlineExceeded(ConnectionLost):
    """The response did not arrive within the client's deadline."""


class BadAnswer(BrigError):
    """The response is invalid: too large, malformed, or of the wrong type."""


class NeedsService(BrigError):
    """Only a running service can do this; without one there are `execute` and `batch`."""


class UnsafePath(BrigError):
    """The name of a result's file leads, or could lead, out of the directory."""
