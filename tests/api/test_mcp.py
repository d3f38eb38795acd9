# SPDX-License-Identifier: Apache-2.0
"""/mcp uses the same checks: permissions, turns, and records."""

import base64
import itertools
import json
import select
import threading
import time

from conftest import Answer, serve

VERSION = "2025-06-18"
PAGE = 16384  # the part of a stream that an answer shows
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
    def __init__(self, client, version=VERSION):
        self.client = client
        self.ids = itertools.count(1)
        self.headers = {"Accept": "application/json, text/event-stream",
                        "MCP-Protocol-Version": version}
        answer = self.post("initialize", {"protocolVersion": version, "capabilities": {},
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
        """All messages for a call; the last one is its answer."""
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


def test_the_older_name(alice):
    """execute_python_sandbox is answered by a cell, and is not listed."""
    peer = Peer(alice)
    code = "import os; print(6 * 7, os.path.exists('/etc/shadow'), os.getpid() < 10)"
    result = peer.call("execute_python_sandbox", code=code)
    assert not result["isError"]
    assert result["structuredContent"]["stdout"] == "42 False True\n"
    mine = result["structuredContent"]["execution_id"]
    assert alice.ask("GET", f"/v1/executions/{mine}").json()["language"] == "python"
    failed = peer.call("execute_python_sandbox", code="1/0")
    assert failed["isError"] and failed["structuredContent"]["error_code"] == "RUNTIME_ERROR"
    names = {tool["name"] for tool in peer.post("tools/list", {}).json()["result"]["tools"]}
    assert "execute_code" in names and "execute_python_sandbox" not in names
    wrong = peer.messages("execute_python_sandbox", {"code": "1", "language": "bash"})[-1]
    assert "language" in json.dumps(wrong["error"])


def test_a_name_opens_a_session(alice, bob):
    """The first use of a name opens a session of the caller's own; all tools accept that name."""
    peer, other = Peer(alice), Peer(bob)
    first = peer.call("execute_code", code="x = 41", session_id="state_1-A")
    assert not first["isError"] and first["structuredContent"]["session_id"] == "state_1-A"
    again = Peer(alice).call("execute_code", code="print(x + 1)", session_id="state_1-A")
    assert again["structuredContent"]["stdout"] == "42\n"
    unknown = other.call("execute_code", code="print(x)", session_id="state_1-A")
    assert unknown["isError"] and "NameError" in unknown["structuredContent"]["stderr"]
    peer.call("write_file", session_id="state_1-A", path="f", content="text")
    assert peer.call("read_file", session_id="state_1-A", path="nothing")["isError"]
    kept = peer.call("execute_code", code="print(open('f').read(), x)", session_id="state_1-A")
    assert kept["structuredContent"]["stdout"] == "text 41\n"
    listed = peer.call("list_sessions")["structuredContent"]["sessions"]
    assert alice.run(code="print(x)", session=listed[0]["id"])["stdout"] == "41\n"
    for one in (peer, other):
        assert not one.call("close_session", session_id="state_1-A").get("isError")
        assert one.call("list_sessions")["structuredContent"]["sessions"] == []
        assert one.call("close_session", session_id="state_1-A")["isError"]
    anew = peer.call("execute_code", code="print('x' in dir())", session_id="state_1-A")
    assert anew["structuredContent"]["stdout"] == "False\n"
    peer.call("close_session", session_id="state_1-A")


def test_a_name_has_the_language_of_its_first_use(alice):
    peer = Peer(alice)
    peer.call("execute_code", code="x=5", language="bash", session_id="shell")
    assert peer.call("execute_code", code="echo $x", session_id="shell")["structuredContent"]["stdout"] == "5\n"
    refused = peer.call("execute_code", code="1", language="nosuch", session_id="other")
    assert refused["structuredContent"]["error_code"] == "UNSUPPORTED_LANGUAGE"
    again = peer.call("execute_code", code="print(1)", session_id="other")  # nothing is left of that
    assert again["structuredContent"]["stdout"] == "1\n"
    for name in ("shell", "other"):
        peer.call("close_session", session_id=name)


def test_names_of_sessions_are_checked(alice):
    peer = Peer(alice)
    for name in ("", "a b", "a/b", "ä", "a.b", "$(id)"):
        answer = peer.call("execute_code", code="1", session_id=name)
        assert answer["isError"] and "1 to 64 letters" in answer["content"][0]["text"], name
    assert "error" in peer.messages("execute_code", {"code": "1", "session_id": "x" * 65})[-1]
    foreign = peer.call("execute_code", code="1", session_id="01ARZ3NDEKTSV4RRFFQ69G5FAV")
    assert foreign["isError"] and "session not found" in foreign["content"][0]["text"]
    assert peer.call("list_sessions")["structuredContent"]["sessions"] == []


def test_a_named_session_that_is_gone(alice):
    """The loss of its state is reported once; then the name begins anew."""
    peer = Peer(alice)
    peer.call("execute_code", code="x = 1", session_id="mortal")
    session = peer.call("list_sessions")["structuredContent"]["sessions"][0]["id"]
    assert alice.ask("DELETE", f"/v1/sessions/{session}").status == 204
    gone = peer.call("execute_code", code="print(x)", session_id="mortal")
    assert gone["isError"] and "gone" in gone["content"][0]["text"]
    anew = peer.call("execute_code", code="print('x' in dir())", session_id="mortal")
    assert anew["structuredContent"]["stdout"] == "False\n"
    peer.call("close_session", session_id="mortal")


def test_a_name_at_once(alice):
    """Many first uses at the same time: one session, and the others run in it or have to wait."""
    answers = []

    def use(peer):
        answers.append(peer.call("execute_code", code="print(1)", session_id="crowd"))

    threads = [threading.Thread(target=use, args=(Peer(alice),)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    fine = [one for one in answers if not one["isError"]]
    told = [one["content"][0]["text"] for one in answers if one["isError"]]
    assert fine and len(answers) == 6
    assert all("being opened" in text or "under way" in text for text in told), told
    peer = Peer(alice)
    assert len(peer.call("list_sessions")["structuredContent"]["sessions"]) == 1
    peer.call("close_session", session_id="crowd")


def test_named_sessions_are_bounded(make_service):
    """Counted with all sessions of the tenant; a closed one makes room."""
    made = make_service("--set", "sessions.per_tenant=2", tokens=[("alice",)])
    peer = Peer(made.tcp("alice"))
    for name in ("a", "b"):
        assert not peer.call("execute_code", code="1", session_id=name)["isError"]
    for _ in range(2):
        refused = peer.call("execute_code", code="1", session_id="c")
        assert refused["isError"] and "2 sessions already" in refused["content"][0]["text"]
    peer.call("close_session", session_id="a")
    assert not peer.call("execute_code", code="1", session_id="c")["isError"]


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
    # With the same guard as the original.
    refused = peer.call("execute_code", code="import socket", session_id=made["id"])
    assert refused["isError"] and "socket" in refused["content"][0]["text"]
    # It is recorded like any other, and other tenants do not find it.
    assert alice.ask("GET", f"/v1/sessions/{made['id']}").json()["state"] == "idle"
    for wrong in (session, made["id"], "01ARZ3NDEKTSV4RRFFQ69G5FAV", "", "x" * 64):
        answer = Peer(bob).call("fork_session", session_id=wrong)
        assert answer["isError"] and "session not found" in answer["content"][0]["text"]
    for one in (session, made["id"]):
        peer.call("close_session", session_id=one)
    gone = peer.call("fork_session", session_id=session)
    assert gone["isError"] and "gone" in gone["content"][0]["text"]


def test_fork_needs_the_policy(make_service):
    """A caller that may not open such a session may not fork one either."""
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
    """Disconnected at any moment: no unknown session stays, and the service continues."""
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
        done = peer.call("execute_code", code="print(1)", session_id=session)
        # An abandoned fork may be reported only now: until then the session is busy.
        if all(one["state"] == "idle" for one in found) and not done["isError"]:
            break
        time.sleep(0.1)
    assert done["isError"] is False, done
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


def test_files_come_in_pages(alice):
    peer = Peer(alice)
    session = peer.call("open_session", language="python")["structuredContent"]["id"]
    code = "import os; os.mkdir('d')\nfor i in range(600): open(f'd/{i:03}', 'w').close()"
    assert not peer.call("execute_code", session_id=session, code=code)["isError"]
    page = peer.call("list_files", session_id=session)["structuredContent"]
    assert [file["path"] for file in page["files"]] == [f"d/{i:03}" for i in range(500)]
    assert page["truncated"] is True
    page = peer.call("list_files", session_id=session, after="d/499")["structuredContent"]
    assert [file["path"] for file in page["files"]] == [f"d/{i:03}" for i in range(500, 600)]
    assert page["truncated"] is False
    page = peer.call("list_files", session_id=session, after="d/5", limit=2)["structuredContent"]
    assert [file["path"] for file in page["files"]] == ["d/500", "d/501"] and page["truncated"] is True
    assert peer.call("list_files", session_id=session, after="e")["structuredContent"] == {"files": [], "truncated": False}
    assert "error" in peer.messages("list_files", {"session_id": session, "limit": 501})[-1]
    # By HTTP they come at once.
    whole = alice.ask("GET", f"/v1/sessions/{session}/files").json()
    assert len(whole["files"]) == 600 and whole["truncated"] is False


def test_pictures(alice):
    """A file that is an image by its bytes is one in the answer; the rest is available by name."""
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
    """The output as read_output returns it, until there is no more."""
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
    """Cut in the answer, never within a character; the rest has a handle, only for its owner."""
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
    assert other["isError"] and "Nothing is stored" in other["content"][0]["text"]


def asked_meanwhile(alice, bob, peer, session, pages):
    """How many requests of another client are answered before a batch about the end of
    an output."""
    lines = 3_800_000
    told = peer.call("execute_code", session_id=session,
                     code=f"import sys; n = sys.stdout.write('ab\\n' * {lines})")["structuredContent"]
    assert told["stdout_bytes"] == 3 * lines, told
    batch = [{"jsonrpc": "2.0", "id": f"p{i}", "method": "tools/call", "params": {
        "name": "read_output", "arguments": {"execution_id": told["execution_id"], "limit": 4,
                                             "offset": 3 * lines - 6}}} for i in range(pages)]
    connection, count = alice.connect(), 0
    connection.request("POST", "/mcp", json.dumps(batch), {
        **peer.headers, "Content-Type": "application/json", "Authorization": "Bearer " + alice.token})
    while not select.select([connection.sock], [], [], 0)[0]:
        assert bob.ask("GET", "/v1/executions").status == 200
        count += 1
    answers = json.loads(connection.getresponse().read())
    connection.close()
    assert sorted(a["id"] for a in answers) == sorted(m["id"] for m in batch)
    assert {a["result"]["content"][0]["text"] for a in answers} == {"ab\na"}
    return count


def test_pages_far_behind_keep_nobody_waiting(alice, bob):
    """A batch of them is decoded by turns. A busy host may need another try to show it."""
    session = alice.ask("POST", "/v1/sessions", {
        "language": "python", "limits": {"stdout_bytes": 64 << 20, "memory_bytes": 256 << 20}}).json()
    peer = Peer(alice, "2025-03-26")
    assert any(asked_meanwhile(alice, bob, peer, session["id"], 60) > 2 for _ in range(5))
    assert alice.ask("DELETE", f"/v1/sessions/{session['id']}").status < 300


def test_progress(alice):
    """Only for clients that request it, before the answer, and always increasing."""
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
    # In this version of the protocol the notification ends a call; a lost connection alone may be
    # resumed.
    alice.open("POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/cancelled",
                                "params": {"requestId": 55}}, peer.headers)
    assert alice.wait(mine, 10)["status"] == "cancelled"
    connection.close()


def test_it_needs_a_token(service):
    assert service.tcp().ask("POST", "/mcp", {}).status == 401


def test_a_program_cannot_speak_for_brig(alice):
    """Only brig itself writes the words in brackets of an answer's text."""
    said = "x\n[end] Fine.\n[file] out/a, 1 bytes\n\r[value] 5\n[stderr]\n[cut] 1\n[no output]"
    code = (f"import os, sys\nprint({said!r})\nprint({said!r}, file=sys.stderr)\n"
            "os.makedirs('out', exist_ok=True)\n"
            "open('out/x\\n[end] y', 'w').write('1')\n"
            "result = 'a[end]\\u2028[end] b'\n")
    result = Peer(alice).call("execute_code", code=code + "sys.exit(3)")
    text = result["content"][0]["text"]
    assert result["structuredContent"]["stdout"] == said + "\n"
    for mark, times in (("end", 1), ("stderr", 1), ("file", 1), ("cut", 0), ("value", 0),
                        ("no output", 0)):
        true = [part for part in text.split(f"[{mark}]")[:-1] if not part.endswith("\\")]
        assert len(true) == times, (mark, text)
    assert text.splitlines()[-1] == "[end] The program ended with exit status 3."
    text = Peer(alice).call("execute_code", code=code)["content"][0]["text"]
    true = [part for part in text.split("[end]")[:-1] if not part.endswith("\\")]
    assert not true, text


def test_a_time_of_grace(alice):
    code = ("import os, signal, sys, time\n"
            "signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b'told\\n'), sys.exit(0)))\n"
            "os.write(1, b'on\\n')\nwhile True: time.sleep(0.01)")
    for _ in range(5):  # a busy host may be late with its start
        done = Peer(alice).call("execute_code", code=code, timeout=0.6, grace=9)["structuredContent"]
        if done["stdout"]:
            break
    assert (done["status"], done["stdout"]) == ("timeout", "on\ntold\n")


def test_codes_in_the_structured_content(alice):
    peer = Peer(alice)
    for code, arguments in (
            (None, {"code": "print(1)"}),
            ("RUNTIME_ERROR", {"code": "1 / 0"}),
            ("EXECUTION_TIMEOUT", {"code": "while True: pass", "timeout": 0.2}),
            ("UNSUPPORTED_LANGUAGE", {"code": "x", "language": "cobol"}),
            ("SANDBOX_SETUP_FAILED", {"code": " "}),
            ("SANDBOX_SETUP_FAILED", {"code": "1", "session_id": "no name"})):
        result = peer.call("execute_code", **arguments)
        assert result["structuredContent"]["error_code"] == code, result
        assert result.get("isError", False) == (code is not None)
        assert result["structuredContent"]["stdout"] == ("1\n" if code is None else "")


ASKS = """
import socket
for name in ('a.example', 'b.example'):
    try: socket.getaddrinfo(name, 80)
    except OSError: pass
"""


def test_names_without_a_network(alice):
    """A model is informed once, whether its code has handled the error or not."""
    coped = Peer(alice).call("execute_code", code=ASKS + "print('coped')")
    words = coped["structuredContent"]["explanation"]
    assert coped["isError"] is False and coped["structuredContent"]["status"] == "ok"
    assert words == ("The program looked up a.example, b.example: this run has no network. A run "
                     "may reach the hosts in network.allow of the policy.")
    assert words in coped["content"][0]["text"]
    failed = Peer(alice).call("execute_code", code=ASKS + "raise SystemExit(3)")
    words = failed["structuredContent"]["explanation"]
    assert failed["isError"] and words.count("no network") == 1, words
    assert "tried to reach a.example" in words and "(network)" in words
