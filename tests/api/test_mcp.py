# SPDX-License-Identifier: Apache-2.0
"""/mcp goes through the same doors: who may, whose turn, and what is recorded."""

import base64
import itertools
import json
import threading
import time

from conftest import Answer, serve

VERSION = "2025-06-18"
PAGE = 16384  # of a stream, what an answer shows
DRAWS = """
import os, struct, zlib

def chunk(name, data):
    return struct.pack('>I', len(data)) + name + data + struct.pack('>I', zlib.crc32(name + data))

png = (b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 2, 2, 8, 0, 0, 0, 0))
       + chunk(b'IDAT', zlib.compress(b'\\0\\0\\xff\\0\\xff\\0')) + chunk(b'IEND', b''))
os.makedirs('out', exist_ok=True)
open('out/dots.png', 'wb').write(png)
open('out/no.png', 'wb').write(b'no image, whatever its name')
print(png.hex())
"""


class Peer:
    def __init__(self, client):
        self.client = client
        self.ids = itertools.count(1)
        self.headers = {"Accept": "application/json, text/event-stream",
                        "MCP-Protocol-Version": VERSION}
        answer = self.post("initialize", {"protocolVersion": VERSION, "capabilities": {},
                                          "clientInfo": {"name": "test", "version": "1"}})
        self.headers["Mcp-Session-Id"] = answer.header("Mcp-Session-Id")

    def post(self, method, params):
        connection, response = self.client.open(
            "POST", "/mcp", {"jsonrpc": "2.0", "id": next(self.ids), "method": method, "params": params},
            self.headers,
        )
        answer = Answer(response, response.read())
        connection.close()
        assert answer.status == 200, answer.body
        return answer

    def messages(self, tool, arguments, **more):
        """All that comes for a call; the last one is its answer."""
        answer = self.post("tools/call", {"name": tool, "arguments": arguments, **more})
        if answer.header("Content-Type").startswith("text/event-stream"):
            data = [line[6:] for line in answer.body.decode().splitlines() if line.startswith("data: ")]
            return [json.loads(text) for text in data if text]
        return [answer.json()]

    def call(self, tool, **arguments):
        return self.messages(tool, arguments)[-1]["result"]


def test_a_run_is_recorded(alice, bob):
    result = Peer(alice).call("execute_code", code="print(6 * 7)")
    assert "42" in result["content"][0]["text"] and not result["isError"]
    mine = result["structuredContent"]["execution_id"]
    assert alice.ask("GET", f"/v1/executions/{mine}").json()["status"] == "ok"
    assert bob.ask("GET", f"/v1/executions/{mine}").status == 404


def test_sessions_are_the_tenants(alice, bob):
    peer = Peer(alice)
    opened = peer.call("open_session")["structuredContent"]
    session = opened.get("session_id") or opened.get("id")
    peer.call("execute_code", code="x = 5", session_id=session)
    assert alice.run(code="print(x)", session=session)["stdout"] == "5\n"
    assert Peer(bob).call("execute_code", code="print(x)", session_id=session)["isError"]


def test_fork(alice, bob):
    peer = Peer(alice)
    session = peer.call("open_session", guard="imports")["structuredContent"]["id"]
    peer.call("execute_code", code="x = [5]", session_id=session)
    peer.call("write_file", session_id=session, path="f", content="text")
    made = peer.call("fork_session", session_id=session)
    assert not made.get("isError"), made
    made = made["structuredContent"]
    assert made["forked_from"] == session and "x" in made["carried"]
    peer.call("execute_code", code="x.append(6)", session_id=made["id"])
    assert alice.run(code="print(x)", session=made["id"])["stdout"] == "[5, 6]\n"
    assert alice.run(code="print(x, open('f').read())", session=session)["stdout"] == "[5] text\n"
    # As guarded as the one that it was made of.
    refused = peer.call("execute_code", code="import socket", session_id=made["id"])
    assert refused["isError"] and "socket" in refused["content"][0]["text"]
    # It is recorded like any other, and nobody else's.
    assert alice.ask("GET", f"/v1/sessions/{made['id']}").json()["state"] == "idle"
    for wrong in (session, made["id"], "01ARZ3NDEKTSV4RRFFQ69G5FAV", "", "x" * 64):
        answer = Peer(bob).call("fork_session", session_id=wrong)
        assert answer["isError"] and "no such session" in answer["content"][0]["text"]
    for one in (session, made["id"]):
        peer.call("close_session", session_id=one)
    gone = peer.call("fork_session", session_id=session)
    assert gone["isError"] and "gone" in gone["content"][0]["text"]


def test_fork_needs_the_policy(make_service):
    """Who may not open such a session may not fork one either."""
    service = make_service(tokens=[("large", "--tenant", "firm"),
                                   ("small", "--tenant", "firm", "--policy", "other")])
    policies = service.server.config / "policies"
    policies.mkdir(exist_ok=True)
    (policies / "other.json").write_text('{"extends": "default", "description": "another"}')
    large, small = service.tcp("large"), Peer(service.tcp("small"))
    answer = large.ask("POST", "/v1/sessions", {"language": "bash"})
    refused = small.call("fork_session", session_id=answer.json()["id"])
    assert refused["isError"] and "policy" in refused["content"][0]["text"]
    answer = large.ask("POST", "/v1/sessions", {"language": "bash", "policy": "other"})
    made = small.call("fork_session", session_id=answer.json()["id"])
    assert made["structuredContent"]["policy"] == "other"


def test_who_leaves_gets_no_fork(alice):
    """Whenever it is left: nothing stays that nobody knows of, and the service goes on."""
    peer = Peer(alice)
    session = peer.call("open_session")["structuredContent"]["id"]
    for wait in (0, 0.002, 0.01, 0.05, 0.2):
        connection = alice.connect()
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "fork_session", "arguments": {"session_id": session}}})
        connection.request("POST", "/mcp", body, {
            **peer.headers, "Content-Type": "application/json",
            "Authorization": "Bearer " + alice.token})
        time.sleep(wait)
        connection.close()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        found = peer.call("list_sessions")["structuredContent"]["sessions"]
        if all(one["state"] == "idle" for one in found):
            break
        time.sleep(0.1)
    assert peer.call("execute_code", code="print(1)", session_id=session)["isError"] is False
    for one in found:
        peer.call("close_session", session_id=one["id"])


def test_ceilings_and_turns_hold(make_service):
    made = make_service(tokens=[("strict", "--policy", "strict"), ("one", "--concurrency", "1")])
    result = Peer(made.tcp("strict")).call("execute_code", code="print(1)")
    assert result["isError"] and "policy" in result["content"][0]["text"]
    one = Peer(made.tcp("one"))
    start = time.monotonic()
    threads = [threading.Thread(target=one.call, args=("execute_code",),
                                kwargs={"code": "import time; time.sleep(.5)"}) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - start > 1.4


def test_pictures(alice):
    """What is an image by its bytes is one in the answer; the rest is had by name."""
    peer = Peer(alice)
    result = peer.call("execute_code", code=DRAWS)
    assert not result["isError"], result
    text, *images = result["content"]
    assert [image["type"] for image in images] == ["image"]
    assert images[0]["mimeType"] == "image/png"
    png = base64.b64decode(images[0]["data"], validate=True)
    assert png.hex() + "\n" == result["structuredContent"]["stdout"]
    assert png.startswith(b"\x89PNG\r\n") and png.endswith(b"IEND\xaeB`\x82")
    named = {file["path"]: file["size"] for file in result["structuredContent"]["files"]}
    assert named.keys() == {"out/dots.png", "out/no.png"} and named["out/dots.png"] == len(png)
    assert all(path in text["text"] for path in named)
    other = peer.call("read_output", name="out/no.png",
                      execution_id=result["structuredContent"]["execution_id"])
    assert other["content"][0]["text"] == "no image, whatever its name"


def pages(peer, execution, **more):
    """The output as read_output tells it, until there is no more."""
    whole = b""
    for _ in range(1000):
        page = peer.call("read_output", execution_id=execution, offset=len(whole), **more)
        assert not page.get("isError"), page
        data = page["content"][0]["text"].encode()
        if not data:
            return whole
        assert len(data) <= more.get("limit", PAGE)
        whole += data
    raise AssertionError("pages without end")


def test_long_output_in_pages(alice, bob):
    """Cut in the answer, never within a character; the rest has a handle, for its owner alone."""
    peer = Peer(alice)
    result = peer.call("execute_code", code="import sys\nfor i in range(9000): print(i, '\u20ac')\n"
                                            "print('e' * 20000, file=sys.stderr)")
    whole = "".join(f"{i} \u20ac\n" for i in range(9000))
    told = result["structuredContent"]
    mine, shown = told["execution_id"], told["stdout"].encode()
    assert whole.startswith(told["stdout"]) and PAGE - 4 < len(shown) <= PAGE
    assert (told["stdout_bytes"], told["stderr_bytes"]) == (len(whole.encode()), 20001)
    text = result["content"][0]["text"]
    assert f'execution_id "{mine}", name "stdout" and offset {len(shown)}' in text
    assert len(text.encode()) < 3 * PAGE
    assert pages(peer, mine).decode() == whole
    assert pages(peer, mine, limit=65536).decode() == whole
    assert pages(peer, mine, name="stderr") == b"e" * 20000 + b"\n"
    for wrong in ({"name": "out/none"}, {"execution_id": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}):
        assert peer.call("read_output", **{"execution_id": mine, **wrong})["isError"]
    other = Peer(bob).call("read_output", execution_id=mine)
    assert other["isError"] and "Nothing is kept" in other["content"][0]["text"]


def test_progress(alice):
    """Only for who asks for it, ahead of the answer, and always more of it."""
    peer = Peer(alice)
    long = {"code": "import time\nprint('x', flush=True)\ntime.sleep(2.5)"}
    *ahead, last = peer.messages("execute_code", long, _meta={"progressToken": "mine"})
    assert not last["result"]["isError"], last
    assert ahead and {m["method"] for m in ahead} == {"notifications/progress"}
    told = [m["params"] for m in ahead]
    assert {one["progressToken"] for one in told} == {"mine"}
    steps = [one["progress"] for one in told]
    assert steps == sorted(set(steps)) and all("running for" in one["message"] for one in told)
    assert "2 bytes of output" in told[-1]["message"]
    assert len(peer.messages("execute_code", long)) == 1


def test_who_leaves_ends_the_run(alice):
    peer = Peer(alice)
    connection = alice.connect()
    connection.request(
        "POST", "/mcp",
        json.dumps({"jsonrpc": "2.0", "id": 55, "method": "tools/call", "params": {
            "name": "execute_code", "arguments": {"code": "import time; time.sleep(25)"}}}),
        {**peer.headers, "Content-Type": "application/json", "Authorization": "Bearer " + alice.token},
    )

    def running():
        page = alice.ask("GET", "/v1/executions").json()["executions"]
        return [e["id"] for e in page if e["status"] == "running"]

    (mine,) = serve.wait_for(running, 10, "it runs")
    # The notification is what ends a call in this era; a lost connection alone may be resumed.
    alice.open("POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/cancelled",
                                "params": {"requestId": 55}}, peer.headers)
    assert alice.wait(mine, 10)["status"] == "cancelled"
    connection.close()


def test_it_needs_a_token(service):
    assert service.tcp().ask("POST", "/mcp", {}).status == 401
