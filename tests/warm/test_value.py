# SPDX-License-Identifier: Apache-2.0
"""The value of a program's last expression: the same from a warm and from a cold cell."""

import json
import os
import subprocess

import pytest

BRIG = os.path.abspath(os.environ.get("BRIG", "build/brig"))

PROGRAMS = {
    "expression": ("6 * 7", 42),
    "last": ("x = [1, 2]\n{'a': x, 'b': None}", {"a": [1, 2], "b": None}),
    "result": ("result = (1, 2.5, 'x')\nprint('y')", [1, 2.5, "x"]),
    "statement": ("x = 3", None),
    "none": ("None", None),
    "no json": ("object()", None),
    "nan": ("float('nan')", None),
    "docstring": ("'text'", "text"),
    "failed": ("import sys\nsys.exit(1)\n5", None),
    "raised": ("1 / 0\n5", None),
    "printed": ("print(1)", None),
    "long": ("'x' * 70000", None),
    "forged": ("import os\nfor fd in (3, 255):\n try:\n  os.pwrite(fd, b'{\"f\": 1', 0)\n"
               " except OSError: pass\n", None),
}


def run(start, code, *more):
    words = [BRIG, "run", "--json", "--start", start, *more, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_value(name):
    code, value = PROGRAMS[name]
    cold, warm = run("cold", code, "--value"), run("warm", code, "--value")
    assert (cold["start"], warm["start"]) == ("cold", "warm")
    assert cold["value"] == warm["value"] == value
    for field in ("status", "exit_code", "stdout", "stderr"):
        assert cold[field] == warm[field]


@pytest.mark.parametrize("start", ["cold", "warm"])
def test_not_unless_asked(start):
    assert run(start, "5")["value"] is None
    assert run(start, "import os; print(sorted(os.listdir('/proc/self/fd'))[:3])")["stdout"] == \
        "['0', '1', '2']\n"


@pytest.mark.parametrize("start", ["cold", "warm"])
def test_what_is_no_json_is_shown(start):
    """As repr() returns it, cut where it is long; nothing where even that fails."""
    shown = run(start, "{1, 2}", "--value")
    assert shown["value"] is None and shown["value_repr"] == "{1, 2}"
    long = run(start, "['y' * 70000]", "--value")
    assert long["value"] is None and len(long["value_repr"]) == 4000
    assert long["value_repr"].endswith("y...")
    assert run(start, "{1, 'a\\n\\udc80'} - {1}", "--value")["value_repr"] == "{'a\\n\\udc80'}"
    broken = run(start, "class A:\n    def __repr__(self):\n        return 1 / 0\nA()", "--value")
    assert broken["status"] == "ok" and "value_repr" not in broken
    assert "value_repr" not in run(start, "[1]", "--value")
    assert "value_repr" not in run(start, "{1, 2}")
    guarded = run(start, "{1, 2}", "--value", "--guard", "strict")
    assert guarded["value"] is None and guarded["value_repr"] == "{1, 2}"
