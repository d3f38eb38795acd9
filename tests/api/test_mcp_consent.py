# SPDX-License-Identifier: Apache-2.0
"""A person is asked through the client of MCP (elicitation) where a policy requires consent."""

import json
import subprocess

import pytest
from conftest import BRIG, Answer, Service, serve

LEGACY, MODERN = "2025-11-25", "2026-07-28"
META = "io.modelcontextprotocol/"
ASKS = {"extends": "default", "auto_run": "ask"}
POLICIES = {
    "asks": ASKS,
    "never": {"extends": "default", "auto_run": "never"},
    "careful": {"extends": "default", "auto_run": {"ask_from": 20, "refuse_from": 60}},
}
YES = {"action": "accept", "content": {"run": True}}
# Answers that do not count as consent.
NO = [{"action": "decline"}, {"action": "cancel"}, {"action": "accept", "content": {"run": False}},
      {"action": "accept"}, {"action": "accept", "content": {"run": "true"}}, {}, {"content": {"run": True}}]


class Stdio:
    """A client that answers questions as configured; `asked` are those that came."""

    def __init__(self, *options, can=True):
        self.process = subprocess.Popen([BRIG, "mcp", "--cold", *map(str, options)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.asked, self.number = [], 0
        self.ask("initialize", {"protocolVersion": LEGACY, "capabilities": {"elicitation": {}} if can else {},
                                "clientInfo": {"name": "test", "version": "1"}}, None)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params, answer):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            message = json.loads(self.process.stdout.readline())
            if message.get("method") == "elicitation/create":
                self.asked.append(message["params"])
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": answer})
            elif message.get("id") == self.number:
                return message["result"]

    def call(self, answer, tool="execute_code", **arguments):
        self.asked.clear()
        return self.ask("tools/call", {"name": tool, "arguments": arguments}, answer)

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(20) == 0


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    place = tmp_path_factory.mktemp("config")
    (place / "policies").mkdir()
    for name, text in POLICIES.items():
        (place / "policies" / f"{name}.json").write_text(json.dumps(text))
    return place


@pytest.fixture
def client(config, request):
    it = Stdio("--config", config, "--policy", request.param)
    yield it
    it.close()


def with_policy(name):
    return pytest.mark.parametrize("client", [name], indirect=True)


@with_policy("asks")
def test_a_person_agrees(client):
    result = client.call(YES, code="print(6 * 7)\n# \x1b[31m")
    assert result["structuredContent"]["stdout"] == "42\n", result
    question, = client.asked
    assert "policy asks" in question["message"] and "print(6 * 7)" in question["message"]
    assert "\x1b" not in question["message"]
    assert question["requestedSchema"]["properties"]["run"]["type"] == "boolean"
    # Consent is for one call.
    client.call(YES, code="print(2)")
    assert len(client.asked) == 1


@with_policy("asks")
def test_all_that_is_agreed_to_is_shown(client):
    """Files, arguments, standard input and hosts stand before the code, which cannot imitate them."""
    files = [{"path": f"{i}.txt", "content": "x"} for i in range(7)] + [{"path": "z", "content": ""}]
    files[1]["path"] = "a\n\", \"b\u202e" + "c" * 500
    client.call(NO[0], code="print(1)", files=files, args=["-v"], stdin="12345", network=["a.example", "b.example"])
    message = client.asked[0]["message"]
    before, _, _ = message.partition("print(1)")
    assert 'With 8 files ("0.txt", "a??, ?b?ccc' in before and '..."' in before, message
    assert '"4.txt" and 3 more)' in before and "5.txt" not in before
    assert '1 argument ("-v")' in before and "5 bytes of standard input" in before
    assert '2 hosts to connect to ("a.example", "b.example")' in before and len(before) < 600
    client.call(NO[0], code="print(1)")
    assert "With " not in client.asked[0]["message"]
    client.call(NO[0], "open_session", network=["a.example"], provider="na\u202etive")
    assert 'the provider "na?tive"' in client.asked[0]["message"]
    assert '1 host to connect to ("a.example")' in client.asked[0]["message"]
    # A name opens a session, and the answer holds for that.
    client.call(NO[0], code="print(1)", session_id="mine")
    assert "session mine is opened" in client.asked[0]["message"].partition("print(1)")[0]


@with_policy("asks")
def test_invisible_characters(client):
    """Controls, and what changes the order of the others or is not seen, are not shown."""
    hidden = [*range(0x7f, 0xa0), 0x61c, *range(0x200b, 0x2010), *range(0x2028, 0x202f), *range(0x2060, 0x2070),
              0xfeff, 0xe0041]
    plain = "\u00a0\u00e4\u2010\u202f\u4e2d\U0001f600"
    client.call(NO[0], code="print(1) # " + "".join(map(chr, hidden)) + plain, language="py\u202ethon\n")
    message = client.asked[0]["message"]
    assert not set(message) & set(map(chr, hidden)), message
    assert "?" * len(hidden) + plain in message and "Run this py?thon? program?" in message


@with_policy("asks")
@pytest.mark.parametrize("answer", NO)
def test_a_person_does_not(client, answer):
    result = client.call(answer, code="print(1)")
    assert result["isError"] and len(client.asked) == 1
    assert "did not agree" in result["content"][0]["text"], result


@with_policy("asks")
def test_sessions(client):
    opened = client.call(YES, "open_session")
    assert not opened.get("isError") and len(client.asked) == 1, opened
    session = opened["structuredContent"]["id"]
    result = client.call(YES, code="print(3)", session_id=session)
    assert result["structuredContent"]["stdout"] == "3\n" and not client.asked
    # By a name: it is opened when a person has agreed, and not before.
    assert client.call(NO[0], code="x = 4", session_id="mine")["isError"]
    assert not client.call(YES, code="x = 5", session_id="mine")["isError"] and len(client.asked) == 1
    result = client.call(YES, code="print(x)", session_id="mine")
    assert result["structuredContent"]["stdout"] == "5\n" and not client.asked


@with_policy("never")
def test_nobody_is_asked_in_vain(client):
    assert client.call(YES, code="print(1)")["isError"] and not client.asked


@with_policy("careful")
def test_risk(client):
    """Below the first threshold there is no question, above the second nobody can agree."""
    assert client.call(YES, code="print(1)")["structuredContent"]["stdout"] == "1\n" and not client.asked
    risky = "import os\nprint(os.getpid() > 0)"
    result = client.call(YES, code=risky)
    assert result["structuredContent"]["stdout"] == "True\n" and len(client.asked) == 1, result
    assert "risk is" in client.asked[0]["message"]
    assert client.call(NO[0], code=risky)["structuredContent"]["status"] == "rejected"
    worse = "import os, socket, subprocess, ctypes\nos.system('x')\nsubprocess.run('y')\neval('1')\nexec('2')"
    assert client.call(YES, code=worse)["structuredContent"]["status"] == "rejected" and not client.asked


def test_a_client_that_cannot_ask(config):
    client = Stdio("--config", config, "--policy", "asks", can=False)
    result = client.call(YES, code="print(1)")
    assert result["isError"] and "without a person's consent" in result["content"][0]["text"]
    client.close()


# --- by HTTP -------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def house():
    made = []

    def make(*options, **kept):
        made.append(serve.Server(*options, **kept))
        (made[-1].config / "policies").mkdir(mode=0o755)
        (made[-1].config / "policies" / "default.json").write_text(json.dumps(ASKS))
        return made[-1]

    yield Service(make, tokens=[("marked", "--consent"), ("plain",), ("twin", "--consent", "--tenant", "marked")])
    made[0].stop()
    made[0].close()


def modern(client, code, **more):
    meta = {META + "protocolVersion": MODERN, META + "clientCapabilities": {"elicitation": {}}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "execute_code", "arguments": {"code": code}, "_meta": meta, **more}}
    connection, response = client.open("POST", "/mcp", body, {
        "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "tools/call", "Mcp-Name": "execute_code"})
    answer = Answer(response, response.read())
    connection.close()
    return answer.json()


def test_by_http(house):
    marked = house.tcp("marked")
    first = modern(marked, "print(7)")["result"]
    assert first["resultType"] == "input_required", first
    assert "print(7)" in first["inputRequests"]["consent"]["params"]["message"]
    answers = {"inputResponses": {"consent": YES}, "requestState": first["requestState"]}
    done = modern(marked, "print(7)", **answers)["result"]
    assert done["structuredContent"]["stdout"] == "7\n", done
    # It does not count for other code, for another caller and without the question.
    assert modern(marked, "print(8)", **answers)["error"]["code"] == -32602
    assert modern(house.tcp("twin"), "print(7)", **answers)["error"]["code"] == -32602
    alone = modern(marked, "print(7)", inputResponses={"consent": YES})["result"]
    assert alone["isError"] and "did not agree" in alone["content"][0]["text"]


def test_a_caller_that_may_not(house):
    result = modern(house.tcp("plain"), "print(7)")["result"]
    assert result.get("resultType") != "input_required" and result["isError"], result
