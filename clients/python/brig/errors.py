# SPDX-License-Identifier: Apache-2.0
"""What can go wrong. A program that ran and failed is no error: it is a result."""

from __future__ import annotations

from typing import Any, Optional


class BrigError(Exception):
    """Everything that this package raises by itself."""

    remedy: Optional[str] = None

    def __init__(self, message: str, remedy: Optional[str] = None):
        super().__init__(message)
        self.remedy = remedy

    def __str__(self) -> str:
        text = str(self.args[0])
        return f"{text} ({self.remedy})" if self.remedy else text


class Problem(BrigError):
    """brig answered that it did not run, or did not do, what was asked.

    `code` is stable and meant for programs; `title`, `detail` and `remedy` are for people.
    `retry_after` has the seconds after which it makes sense to ask again, if brig said so.
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
    """Nobody answers there, or the program `brig` is not to be found. Nothing was asked."""


class ConnectionLost(BrigError):
    """The connection ended before the answer did. Whether it ran is not known."""


class DeadlineExceeded(ConnectionLost):
    """The answer did not come in the time that the client was given."""


class BadAnswer(BrigError):
    """The answer is not what brig says: too large, malformed, or of the wrong type."""


class NeedsService(BrigError):
    """Only a running service can do this; without one there is `execute` and `batch`."""


class UnsafePath(BrigError):
    """The name of a result's file leads, or could lead, out of the directory."""
