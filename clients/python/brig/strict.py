# SPDX-License-Identifier: Apache-2.0
"""Reads responses: an invalid value raises BadAnswer at once, not an error later."""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Any, Dict, List, Optional

from .errors import BadAnswer

DIGITS_MAX = 4300
_WORD = re.compile(r"[A-Za-z0-9_.+-]{1,64}")


def _integer(text: str) -> Any:
    # Longer ones take quadratic time to convert; they stay text.
    return int(text) if len(text) <= DIGITS_MAX else text


def _constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def parse(data: bytes) -> Any:
    """Parses untrusted JSON."""
    try:
        return json.loads(data.decode("utf-8"), parse_int=_integer, parse_constant=_constant)
    except RecursionError:
        raise BadAnswer("the response is nested too deep") from None
    except ValueError as error:
        raise BadAnswer(f"the response is not JSON: {error}") from None


def clean(text: str) -> str:
    """Half a surrogate cannot be encoded, and would cause errors wherever the text is used."""
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()


def _wrong(where: str, what: str, value: Any) -> BadAnswer:
    return BadAnswer(f"invalid response: {where} should be {what}, not {type(value).__name__}")


def an_object(value: Any, where: str) -> Dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(where, "an object", value)
    return value


def a_list(value: Any, where: str) -> List[Any]:
    if not isinstance(value, list):
        raise _wrong(where, "a list", value)
    return value


def text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise _wrong(where, "a text", value)
    return clean(value)


def maybe_text(value: Any, where: str) -> Optional[str]:
    return None if value is None else text(value, where)


def word(value: Any, where: str) -> str:
    """An id, a status, a code: text that is allowed in a path or a message."""
    if not isinstance(value, str) or not _WORD.fullmatch(value) or value in (".", ".."):
        raise _wrong(where, "a word", value)
    return value


def boolean(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(where, "true or false", value)
    return value


def number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _wrong(where, "a number", value)
    return value


def maybe_number(value: Any, where: str) -> Optional[float]:
    return None if value is None else number(value, where)


def integer(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(where, "an integer", value)
    return value


def maybe_integer(value: Any, where: str) -> Optional[int]:
    return None if value is None else integer(value, where)


def data(value: Any, where: str) -> bytes:
    """Base64."""
    try:
        return base64.b64decode(text(value, where), validate=True)
    except (binascii.Error, ValueError):
        raise BadAnswer(f"invalid response: {where} is not base64") from None
