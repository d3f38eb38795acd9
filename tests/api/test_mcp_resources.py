# SPDX-License-Identifier: Apache-2.0
"""Resources and prompts of MCP: long outputs, files of executions and of sessions."""

import base64
import json
import urllib.parse

import pytest
from conftest import Service, serve
from test_mcp import Peer

LONG = "print('line\\n' * 8000)"
FILES = "import os\nos.makedirs('out/a b')\nopen('out/a b/\u00fc.txt', 'w').write('text \u00fc')\n" \
        "open('out/blob', 'wb').write(bytes(range(256)))\nprint(1)"


@pytest.fixture(scope="module")
def house():
    made = []

    def make(*options, **kept):
        made.append(serve.Server(*options, **kept))
        return made[-1]

    yield Service(make, tokens=[("one",), ("two",)])
    made[0].stop()
    made[0].close()


def ask(peer, method, **params):
    return peer.post(method, params).json()


def read(peer, uri):
    answer = ask(peer, "resources/read", uri=uri)
    return answer["result"]["contents"][0] if "result" in answer else answer["error"]


def run(peer, code, **more):
    result = peer.call("execute_code", code=code, **more)
    assert not result["isError"], result
    return result["structuredContent"]["execution_id"]


def test_long_output(house):
    peer = Peer(house.tcp("one"))
    run_id = run(peer, LONG)
    uri = f"brig://execution/{run_id}/stdout"
    listed = {it["uri"]: it for it in ask(peer, "resources/list")["result"]["resources"]}
    assert listed[uri]["size"] == 40001
    content = read(peer, uri)
    assert (content["uri"], content["mimeType"], content["text"]) == (uri, "text/plain", "line\n" * 8000 + "\n")
    assert read(peer, f"brig://execution/{run_id}/stderr")["text"] == ""


def test_files(house):
    peer = Peer(house.tcp("one"))
    run_id = run(peer, FILES)
    names = {it["name"]: it["uri"] for it in ask(peer, "resources/list")["result"]["resources"] if run_id in it["uri"]}
    assert read(peer, names["out/a b/\u00fc.txt"])["text"] == "text \u00fc"
    assert base64.b64decode(read(peer, names["out/blob"])["blob"]) == bytes(range(256))


def test_files_of_sessions(house):
    peer = Peer(house.tcp("one"))
    session = peer.call("open_session")["structuredContent"]["id"]
    peer.call("write_file", session_id=session, path="a b.txt", content="kept")
    for name in ("a b.txt", "a%20b.txt"):
        assert read(peer, f"brig://session/{session}/file/{name}")["text"] == "kept"
    run(peer, "1", session_id="mine")
    peer.call("write_file", session_id="mine", path="stdout", content="a file")
    assert read(peer, "brig://session/mine/file/stdout")["text"] == "a file"
    peer.call("write_file", session_id="mine", path="x", content="by name")
    assert read(peer, "brig://session/mine/file/x")["text"] == "by name"
    other = Peer(house.tcp("two"))
    assert read(other, f"brig://session/{session}/file/a%20b.txt")["code"] == -32002
    peer.call("close_session", session_id=session)
    assert read(peer, f"brig://session/{session}/file/a%20b.txt")["code"] == -32002


def test_others_have_none_of_it(house):
    one, two = Peer(house.tcp("one")), Peer(house.tcp("two"))
    uri = f"brig://execution/{run(one, LONG)}/stdout"
    assert read(two, uri)["code"] == -32002
    assert uri not in json.dumps(ask(two, "resources/list"))


def test_too_long(house):
    peer = Peer(house.tcp("one"))
    run_id = run(peer, "print('x' * 300000)")
    error = read(peer, f"brig://execution/{run_id}/stdout")
    assert error["code"] == -32602 and "read_output" in error["message"]


@pytest.mark.parametrize("uri", [
    "brig://", "brig://execution", "brig://execution/", "brig://execution/x", "brig://execution//stdout",
    "brig://execution/x/stdin", "brig://execution/x/file/", "brig://session/x", "brig://session/x/stdout",
    "brig://session/x/file/%", "brig://session/x/file/%0", "brig://session/x/file/%zz", "brig://session/x/file/%00",
    "brig://session/" + "x" * 65 + "/file/a", "brig://session/x/file/" + "a" * 3000, "file:///etc/passwd",
    "brig://session/x/file/../../etc/passwd", "brig://session/../x/file/a", "BRIG://execution/x/stdout",
    "brig://execution/x/stdout/", "brig://execution/x/stdout?a", "x",
])
def test_none(house, uri):
    error = read(Peer(house.tcp("one")), uri)
    assert error["code"] in (-32002, -32602), error


def test_paths_do_not_leave_the_session(house):
    peer = Peer(house.tcp("one"))
    session = peer.call("open_session")["structuredContent"]["id"]
    for path in ("../../etc/passwd", "/etc/passwd", "..%2f..%2fetc%2fpasswd", "%2fetc%2fpasswd"):
        assert read(peer, f"brig://session/{session}/file/{path}")["code"] == -32002
    peer.call("close_session", session_id=session)


def test_templates(house):
    found = ask(Peer(house.tcp("one")), "resources/templates/list")["result"]["resourceTemplates"]
    assert {urllib.parse.urlsplit(it["uriTemplate"]).netloc for it in found} == {"execution", "session"}


def test_prompts(house):
    peer = Peer(house.tcp("one"))
    assert {it["name"] for it in ask(peer, "prompts/list")["result"]["prompts"]} == {"solve_with_code", "repair_code"}
    got = ask(peer, "prompts/get", name="solve_with_code", arguments={"task": "how many %s days\n"})["result"]
    assert "how many %s days\n" in got["messages"][0]["content"]["text"]
    got = ask(peer, "prompts/get", name="repair_code", arguments={"code": "1/0", "language": "Lua"})["result"]
    assert "1/0" in got["messages"][0]["content"]["text"] and "Lua" in got["messages"][0]["content"]["text"]
    assert ask(peer, "prompts/get", name="repair_code", arguments={})["error"]["code"] == -32602
