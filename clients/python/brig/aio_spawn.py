# SPDX-License-Identifier: Apache-2.0
"""`brig run --json` from asyncio."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, List, Optional

from .errors import BadAnswer, CannotConnect, DeadlineExceeded
from .result import ExecutionResult
from .spawn import GRACE, prepare, read


async def _feed(writer: asyncio.StreamWriter, data: bytes) -> None:
    with contextlib.suppress(OSError):
        writer.write(data)
        await writer.drain()
    writer.close()


async def _read_all(reader: asyncio.StreamReader, most: int) -> bytes:
    parts: List[bytes] = []
    size = 0
    while True:
        part = await reader.read(64 << 10)
        if not part:
            return b"".join(parts)
        size += len(part)
        if size > most:
            raise BadAnswer("the response is too large", "raise max_bytes of the client")
        parts.append(part)


async def _drain(process: asyncio.subprocess.Process) -> None:
    # asyncio does not see the end of a process whose output is not read.
    assert process.stdout
    while await process.stdout.read(64 << 10):
        pass
    await process.wait()


async def _end(process: asyncio.subprocess.Process) -> None:
    """brig ends its cell on SIGTERM; any other program must be killed as well."""
    for end in (process.terminate, process.kill):
        with contextlib.suppress(ProcessLookupError):
            end()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(_drain(process), GRACE)
            return


async def run(program: str, code: str, language: Optional[str], *, most: int, deadline: float,
              **options: Any) -> ExecutionResult:
    with prepare(program, code, language, **options) as command:
        try:
            process = await asyncio.create_subprocess_exec(
                *command.words, env=command.env, stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL)
        except OSError as error:
            raise CannotConnect(f"{program} cannot be started: {error.strerror}") from None
        assert process.stdin and process.stdout
        feeder = asyncio.ensure_future(_feed(process.stdin, command.stdin))
        try:
            output = await asyncio.wait_for(_read_all(process.stdout, most), deadline)
            status = await process.wait()
        except asyncio.TimeoutError:
            raise DeadlineExceeded(f"brig did not end within {deadline:g} s") from None
        finally:
            feeder.cancel()
            await asyncio.gather(feeder, return_exceptions=True)
            await _end(process)
    return read(output, status)
