# SPDX-License-Identifier: Apache-2.0
"""What all tenants share: the ledger's queue, its disk, the front's memory. One cannot use it up."""

import pytest

WORDS = ["\x07", "\u00e4" * 64, "x" * 65, "", "-x", "a/b", "a b", "\x7f"]


@pytest.mark.parametrize("word", WORDS, ids=ascii)
def test_a_language_that_is_no_name(alice, mallory, word):
    """It is the caller's own fault: nobody else hears that the ledger has no room."""
    tools = mallory.mcp()
    for tool, arguments in (
        ("execute_code", {"code": "1", "language": word}),
        ("create_session", {"language": word}),
        ("execute_code", {"code": "1", "language": word, "session_id": "fresh"}),
    ):
        wrong, text = tools.text(tool, **arguments)
        assert wrong and "ledger" not in text and "disk" not in text, text
        assert alice.run("print(6 * 7)")["stdout"] == "42\n"
    wrong, text = tools.text("execute_code", code="1", language=word)
    assert "language" in text and ("not a name" in text or "characters" in text)
