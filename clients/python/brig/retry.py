# SPDX-License-Identifier: Apache-2.0
"""When to retry, and how long to wait before."""

from __future__ import annotations

import random
from typing import Any, Optional

from .calls import Call
from .errors import BrigError, ConnectionLost, DeadlineExceeded, Problem

# Waiting does not help for these, or not within a reasonable time.
HOPELESS = ("host_unable", "quota_exceeded", "session_limit")


class Retries:
    """For one call: limits on the number of retries, and on the seconds in all."""

    def __init__(self, times: int, seconds: float) -> None:
        self._times = times
        self._left = seconds
        self._next = 0.1

    def pause(self, call: Call[Any], error: BrigError) -> Optional[float]:
        """Seconds to wait before a retry; None: do not retry."""
        if self._times <= 0 or not self._is_worth_it(call, error):
            return None
        wait = self._next
        if isinstance(error, Problem) and error.retry_after is not None:
            wait = error.retry_after
        # Clients that were refused together should not retry together.
        wait *= 1 + random.random() / 4
        if wait > self._left:
            return None
        self._times -= 1
        self._left -= wait
        self._next *= 2
        return wait

    @staticmethod
    def _is_worth_it(call: Call[Any], error: BrigError) -> bool:
        if isinstance(error, Problem):
            if error.code in HOPELESS:
                return False
            # 429 is sent before anything is started; 503 also for requests that may have run.
            return error.status == 429 or (error.status == 503 and call.safe)
        # The wait must not exceed the remaining time.
        return call.safe and isinstance(error, ConnectionLost) and not isinstance(
            error, DeadlineExceeded)
