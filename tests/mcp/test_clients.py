# SPDX-License-Identifier: Apache-2.0
"""The official clients of both versions, and the inspector, on stdio and on HTTP: against the
program of fixtures, which has all of the protocol, and against brig itself."""

import json
import pathlib
import shutil

import pytest
from conftest import BRIG

HERE = pathlib.Path(__file__).parent
TRANSPORTS = ("http", "stdio")
# The offered tools are those that data/tools describes.
TOOLS = {path.stem for path in (HERE.parent.parent / "data" / "tools").glob("*.json")
         if not json.loads(path.read_text()).get("hidden")}


def target(transport, url, program):
    return url if transport == "http" else program


def run_client(npm, where, name, *words):
    """A script of clients/, where node finds the packages."""
    shutil.copy(HERE / "clients" / name, where)
    (where / "node_modules").symlink_to(npm.modules)
    done = npm.run(where / name, *words, cwd=where, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_legacy_sdk(npm, url, program, tmp_path, transport):
    seen = run_client(npm, tmp_path, "legacy.mjs", target(transport, url, program))
    assert seen["server"] == "brig-fixtures" and seen["tools"] > 30
    assert seen["echo"]["arguments"] == {"text": "é\u0001\""}
    assert seen["logs"] == 3 and seen["changed"] == 1
    assert seen["updated"] == ["test://watched-resource"]
    # The client drops messages that arrive together with the answer.
    assert seen["progress"][:2] == [0, 50]
    assert seen["sampling"] == "LLM response: sampled"
    assert '"username":"u"' in seen["elicitation"]
    assert seen["bad"] == 'test_slow: argument "ms" must be an integer.'
    assert seen["unknown"] == -32602
    assert seen["abort"] == "cancelled" and seen["cancelled"] >= 1


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_modern_sdk(npm, url, program, tmp_path, transport):
    seen = run_client(npm, tmp_path, "modern.mjs", target(transport, url, program))
    assert seen["version"] == "2026-07-28"
    assert seen["echo"]["version"] == "2026-07-28"
    assert seen["progress"][:2] == [0, 50]
    assert seen["hello"] == "Hello, Ada!"
    assert seen["rounds"] == "All rounds done"
    assert seen["several"] == "All inputs received"
    assert "Zürich" in seen["header"]
    assert seen["unknown"] == -32602
    assert seen["abort"] == "cancelled" and seen["cancelled"] >= 1


def inspect(npm, where, *words):
    script = (npm.modules / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build"
              / "index.js")
    done = npm.run(script, "--cli", *words, cwd=where, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("era", ("legacy", "modern"))
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_inspector(npm, url, program, tmp_path, transport, era):
    echo = inspect(npm, tmp_path, str(target(transport, url, program)), "--transport", transport,
                   "--protocol-era", era, "--method", "tools/call", "--tool-name", "test_echo",
                   "--tool-args-json", '{"text":"hi"}')["structuredContent"]
    assert echo["arguments"] == {"text": "hi"}
    assert echo["version"] == {"legacy": "2025-11-25", "modern": "2026-07-28"}[era]


# --- brig itself ---------------------------------------------------------------------------------

@pytest.mark.parametrize("transport", TRANSPORTS)
def test_sdk_and_brig(npm, request, tmp_path, transport):
    words = (BRIG, "mcp") if transport == "stdio" else request.getfixturevalue("brig_service")
    seen = run_client(npm, tmp_path, "product.mjs", *words)
    assert seen["server"] == "brig" and set(seen["tools"]) == TOOLS
    assert seen["run"]["stdout"] == "42\n" and seen["run"]["exit_code"] == 0
    assert seen["state"] == "[1, 2]\n"
    assert seen["named"]["stdout"] == "42\n" and seen["named"]["session_id"] == "my-state_1"
    for name, words in (("guard", "socket"), ("failed", "exit status 3"), ("language", "nosuch"),
                        ("argument", 'argument "code" must be a string'),
                        ("nobody", "session not found"), ("unnamed", "1 to 64 letters"), ("closed", "gone")):
        assert seen[name]["error"] and words in seen[name]["text"], (name, seen[name])
    assert seen["unknown"] == -32602
    assert seen["after"] == "still here\n"


@pytest.mark.parametrize("era", ("legacy", "modern"))
def test_inspector_and_brig(npm, tmp_path, era):
    tools = inspect(npm, tmp_path, BRIG, "mcp", "--transport", "stdio", "--protocol-era", era,
                    "--method", "tools/list")["tools"]
    assert {tool["name"] for tool in tools} == TOOLS
    assert all(tool["description"] and tool["inputSchema"]["type"] == "object" for tool in tools)
