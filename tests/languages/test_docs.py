# SPDX-License-Identifier: Apache-2.0
"""The commands in README.md and docs/usage.md print the output shown there: they are
run, in order."""

import os
import re
from pathlib import Path

import console
import pytest

BRIG = Path(os.environ.get("BRIG", "build/brig")).resolve()
TREE = Path(os.environ.get("BRIG_TREE", Path(__file__).parents[2]))
# Commands that need a directory of the host for themselves, or print measured times.
APART = ("http.server", "brig serve", "brig bench", "brig doctor", "execute python")
# Output that differs from host to host, and from one version of brig to the next.
FIGURES = [(r"\b[0-9a-f]{64}\b", "HASH"), (r"memory [\d.]+[KM]", "memory N"), (r"\b\d+\.\d+\.\d+\b", "VERSION"),
           (r"\b(line|steps?) \d+(, \d+)*", r"\1 N"), (r"cgroup[12]|systemd-scope", "GROUP"), (r"ABI \d+", "ABI N"),
           (r"(?m)^libx?32\n", ""), (r" +", " ")]


def plain(text):
    for pattern, word in FIGURES:
        text = re.sub(pattern, word, text)
    return text.rstrip("\n")


@pytest.mark.root
@pytest.mark.parametrize("name", ["README.md", "docs/usage.md"])
def test_pages_show_what_is_printed(name, tmp_path):
    shown = [command for block in console.commands(TREE / name) for command in block
             if not any(word in text for text, _ in block for word in APART)]
    assert len(shown) > 5
    seen = console.run([text for text, _ in shown], tmp_path, BRIG)
    wrong = [(text, plain("\n".join(lines)), plain(printed))
             for (text, lines), printed in zip(shown, seen)
             if plain("\n".join(lines)) != plain(printed)]
    assert not wrong
