# SPDX-License-Identifier: Apache-2.0
"""Every snippet of docs/clients.md runs, and prints the output on the page."""

import os
import re
import subprocess
import sys

import pytest
from conftest import BRIG, PACKAGE, TREE

PAGES = ("docs/clients.md", "clients/python/README.md", "clients/javascript/README.md")
FENCE = re.compile(r"^```(python|js)\n(.*?)^```\n(?:\n?```text\n(.*?)^```\n)?", re.M | re.S)


def snippets():
    for page in PAGES:
        for index, found in enumerate(FENCE.finditer((TREE / page).read_text())):
            yield pytest.param(*found.groups(), id=f"{page}-{index}")


@pytest.mark.parametrize("language, code, expected", list(snippets()))
def test_snippet(services, tmp_path, language, code, expected):
    modules = tmp_path / "node_modules"
    modules.mkdir()
    (modules / "brig").symlink_to(TREE / "clients" / "javascript")
    file = tmp_path / {"python": "snippet.py", "js": "snippet.mjs"}[language]
    file.write_text(code)
    env = dict(os.environ, PYTHONPATH=str(PACKAGE), BRIG=BRIG, HOME=str(tmp_path),
               BRIG_URL=services.doors["unix"]["url"])
    program = sys.executable if language == "python" else "node"
    done = subprocess.run([program, file.name], cwd=tmp_path, env=env, capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    if expected is not None:
        assert done.stdout == expected


def test_the_page_has_snippets():
    assert sum(1 for _ in snippets()) >= 15


def test_every_public_name_is_on_the_page():
    text = (TREE / "docs/clients.md").read_text()
    import brig

    for kind in (brig.Client, brig.Session, brig.Execution, brig.Stream):
        for name in vars(kind):
            if not name.startswith("_"):
                assert f"`{name}" in text or f".{name}(" in text, f"{kind.__name__}.{name}"
