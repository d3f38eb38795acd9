# SPDX-License-Identifier: Apache-2.0
"""Where brig is: an address, the default paths of a service, or the program itself."""

from __future__ import annotations

import ipaddress
import os
import shutil
import socket
import ssl
from dataclasses import dataclass
from typing import Iterator, Mapping, Optional
from urllib.parse import urlsplit

from .errors import BrigError, CannotConnect

START_ONE = "start one with brig serve, or set $BRIG_URL"


@dataclass(frozen=True)
class Place:
    """kind: unix (path), tcp (host, port, perhaps tls) or spawn (program)."""

    kind: str
    path: str = ""
    host: str = ""
    port: int = 0
    tls: Optional[ssl.SSLContext] = None

    @property
    def authority(self) -> str:
        """For the header Host."""
        if self.kind == "unix":
            return "localhost"
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"{name}:{self.port}"

    def __str__(self) -> str:
        if self.kind == "tcp":
            return f"{'https' if self.tls else 'http'}://{self.authority}"
        return f"{self.kind}:{self.path}"


def find_program(name: Optional[str] = None) -> str:
    wanted = name or os.environ.get("BRIG") or "brig"
    found = shutil.which(wanted)
    if not found:
        raise CannotConnect(f"program not found: {wanted}", "install brig, or set $BRIG")
    return os.path.abspath(found)


def usual_sockets(environment: Mapping[str, str], is_root: bool) -> Iterator[str]:
    """As the commands of brig do: the user's own service first, then the machine's."""
    if not is_root:
        for variable, rest in (
            ("XDG_RUNTIME_DIR", "brig/brig.sock"),
            ("XDG_STATE_HOME", "brig/brig.sock"),
            ("HOME", ".local/state/brig/brig.sock"),
        ):
            base = environment.get(variable, "")
            if base.startswith("/"):
                yield os.path.join(base, rest)
    yield "/run/brig/brig.sock"


def _answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(2)
        try:
            probe.connect(path)
        except OSError:
            return False
    return True


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _tls(ca: Optional[str]) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=ca)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _tcp(url: str, token: Optional[str], ca: Optional[str], clear: bool) -> Place:
    parts = urlsplit(url)
    if not parts.hostname or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise BrigError(f"{url} is not the address of a service", "https://HOST:PORT")
    if parts.username is not None or parts.password is not None:
        raise BrigError("an address must not contain a token", "pass token=, or set $BRIG_TOKEN")
    encrypted = parts.scheme == "https"
    if token and not encrypted and not clear and not _is_loopback(parts.hostname):
        raise BrigError(
            f"a token would be sent to {parts.hostname} in clear",
            "use https://, or pass allow_clear=True",
        )
    port = parts.port or (443 if encrypted else 80)
    return Place("tcp", host=parts.hostname, port=port, tls=_tls(ca) if encrypted else None)


def parse(url: str, token: Optional[str], ca: Optional[str], clear: bool) -> Place:
    scheme, _, rest = url.partition(":")
    if scheme == "unix" and rest:
        return Place("unix", path=rest)
    if scheme == "spawn":
        return Place("spawn", path=find_program(rest or None))
    if scheme in ("http", "https"):
        return _tcp(url, token, ca, clear)
    raise BrigError(
        f"{url!r} is not an address of brig", "unix:PATH, http://HOST:PORT, https://HOST:PORT or spawn:"
    )


def find(
    url: Optional[str], token: Optional[str], ca: Optional[str], clear: bool
) -> Place:
    """The given address; else $BRIG_URL, $BRIG_SOCKET, a service that answers, the program."""
    said = url or os.environ.get("BRIG_URL")
    if said:
        return parse(said, token, ca, clear)
    named = os.environ.get("BRIG_SOCKET")
    if named:
        return Place("unix", path=named[5:] if named.startswith("unix:") else named)
    tried = list(usual_sockets(os.environ, os.geteuid() == 0))
    for path in tried:
        if _answers(path):
            return Place("unix", path=path)
    try:
        return Place("spawn", path=find_program())
    except CannotConnect as error:
        raise CannotConnect(
            f"no service answers at {', '.join(tried)}, and {error.args[0]}", START_ONE
        ) from None
