# SPDX-License-Identifier: Apache-2.0
"""Writes a result's files below a directory, safe against hostile names and concurrent changes."""

from __future__ import annotations

import os
import secrets
from typing import Iterable, List, Tuple, Union

from .errors import UnsafePath

DEPTH_MAX = 64


def parts_of(path: str) -> List[str]:
    """The parts of the path; UnsafePath if one of them is invalid."""
    parts = path.split("/")
    if "\0" in path or len(parts) > DEPTH_MAX or any(part in ("", ".", "..") for part in parts):
        raise UnsafePath(f"the file name {path!r} is not a relative path below a directory")
    return parts


def _enter(parent: int, name: str, path: str) -> int:
    try:
        os.mkdir(name, dir_fd=parent)
    except FileExistsError:
        pass
    try:
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    except OSError as error:
        raise UnsafePath(f"{path!r}: {name!r} exists and is not a directory: {error.strerror}")


def _write(parent: int, name: str, content: bytes, mode: int) -> None:
    # O_EXCL follows no link, and never opens a file that another process has made.
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=parent)
    with open(fd, "wb") as file:
        file.write(content)


def _replace(parent: int, name: str, content: bytes, mode: int) -> None:
    own = f".brig-{secrets.token_hex(8)}"
    try:
        _write(parent, own, content, mode)
        os.replace(own, name, src_dir_fd=parent, dst_dir_fd=parent)
    except OSError:
        try:
            os.unlink(own, dir_fd=parent)
        except FileNotFoundError:
            pass
        raise


def _save(root: int, path: str, content: bytes, mode: int, overwrite: bool) -> None:
    *directories, name = parts_of(path)
    at = os.dup(root)
    try:
        for directory in directories:
            below = _enter(at, directory, path)
            os.close(at)
            at = below
        if overwrite:
            _replace(at, name, content, mode)
            return
        try:
            _write(at, name, content, mode)
        except FileExistsError:
            raise UnsafePath(f"{path!r} exists already", "pass overwrite=True") from None
    finally:
        os.close(at)


def save_all(
    directory: Union[str, "os.PathLike[str]"],
    files: Iterable[Tuple[str, bytes, bool]],
    overwrite: bool,
) -> List[str]:
    entries = list(files)
    for path, _, _ in entries:
        parts_of(path)
    os.makedirs(directory, exist_ok=True)
    root = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for path, content, executable in entries:
            _save(root, path, content, 0o777 if executable else 0o666, overwrite)
    finally:
        os.close(root)
    return [os.path.join(os.fspath(directory), path) for path, _, _ in entries]
