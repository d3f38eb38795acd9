# SPDX-License-Identifier: Apache-2.0
"""Settings of both clients: where brig is, time limits and retries."""

from __future__ import annotations

import os
from typing import Any, Optional

from . import spawn, where
from .calls import Call
from .http import encode_request
from .retry import Retries

MAX_BYTES = 256 << 20


class Way:
    def __init__(self, url: Optional[str] = None, *, token: Optional[str] = None,
                 ca: Optional[str] = None, deadline: float = 600, max_bytes: int = MAX_BYTES,
                 retries: int = 4, retry_seconds: float = 30, allow_clear: bool = False):
        self._token = token or os.environ.get("BRIG_TOKEN")
        self.place = where.find(url, self._token, ca or os.environ.get("BRIG_CA"), allow_clear)
        self.deadline = deadline
        self.max_bytes = max_bytes
        self._retry = (retries, retry_seconds)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.place)!r})"

    def _retries(self) -> Retries:
        return Retries(*self._retry)

    def _encode(self, call: Call[Any]) -> bytes:
        """The request as it is sent; raises if there is no service."""
        if self.place.kind == "spawn":
            raise spawn.needs_service(f"{call.method} {call.path.split('?')[0]}")
        headers = dict(call.headers)
        if self._token and self.place.kind == "tcp":
            headers["Authorization"] = f"Bearer {self._token}"
        return encode_request(call.method, call.path, self.place.authority, headers, call.body)
