# SPDX-License-Identifier: Apache-2.0
"""The kinds of entries that the front writes are those that the ledger accepts from it."""

import os
import pathlib
import re

SOURCES = pathlib.Path(os.environ.get("BRIG_TREE", ".")) / "src"


def test_the_table_has_what_the_front_says():
    text = (SOURCES / "ledger/ledger_messages.c").read_text()
    table = set(re.findall(r'"([a-z.]+)"', re.search(r"front_kinds\[\] = \{(.*?)\};", text, re.S).group(1)))
    said = set()
    for file in (SOURCES / "front").glob("**/*.c"):
        for line in re.findall(r"(?:ledger_audit\(|->audit =|released\()[^;]*;", file.read_text()):
            said |= set(re.findall(r'"([a-z]+\.[a-z]+)"', line))
    assert {"auth.refused", "session.close", "tokens.changed", "queue.released"} <= said
    assert said <= table
