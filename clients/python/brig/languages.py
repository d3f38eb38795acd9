# SPDX-License-Identifier: Apache-2.0
"""The language of a source file, by the data of the runtimes."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List

from .errors import BrigError


def _names(runtime: Dict[str, Any], key: str) -> List[str]:
    found = runtime.get(key)
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def language_of(path: str, code: str, runtimes: List[Dict[str, Any]]) -> str:
    ending = os.path.splitext(path)[1][1:]
    first = code.split("\n", 1)[0]
    program = ""
    if first.startswith("#!"):
        words = [os.path.basename(word) for word in first[2:].split()]
        words = [word for word in words if word not in ("env", "-S")]
        program = re.sub(r"[0-9.]+$", "", words[0]) if words else ""
    for wanted, keys in ((ending, ("extensions",)), (program, ("name", "aliases"))):
        for runtime in runtimes:
            name = runtime.get("name")
            known = [item for key in keys for item in _names(runtime, key)]
            if "name" in keys and isinstance(name, str):
                known.append(name)
            if wanted and wanted in known and isinstance(name, str):
                return name
    raise BrigError(f"the language of {path} is unknown", "pass language=")
