# SPDX-License-Identifier: Apache-2.0
"""A11: resources of another tenant are not found, by any way of asking."""

import threading
import time

import pytest
from callers import Mcp, events_of, running

SESSION_ROUTES = [
    ("GET", "", None), ("DELETE", "", None), ("POST", "/execute", {"code": "print(secret)"}),
    ("POST", "/interrupt", None), ("GET", "/files", None), ("GET", "/files/secret.txt", None),
    ("PUT", "/files/secret.txt", b"mine now"), ("DELETE", "/files/secret.txt", None),
]


def without_ids(answer, *ids):
    """The text of a response, for comparing responses about different ids."""
    text = answer.body
    for one in ids:
        text = text.replace(one.encode(), b"ID")
    return answer.status, text


@pytest.mark.parametrize("method,tail,body", SESSION_ROUTES)
def test_a11_sessions(attacker, belongings, method, tail, body):
    answer = attacker.ask(method, f"/v1/sessions/{belongings.session}{tail}", body)
    assert (answer.status, answer.code) == (404, "not_found")
    assert belongings.SECRET.encode() not in answer.body
    # It looks the same as one that never existed.
    never = attacker.ask(method, f"/v1/sessions/01ARZ3NDEKTSV4RRFFQ69G5FAV{tail}", body)
    assert without_ids(answer, belongings.session) == without_ids(never)


def test_a11_sessions_control(alice):
    mine = alice.session()
    for method, tail, body in SESSION_ROUTES:
        if (method, tail) == ("DELETE", ""):
            continue
        if tail == "/files/secret.txt" and method == "GET":
            alice.ask("PUT", f"/v1/sessions/{mine}{tail}", b"x")
        answer = alice.ask(method, f"/v1/sessions/{mine}{tail}", body)
        assert answer.status in (200, 204), (method, tail, answer.body)
    assert alice.ask("DELETE", f"/v1/sessions/{mine}").status == 204


@pytest.mark.parametrize("path", ["/v1/execute", "/v1/executions"])
@pytest.mark.parametrize("stream", [False, True])
def test_a11_session_by_field(attacker, alice, belongings, path, stream):
    headers = {"Accept": "text/event-stream"} if stream else {}
    ask = {"code": "print(secret)", "session": belongings.session}
    answer = attacker.ask("POST", path, ask, headers)
    if path == "/v1/executions":
        # Acknowledged before any check; then it fails.
        found = attacker.wait(answer.json()["id"])
        assert found["result"] is None and found["error"]["code"] == "not_found"
    elif stream:
        events = answer.events()
        assert [e[1] for e in events] == ["error"] and "not_found" in events[0][2]
    else:
        assert (answer.status, answer.code) == (404, "not_found")
    assert belongings.SECRET.encode() not in answer.body
    assert belongings.SECRET.encode() in alice.ask("POST", "/v1/execute", ask).body


def test_a11_session_in_a_batch(attacker, belongings):
    programs = [{"code": "print(secret)", "session": belongings.session}]
    answer = attacker.ask("POST", "/v1/batch", {"programs": programs})
    assert (answer.status, answer.code) == (400, "invalid_request")


@pytest.mark.parametrize("method,tail", [("GET", ""), ("GET", "/events"), ("DELETE", "")])
def test_a11_results(stranger, alice, belongings, method, tail):
    path = f"/v1/executions/{belongings.execution}{tail}"
    for headers in ({}, {"Last-Event-ID": "0-0"}, {"Last-Event-ID": "5-0"}, {"Last-Event-ID": "end"}):
        answer = stranger.ask(method, path, headers=headers)
        assert (answer.status, answer.code) == (404, "not_found"), headers
        assert belongings.SECRET.encode() not in answer.body
    assert belongings.SECRET.encode() in alice.ask(method, path).body


def test_a11_while_it_runs(stranger, alice):
    """Read, followed and cancelled by another tenant: no effect."""
    theirs = alice.order("import time; print('begun', flush=True); time.sleep(2); print('done')")
    running(alice)
    for method, tail in (("GET", ""), ("GET", "/events"), ("DELETE", ""), ("DELETE", "")):
        answer = stranger.ask(method, f"/v1/executions/{theirs}{tail}")
        assert (answer.status, answer.code) == (404, "not_found")
    assert alice.wait(theirs)["result"]["stdout"] == "begun\ndone\n"
    # The control: its owner can.
    mine = alice.order("import time; time.sleep(30)")
    running(alice)
    assert alice.ask("DELETE", f"/v1/executions/{mine}").json()["status"] == "cancelled"


def test_a11_interrupt(attacker, alice):
    session = alice.session()
    results = []
    code = "import time\nfor i in range(20): time.sleep(.1)\nprint('whole')"
    thread = threading.Thread(target=lambda: results.append(alice.run_in(session, code)))
    thread.start()
    running(alice)
    for _ in range(5):
        assert attacker.ask("POST", f"/v1/sessions/{session}/interrupt").status == 404
        assert attacker.mcp().text("interrupt_session", session_id=session)[0]
    thread.join()
    assert results[0]["stdout"] == "whole\n"
    alice.ask("DELETE", f"/v1/sessions/{session}")


def ids_of(client, *queries):
    """All entries of the lists; not the parts of a record that repeat one's own request."""
    found = {s["id"] for s in client.ask("GET", "/v1/sessions").json()["sessions"]}
    found |= {s["id"] for s in client.mcp().call("list_sessions")["structuredContent"]["sessions"]}
    for query in queries:
        answer = client.ask("GET", "/v1/executions?limit=1000" + query)
        found |= {e["id"] for e in answer.json()["executions"]}
    return found


def test_a11_lists(attacker, alice, belongings):
    queries = ("", f"&before={belongings.execution}", "&before=7ZZZZZZZZZZZZZZZZZZZZZZZZZ")
    theirs = {belongings.execution, belongings.session}
    assert not theirs & ids_of(attacker, *queries)
    assert theirs <= ids_of(alice, *queries)


MCP_TOOLS = [
    ("execute_code", {"code": "print(secret)"}), ("close_session", {}), ("interrupt_session", {}),
    ("fork_session", {}), ("list_files", {}), ("read_file", {"path": "secret.txt"}),
    ("delete_file", {"path": "secret.txt"}),
    ("write_file", {"path": "secret.txt", "content": "mine now"}),
]


@pytest.mark.parametrize("tool,arguments", MCP_TOOLS)
def test_a11_mcp_tools(attacker, belongings, tool, arguments):
    wrong, text = attacker.mcp().text(tool, session_id=belongings.session, **arguments)
    assert wrong and "session not found" in text
    assert belongings.SECRET not in text


def test_a11_mcp_control(alice, belongings):
    peer = alice.mcp()
    assert belongings.SECRET in peer.text("read_file", session_id=belongings.session, path="secret.txt")[1]
    assert belongings.SECRET in peer.text("execute_code", session_id=belongings.session,
                                          code="print(secret)")[1]


def test_a11_kept_outputs(attacker, alice):
    """read_output: the rest of a long output is kept for the client that has its beginning."""
    result = alice.mcp().call("execute_code", code="print('x' * 200000 + 'the end')")
    kept = result["structuredContent"]["execution_id"]
    total = result["structuredContent"]["stdout_bytes"]
    asked = {"execution_id": kept, "name": "stdout", "offset": total - 8}
    wrong, text = attacker.mcp().text("read_output", **asked)
    assert wrong and "the end" not in text
    wrong, text = alice.mcp().text("read_output", **asked)
    assert not wrong and "the end" in text


def test_a11_mcp_session_of_another(attacker, alice):
    """The protocol's own session: another tenant cannot use, follow or end it."""
    theirs, mine = alice.mcp(), attacker.mcp()
    stolen = {**mine.headers, "Mcp-Session-Id": theirs.id}
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "list_sessions", "arguments": {}}}
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    for message in (ping, call, cancel):
        assert attacker.ask("POST", "/mcp", message, stolen).status == 404
    assert attacker.ask("GET", "/mcp", headers=stolen).status == 404
    assert attacker.ask("GET", "/mcp", headers={**stolen, "Last-Event-ID": "1"}).status == 404
    assert attacker.ask("DELETE", "/mcp", headers=stolen).status == 404
    assert theirs.post("ping", {}).json()["result"] == {}
    assert mine.post("ping", {}).json()["result"] == {}


def test_a15_cancelling_another_s_call(attacker, alice):
    """Request ids are small numbers: the same one of another client is not affected."""
    theirs, mine = alice.mcp(), attacker.mcp()
    results = []
    thread = threading.Thread(target=lambda: results.append(
        theirs.call("execute_code", code="import time; time.sleep(1.5); print('whole')")))
    thread.start()
    running(alice)
    for number in range(10):
        attacker.ask("POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/cancelled",
                                      "params": {"requestId": number}}, mine.headers)
    thread.join()
    assert results[0]["structuredContent"]["stdout"] == "whole\n"


def test_a11_resuming_another_s_mcp_stream(attacker, alice):
    theirs, mine = alice.mcp(), attacker.mcp()
    message = {"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": {
        "name": "execute_code", "arguments": {"code": "import time; time.sleep(1.5); print('private')"},
        "_meta": {"progressToken": "p"}}}
    answer = alice.ask("POST", "/mcp", message, theirs.headers)
    ids = [e[0] for e in events_of(answer.body.decode()) if e[0]]
    assert ids and "private" in answer.body.decode()
    for headers in (mine.headers, {**mine.headers, "Mcp-Session-Id": theirs.id}):
        with_id = {**headers, "Last-Event-ID": ids[0]}
        connection = attacker.begin("GET", "/mcp", headers=with_id)
        connection.sock.settimeout(1)
        response = connection.getresponse()
        got = b""
        try:
            got = response.read(10000) if response.status != 200 else response.read1(10000)
        except TimeoutError:
            pass
        connection.close()
        assert b"private" not in got and response.status in (200, 400, 404)


def test_a11_idempotency_keys(attacker, alice, belongings):
    """Another tenant's key is no key: it neither finds nor blocks anything."""
    ask = {"code": f"print({belongings.SECRET!r})"}
    key = {"Idempotency-Key": f"shared-{time.time_ns()}"}
    first = alice.ask("POST", "/v1/execute", ask, key)
    answer = attacker.ask("POST", "/v1/execute", {"code": "print('mine')"}, key)
    assert answer.status == 200 and answer.json()["stdout"] == "mine\n"
    assert answer.header("Idempotent-Replayed") is None
    same = attacker.ask("POST", "/v1/execute", {"code": "print('mine')"}, key)
    assert same.header("Idempotent-Replayed") == "true" and same.json()["stdout"] == "mine\n"
    again = alice.ask("POST", "/v1/execute", ask, key)
    assert again.header("Idempotent-Replayed") == "true"
    assert again.json()["id"] == first.json()["id"] != answer.json()["id"]


def forgeries(real):
    flipped = real[:-1] + ("0" if real[-1] != "0" else "1")
    return [
        flipped, real.lower(), real[:-1], real[:13], real[1:], real + "0", real * 2, "0" * 26, "Z" * 26,
        "8" + real[1:], "x" * 64, "x" * 65, "x" * 4000, "-1", "0", "*", "%25", "_", "null",
        "%2e%2e", "..%2f" + real, real + "%2f", real + "%20", "%20" + real, real + "%00",
        real + "/", "/" + real, "./" + real, "../executions/" + real, real + ";x", real + "%0d%0aX:1",
        real.replace("0", "%4F").replace("1", "I"), "' OR '1'='1", real + "'--", "%", "%zz",
        real + "?x=1", "%EF%BC%90" + real[1:], "🦊" * 4,
    ]


@pytest.mark.parametrize("kind", ["executions", "sessions"])
def test_a11_forged_ids(stranger, belongings, kind):
    real = belongings.session if kind == "sessions" else belongings.execution
    for forged in forgeries(real):
        target = f"/v1/{kind}/" + "".join(
            c if ord(c) < 128 and c not in " '" else "".join(f"%{b:02X}" for b in c.encode())
            for c in forged
        )
        for method in ("GET", "DELETE"):
            answer = stranger.ask(method, target)
            assert answer.status in (400, 404, 405), (method, target, answer.status, answer.body)
            assert belongings.SECRET.encode() not in answer.body


@pytest.mark.parametrize("kind", ["executions", "sessions"])
def test_a11_nearly_the_owner_s_ids(alice, belongings, kind):
    """Other forms of one's own id are invalid: there is one spelling, so that there is
    one meaning."""
    real = belongings.session if kind == "sessions" else belongings.execution
    assert alice.ask("GET", f"/v1/{kind}/{real}").status == 200
    for forged in (real.lower(), real[:-1], real + "0", real + "%20", real + "%00", "./" + real):
        assert alice.ask("GET", f"/v1/{kind}/{forged}").status in (400, 404), forged


def test_a11_forged_ids_in_mcp(attacker, belongings):
    peer = attacker.mcp()
    for forged in [*forgeries(belongings.session), "\0", belongings.session + "\0"]:
        assert peer.text("list_files", session_id=forged)[0], forged
        assert peer.text("read_output", execution_id=forged)[0], forged


def test_a11_ids_are_unguessable(alice):
    """The random part differs in most of its characters, from one to the next."""
    ids = [alice.session() for _ in range(4)] + [alice.run("1")["id"] for _ in range(4)]
    tails = [one[10:] for one in ids]
    assert len(set(tails)) == len(ids)
    for a, b in zip(tails, tails[1:]):
        assert sum(x != y for x, y in zip(a, b)) >= 10, (a, b)
    for one in ids[:4]:
        alice.ask("DELETE", f"/v1/sessions/{one}")


def test_a13_one_connection_two_tenants(house, belongings):
    """Requests one after another on one connection: each has the identity of its own token."""
    path = f"/v1/executions/{belongings.execution}"
    data = b"".join(house.head("GET", path, name) for name in ("mallory", "alice", "mallory"))
    data += house.head("GET", "/v1/health", "alice", "Connection: close")
    got = house.raw(data)
    statuses = [int(part.split()[0]) for part in got.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [404, 200, 404, 200]


def test_a13_concurrent_runs_do_not_mix(house):
    """Many at once, of several tenants and in sessions: each gets its own."""
    wrong = []

    def ask(name, number):
        client = house.tcp(name)
        word = f"{name}-{number}"
        result = client.run(f"import time; time.sleep(.05); print(input()); print({word!r})", stdin=word)
        if result["stdout"] != f"{word}\n{word}\n":
            wrong.append((word, result))

    threads = [threading.Thread(target=ask, args=(("alice", "mallory")[i % 2], i)) for i in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_mcp_sessions_flood_keeps_others(attacker, alice):
    """An attacker's legacy sessions evict its own, not another's."""
    theirs = alice.mcp()
    for _ in range(80):
        Mcp(attacker)
    assert theirs.post("ping", {}).status == 200
