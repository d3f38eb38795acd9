# SPDX-License-Identifier: Apache-2.0
"""A private service for the duration of a `with`."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from typing import Any, Optional, Sequence

from . import where
from .client import Client
from .errors import BrigError, CannotConnect


class Server:
    """`with Server() as client:` starts `brig serve` on a socket in a private directory, and ends
    it afterwards. For scripts and tests.
    """

    def __init__(self, options: Sequence[str] = (), program: Optional[str] = None,
                 seconds: float = 30, **client_options: Any):
        self._options = options
        self._program = where.find_program(program)
        self._seconds = seconds
        self._client_options = client_options
        self._place: Optional["tempfile.TemporaryDirectory[str]"] = None
        self._process: Optional["subprocess.Popen[bytes]"] = None
        self.url = ""

    def start(self) -> Client:
        # Short: the path of a unix socket has at most 107 bytes.
        self._place = tempfile.TemporaryDirectory(prefix="brig-own-", dir="/tmp")
        # As root a part of the service is another user, which needs access to it.
        os.chmod(self._place.name, 0o711)
        self.url = f"unix:{self._place.name}/socket"
        log = os.path.join(self._place.name, "log")
        with open(log, "wb") as file:
            self._process = subprocess.Popen(
                [self._program, "serve", "--listen", self.url, "--state",
                 os.path.join(self._place.name, "state"), *self._options],
                stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        try:
            return self._wait_ready(log)
        except BaseException:
            self.stop()
            raise

    def _wait_ready(self, log: str) -> Client:
        client = Client(self.url, **self._client_options)
        end = time.monotonic() + self._seconds
        while True:
            assert self._process
            try:
                client.health()
                return client
            except BrigError:
                if self._process.poll() is not None or time.monotonic() > end:
                    with open(log, errors="replace") as file:
                        said = file.read(4096)
                    raise CannotConnect(f"brig serve did not start: {said}") from None
            time.sleep(0.02)

    def stop(self) -> None:
        if self._process:
            self._process.terminate()
            try:
                self._process.wait(40)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._place:
            self._place.cleanup()
            self._place = None

    def __enter__(self) -> Client:
        return self.start()

    def __exit__(self, *ignored: object) -> None:
        self.stop()
