# SPDX-License-Identifier: Apache-2.0
"""Every command of docs/tutorials prints the output on the page, page by page, in one shell."""

import os
import shutil
from pathlib import Path

import console
import pytest

BRIG = Path(os.environ.get("BRIG", "build/brig")).resolve()
TREE = Path(os.environ.get("BRIG_TREE", Path(__file__).parents[2])).resolve()
PAGES = sorted((TREE / "docs/tutorials").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_shows_what_is_printed(page, tmp_path):
    # Pages name the packages for clients by their paths in the clone.
    shutil.copytree(TREE / "clients/python", tmp_path / "clients/python")
    shown = [command for block in console.commands(page) for command in block]
    seen = console.run([text for text, _ in shown], tmp_path, BRIG)
    wrong = [f"$ {text}\n" + "\n".join(lines) + f"\n--- printed:\n{printed}"
             for (text, lines), printed in zip(shown, seen) if not console.matches(lines, printed)]
    assert not wrong, "\n\n".join(wrong)


def test_there_are_five_pages():
    assert [page.stem for page in PAGES] == ["agent", "first-hour", "judge", "team-service", "write-a-policy"]


@pytest.mark.parametrize("lines, printed, same", [
    (["a", "b"], "a\nb\n", True),
    (["a"], "a\nb\n", False),
    (["a", "..."], "a\n", True),
    (["a", "...", "d"], "a\nb\nc\nd\n", True),
    (["a", "...", "d"], "a\nb\nc\n", False),
    (["took ... ms"], "took 12 ms\n", True),
    (["took ... ms"], "took 12\n", False),
    (["a ..."], "a\nb\n", False),
    ([], "", True),
    ([], "a\n", False),
    (["a"], "a", True),
], ids=str)
def test_what_matches(lines, printed, same):
    assert console.matches(lines, printed) == same
