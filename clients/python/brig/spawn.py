# SPDX-License-Identifier: Apache-2.0
"""Without a service: one process of `brig run --json` for each run."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from . import strict
from .errors import BadAnswer, CannotConnect, DeadlineExceeded, NeedsService, Problem
from .events import BatchItem
from .request import input_files, milliseconds, mount_fields
from .result import ExecutionResult


def _as_time(value_ms: float) -> str:
    return f"{value_ms:.6f}ms"


def _as_number(value: float) -> str:
    return f"{value:.0f}"


def _as_cores(millicores: float) -> str:
    return f"{millicores / 1000:.3f}"


# Each limit on the command line, and how its value is written.
LIMITS = {
    # generated: python_limits
    "wall_ms": ("--timeout", _as_time),
    "cpu_ms": ("--cpu-time", _as_time),
    "cpu_millicores": ("--cpu", _as_cores),
    "memory_bytes": ("--memory", _as_number),
    "processes": ("--processes", _as_number),
    "disk_bytes": ("--disk", _as_number),
    "disk_inodes": ("--inodes", _as_number),
    "open_files": ("--open-files", _as_number),
    "file_bytes": ("--file-size", _as_number),
    "stdout_bytes": ("--stdout", _as_number),
    "stderr_bytes": ("--stderr", _as_number),
    "net_bytes": ("--net-bytes", _as_number),
    "grace_ms": ("--grace", _as_time),
    "instructions": ("--instructions", _as_number),
    # generated: end
}
GRACE = 15  # seconds
# The error codes of the command line, and those of the service.
CODES = {
    "input": "invalid_request",
    "policy": "policy_forbids",
    "runtime": "unsupported_language",
    "host": "host_unable",
    "consent": "consent_required",
    "system": "internal",
}
# Variables that brig itself uses: passed by value, not by its environment.
_OWN = re.compile(r"PATH|HOME|LANG|TZ|TMPDIR|(LD|LC|XDG|BRIG|MALLOC|GLIBC|ASAN|UBSAN)_.*")


@dataclass
class Command:
    words: List[str]
    env: Dict[str, str]
    stdin: bytes


def needs_service(what: str) -> NeedsService:
    return NeedsService(f"{what} needs a service, and there is none", "start one with brig serve")


def _limit_words(limits: Mapping[str, float]) -> Iterator[str]:
    for name, value in limits.items():
        if name not in LIMITS:
            raise needs_service(f"the limit {name}")
        option, written = LIMITS[name]
        yield from (option, written(max(0, value)))


def _env_words(variables: Mapping[str, str]) -> Tuple[List[str], Dict[str, str]]:
    """Every user of the host can read a command line, but not an environment."""
    words: List[str] = []
    given = dict(os.environ)
    for name, value in variables.items():
        if _OWN.fullmatch(name):
            words += ["--env", f"{name}={value}"]
        else:
            words += ["--env", name]
            given[name] = value
    return words, given


def _write(directory: Path, name: str, content: Any, executable: bool = False) -> str:
    path = directory / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(0o700 if executable else 0o600)
    return str(path)


@contextlib.contextmanager
def prepare(program: str, code: str, language: Optional[str], file: Optional[str] = None,
            **options: Any) -> Iterator[Command]:
    """The command line of a run, and its files, as long as they are needed."""
    more = options.pop("more", None)
    if more or options.pop("session", None):
        raise needs_service("this field" if more else "a session")
    words = [program, "run", "--json"]
    with tempfile.TemporaryDirectory(prefix="brig-client-") as made:
        place = Path(made)
        if language:
            words += ["--lang", language]
        if options.pop("want_value", True):
            words.append("--value")
        for name, word in (("changes", "--changes"), ("clamp", "--clamp"), ("consent", "--yes")):
            if options.pop(name, False):
                words.append(word)
        for item in mount_fields(options.pop("mounts", None) or ()):
            name = f"{item['as']}={item['name']}" if item.get("as") else item["name"]
            words += ["--rw" if item.get("writable") else "--ro", name]
        limits = dict(options.pop("limits", None) or {})
        timeout = options.pop("timeout", None)
        if timeout is not None:
            limits["wall_ms"] = milliseconds("timeout", timeout)
        words += _limit_words(limits)
        for name in ("policy", "provider", "venv", "guard", "start"):
            value = options.pop(name, None)
            if value is not None:
                words += [f"--{name}", value]
        network = options.pop("network", None)
        if isinstance(network, str):
            raise TypeError("network is a list of hosts")
        if network is not None and not network:
            raise needs_service("an empty list of hosts")
        for host in network or ():
            words += ["--net", host]
        for glob in options.pop("out", None) or ():
            words += ["--out", glob]
        for index, item in enumerate(input_files(options.pop("files", None) or {})):
            if "=" in item.path:
                raise ValueError(f"{item.path!r}: a command line cannot name such a file")
            path = _write(place, f"in-{index}", item.content, item.executable)
            words += ["--in", f"{item.path}={path}"]
        env_words, env = _env_words(options.pop("env", None) or {})
        stdin = options.pop("stdin", None) or b""
        args = options.pop("args", None)
        if options:
            raise TypeError(f"unknown option {', '.join(sorted(options))}")
        words += [*env_words, file or _write(place, "code", code)]
        if args:
            words += ["--", *args]
        yield Command(words, env, stdin.encode() if isinstance(stdin, str) else stdin)


def read(output: bytes, status: int) -> ExecutionResult:
    """Reads the output of brig: a result, or why there is none."""
    if not output.strip():
        raise BadAnswer(f"brig ended with status {status} and no result")
    raw = strict.an_object(strict.parse(output), "result")
    if "error" not in raw:
        return ExecutionResult.from_json(raw)
    error = strict.an_object(raw["error"], "error")
    message = strict.text(error.get("message"), "error.message")
    code = strict.word(error.get("code"), "error.code")
    remedy = strict.maybe_text(error.get("remedy"), "error.remedy")
    raise Problem(CODES.get(code, code), message, message, remedy or None)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """brig ends its cell on SIGTERM; any other program must be killed as well."""
    process.terminate()
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _feed(process: "subprocess.Popen[bytes]", data: bytes) -> None:
    with contextlib.suppress(OSError, ValueError):
        assert process.stdin is not None
        process.stdin.write(data)
    with contextlib.suppress(OSError, ValueError):
        assert process.stdin is not None
        process.stdin.close()


def run(program: str, code: str, language: Optional[str], *, most: int, deadline: float,
        **options: Any) -> ExecutionResult:
    with prepare(program, code, language, **options) as command:
        output, status = _collect(command.words, command.env, command.stdin, most, deadline)
    return read(output, status)


def _collect(words: List[str], env: Mapping[str, str], stdin: bytes, most: int, deadline: float
             ) -> Tuple[bytes, int]:
    try:
        process = subprocess.Popen(words, env=dict(env), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError as error:
        raise CannotConnect(f"{words[0]} cannot be started: {error.strerror}") from None
    late = threading.Event()

    def end() -> None:
        late.set()
        _end(process)

    timer = threading.Timer(deadline, end)
    feeder = threading.Thread(target=_feed, args=(process, stdin), daemon=True)
    try:
        timer.start()
        feeder.start()
        assert process.stdout is not None
        output = process.stdout.read(most + 1)
        if len(output) > most:
            raise BadAnswer("the response is too large", "raise max_bytes of the client")
        status = process.wait()
    finally:
        timer.cancel()
        _end(process)
        feeder.join(GRACE)
        if process.stdout:
            process.stdout.close()
    if late.is_set():
        raise DeadlineExceeded(f"brig did not end within {deadline:g} s")
    return output, status


def listing(program: str, command: str, name: str) -> List[Dict[str, Any]]:
    """`brig runtimes` and `brig policy`."""
    output, status = _collect([program, command, "--json"], os.environ, b"", 16 << 20, 60)
    try:
        found = strict.an_object(json.loads(output), command).get(name)
    except ValueError:
        raise BadAnswer(f"brig {command} ended with status {status}") from None
    return [strict.an_object(item, name) for item in strict.a_list(found, name)]


def pairs(programs: Sequence[Mapping[str, Any]],
          inputs: Optional[Sequence[Mapping[str, Any]]]
          ) -> List[Tuple[int, int, Dict[str, Any]]]:
    return [(p, i, {**program, **given}) for p, program in enumerate(programs)
            for i, given in enumerate(inputs or [{}])]


def item(program: int, given: int, done: Any) -> BatchItem:
    try:
        return BatchItem(program, given, done.result(), None)
    except Problem as error:
        return BatchItem(program, given, None, error)
