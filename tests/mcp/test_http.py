# SPDX-License-Identifier: Apache-2.0
"""The HTTP transport by hand: versions, headers, sessions, streams, and all refusals."""

import json
import time

import pytest
from speak import LEGACY, META, VERSION, Http, call, modern, request

INVALID, PARSE = -32600, -32700


def cancelled(http, tenant="nobody"):
    """The number of cancelled calls so far."""
    headers = {"Authorization": f"Bearer {tenant}"}
    answer = http.post(call("test_echo"), headers)
    return answer.body["result"]["structuredContent"]["cancelled"]


def wait_cancelled(http, before):
    for _ in range(100):
        if cancelled(http) > before:
            return
        time.sleep(0.05)
    raise AssertionError("the call was not cancelled")


# --- authentication ------------------------------------------------------------------------------

@pytest.mark.parametrize("headers", [
    {"Host": "evil.example"},
    {"Host": "evil.example:80"},
    {"Host": "localhost.evil.example"},
    {"Host": "127.0.0.1.evil.example"},
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://localhost.evil.example"},
    {"Origin": "http://localhost@evil.example"},
    {"Origin": "http://localhost:80x"},
    {"Origin": "file://localhost"},
    {"Origin": "localhost"},
])
def test_rebinding(http, headers):
    answer = http.post(modern("server/discover"), headers)
    assert answer.status == 403
    assert "id" not in answer.body


@pytest.mark.parametrize("headers", [
    {"Origin": "http://localhost:3000"},
    {"Origin": "https://127.0.0.1"},
    {"Host": "[::1]:8080", "Origin": "http://[::1]:8080"},
    {"Host": "LocalHost"},
])
def test_own_names(http, headers):
    assert http.post(modern("server/discover"), headers).status == 200


def test_methods(http):
    for method in ("PUT", "PATCH", "OPTIONS"):
        answer = http.send(method, b"", {})
        assert answer.status == 405 and answer.headers["Allow"] == "POST, GET, DELETE"
    for method in ("GET", "DELETE"):
        answer = http.send(method, None, {"Accept": "text/event-stream"})
        assert answer.status == 405 and answer.headers["Allow"] == "POST"


def test_media_types(http):
    body = json.dumps(modern("server/discover")).encode()
    for kind in (None, "text/plain", "application/jsonx", "application/x-www-form-urlencoded"):
        assert http.post(body, {"Content-Type": kind}).status == 415
    assert http.post(modern("server/discover"),
                     {"Content-Type": "application/json; charset=utf-8"}).status == 200
    assert http.post(modern("server/discover"), {"Accept": "text/html"}).status == 406
    assert http.post(modern("server/discover"), {"Accept": "*/*"}).status == 200
    assert http.post(modern("server/discover"), {"Accept": None}).status == 200


# --- messages ------------------------------------------------------------------------------------

@pytest.mark.parametrize("body", [
    b"", b"{", b"null", b"1", b'"x"', b"{}x", b"[1", b'{"a":1,"a":2}', b"\xff\xfe", b'{"a":"\x00"}',
    b'{"a":"\\u0000"}', b'{"a":"\\ud800"}', b"[" * 100000, b'{"a":' * 65 + b"1" + b"}" * 65,
    b"[" + b"[]," * 70000 + b"[]]", b'{"a":1e999}', b'{"a":99999999999999999999}', b"{'a':1}",
])
def test_no_json(http, body):
    answer = http.post(body)
    assert answer.status == 400 and answer.code == PARSE and "id" not in answer.body


@pytest.mark.parametrize("body", [
    {}, {"jsonrpc": "2.0"}, {"jsonrpc": "2.0", "id": 1}, {"jsonrpc": "1.0", "id": 1, "method": "x"},
    {"jsonrpc": 2.0, "id": 1, "method": "x"}, {"id": 1, "method": "x"},
    request("x", [1]), request("x", 1), request("x", "y"), request(1), request(None),
    request("x", number=None), request("x", number=1.5), request("x", number=True),
    request("x", number=[1]), request("x", number={}), request("x", number="i" * 257),
    request("x", result={}), {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}},
    {"jsonrpc": "2.0", "result": {}}, {"jsonrpc": "2.0", "id": 1, "result": 5},
    {"jsonrpc": "2.0", "id": 1, "error": "x"},
])
def test_no_message(http, body):
    answer = http.post(body)
    assert answer.status == 400 and answer.code == INVALID
    number = body.get("id")
    readable = (isinstance(number, int) and not isinstance(number, bool)) or \
        (isinstance(number, str) and len(number) <= 256)
    assert answer.body.get("id") == (number if readable else None)


@pytest.mark.parametrize("number", [0, -1, 2**53, "", "a", "é☃", "i" * 256, '"}{'])
def test_ids_come_back(http, number):
    assert http.post(modern("server/discover", number=number)).body["id"] == number


def test_too_long(http):
    body = json.dumps(call("test_echo", {"text": "x" * (17 << 20)})).encode()
    assert http.post(body).status in (400, 413)


def test_output_is_no_protocol(http):
    """A tool's text cannot pretend to be another message or event."""
    text = '"}}\n\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\r\n\r\nid: 7\n'
    answer = http.post(call("test_echo", {"text": text}))
    assert answer.body["result"]["structuredContent"]["arguments"]["text"] == text
    stream = http.post(call("test_tool_with_progress", progressToken=text))
    assert len(stream.messages) == 4
    assert all(m["params"]["progressToken"] == text for m in stream.messages[:3])


# --- the modern version --------------------------------------------------------------------------

def test_discover(http):
    result = http.post(modern("server/discover")).body["result"]
    assert result["supportedVersions"][0] == VERSION and LEGACY in result["supportedVersions"]
    assert result["resultType"] == "complete" and result["cacheScope"] == "private"
    assert result["_meta"][META + "serverInfo"]["name"] == "brig-fixtures"


@pytest.mark.parametrize("meta,code", [
    ({}, -32602),
    ({META + "protocolVersion": VERSION}, -32602),
    ({META + "clientCapabilities": {}}, -32602),
    ({META + "protocolVersion": 1, META + "clientCapabilities": {}}, -32602),
    ({META + "protocolVersion": VERSION, META + "clientCapabilities": []}, -32602),
    ({META + "protocolVersion": VERSION, META + "clientCapabilities": {},
      META + "logLevel": "loud"}, -32602),
    ("x", -32602),
])
def test_meta(http, meta, code):
    answer = http.post(request("tools/list", {"_meta": meta}))
    assert (answer.status, answer.code, answer.body["id"]) == (400, code, 1)


def test_unsupported_version(http):
    for version in ("1900-01-01", LEGACY, "2026-07-29", ""):
        body = modern("tools/list", **{META + "protocolVersion": version})
        answer = http.post(body, {"MCP-Protocol-Version": version})
        assert answer.status == 400
        assert answer.code in (-32022, -32020)
        if version == "1900-01-01":
            assert answer.body["error"]["data"]["requested"] == version
            assert VERSION in answer.body["error"]["data"]["supported"]


@pytest.mark.parametrize("headers", [
    {"MCP-Protocol-Version": None}, {"MCP-Protocol-Version": LEGACY},
    {"Mcp-Method": None}, {"Mcp-Method": "tools/list"}, {"Mcp-Method": "Tools/Call"},
    {"Mcp-Name": None}, {"Mcp-Name": "test_slow"}, {"Mcp-Name": "=?base64?dGVzdF9lY2hv?="},
    {"Mcp-Param-Region": None}, {"Mcp-Param-Region": "west"},
    {"Mcp-Param-Region": "=?base64?ZWFzd?="}, {"Mcp-Param-Zone": None},
    {"Mcp-Param-Zone": "8"}, {"Mcp-Param-Zone": "7x"},
])
def test_headers_must_match(http, headers):
    right = {"Mcp-Param-Region": "=?base64?ZWFzdA==?=", "Mcp-Param-Zone": "7.0"}
    body = call("test_custom_header", {"region": "east", "zone": 7})
    assert http.post(body, right).status == 200
    answer = http.post(body, {**right, **headers})
    assert (answer.status, answer.code, answer.body["id"]) == (400, -32020, 1)


@pytest.mark.parametrize("method", ["initialize", "ping", "logging/setLevel", "resources/subscribe",
                                    "no/such", "__proto__", ""])
def test_gone_methods(http, method):
    answer = http.post(modern(method))
    assert (answer.status, answer.code) == (404, -32601)


def test_notification(http):
    note = {"jsonrpc": "2.0", "method": "notifications/whatever", "params": {}}
    answer = http.post(note, {"MCP-Protocol-Version": VERSION})
    assert answer.status == 202 and answer.text == ""
    response = {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert http.post(response, {"MCP-Protocol-Version": VERSION}).status == 400
    assert http.post([modern("tools/list")], {"MCP-Protocol-Version": VERSION}).status == 400


def test_arguments_are_checked(http):
    def problem(tool, arguments):
        result = http.post(call(tool, arguments)).body["result"]
        assert result["isError"]
        return result["content"][0]["text"]

    assert problem("test_slow", {"ms": "1"}) == 'test_slow: argument "ms" must be an integer.'
    assert problem("test_slow", {}) == 'test_slow: the arguments lack "ms", which is required.'
    assert "at least 0" in problem("test_slow", {"ms": -1})
    assert "no such argument" in problem("test_sampling", {"prompt": "x", "extra": 1})
    assert "at most 2000000 characters" in problem("test_echo", {"text": "x" * 2000001})
    assert http.post(call("test_echo", {"text": "é" * 1000000})).body["result"].get("isError") is None
    for arguments in ([], 1, "x", None):
        body = modern("tools/call", {"name": "test_echo", "arguments": arguments})
        assert http.post(body).code == -32602


def test_capabilities(http):
    answer = http.post(call("test_missing_capability"))
    assert (answer.status, answer.code) == (400, -32021)
    assert answer.body["error"]["data"]["requiredCapabilities"] == {"sampling": {}}
    assert http.post(call("test_missing_capability", abilities={"sampling": {}})).status == 200
    # A tool that asks all the same.
    assert http.post(call("test_input_required_result_elicitation")).code == -32021
    url_only = {"elicitation": {"url": {}}}
    assert http.post(call("test_input_required_result_elicitation", abilities=url_only)).code == -32021


# --- requestState --------------------------------------------------------------------------------

def again(http, tool, state, arguments=None, tenant="nobody", **params):
    body = modern("tools/call", {"name": tool, "arguments": arguments or {}, "requestState": state,
                                 "inputResponses": {"confirm": {"action": "accept"}}, **params},
                  abilities={"elicitation": {}})
    return http.post(body, {"Authorization": f"Bearer {tenant}"})


def test_state_is_bound(http):
    tool = "test_input_required_result_request_state"
    first = http.post(call(tool, abilities={"elicitation": {}}))
    state = first.body["result"]["requestState"]
    assert "state-ok" in again(http, tool, state).text
    other = "test_input_required_result_tampered_state"
    for answer in (again(http, tool, state, tenant="mallory"), again(http, other, state),
                   again(http, tool, state, {"x": 1}), again(http, tool, state[:-1]),
                   again(http, tool, state + "A"), again(http, tool, ""), again(http, tool, 5),
                   again(http, tool, "A" * 100000), again(http, tool, None),
                   again(http, tool, state.swapcase())):
        assert answer.code == -32602, answer.text
    for i in range(0, len(state), 7):
        wrong = state[:i] + ("A" if state[i] != "A" else "B") + state[i + 1:]
        assert again(http, tool, wrong).code == -32602


# --- streams -------------------------------------------------------------------------------------

def test_stream_headers(http):
    answer = http.post(call("test_tool_with_progress", progressToken=1))
    assert answer.type == "text/event-stream" and answer.headers["X-Accel-Buffering"] == "no"
    assert [m["params"]["progress"] for m in answer.messages[:-1]] == [0, 50, 100]
    assert not [e for e in answer.events if "id" in e]
    plain = http.post(call("test_tool_with_progress", progressToken=1),
                      {"Accept": "application/json"})
    assert plain.type == "application/json" and "result" in plain.body


def test_logs_are_asked_for(http):
    loud = http.post(call("test_logging_tool", **{META + "logLevel": "info"}))
    assert [m["method"] for m in loud.messages[:-1]] == ["notifications/message"]
    for level in ({}, {META + "logLevel": "warning"}):
        assert len(http.post(call("test_logging_tool", **level)).messages) == 1


@pytest.mark.parametrize("token", [None, 1])
def test_closing_cancels(http, token):
    """Whether a stream has begun or not."""
    before = cancelled(http)
    meta = {"progressToken": token} if token else {}
    body = json.dumps(call("test_slow", {"ms": 20000}, **meta)).encode()
    with http.raw() as raw:
        raw.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    b"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"
                    b"Mcp-Name: test_slow\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        if token:
            assert b"notifications/progress" in raw.recv(4096) + raw.recv(4096)
        else:
            time.sleep(0.2)
    wait_cancelled(http, before)


def listen(http, body):
    raw = http.raw()
    data = json.dumps(body).encode()
    raw.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n"
                b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
    return raw


def heard(raw, count):
    text = b""
    raw.settimeout(5)
    while text.count(b"data: ") < count:
        data = raw.recv(65536)
        assert data, text
        text += data
    lines = [line for line in text.split(b"\n") if line.startswith(b"data: ")]
    return [json.loads(line[6:]) for line in lines]


def test_listen(http):
    wish = {"toolsListChanged": True, "resourcesListChanged": True,
            "resourceSubscriptions": ["test://watched-resource", 5], "unknown": True}
    with listen(http, modern("subscriptions/listen", {"notifications": wish}, "sub")) as raw:
        ack = heard(raw, 1)[0]
        assert ack["method"] == "notifications/subscriptions/acknowledged"
        assert ack["params"]["notifications"] == {
            "toolsListChanged": True, "resourceSubscriptions": ["test://watched-resource"]}
        http.post(call("test_trigger_prompt_change"))
        http.post(call("test_trigger_update", {"uri": "test://other"}))
        http.post(call("test_trigger_update", {"uri": "test://watched-resource"}),
                  {"Authorization": "Bearer other"})
        http.post(call("test_trigger_update", {"uri": "test://watched-resource"}))
        http.post(call("test_trigger_tool_change"))
        got = heard(raw, 2)
        assert [m["method"] for m in got] == ["notifications/resources/updated",
                                              "notifications/tools/list_changed"]
        assert all(m["params"]["_meta"][META + "subscriptionId"] == "sub" for m in got)


def test_listeners_are_bounded(http):
    body = modern("subscriptions/listen", {"notifications": {}})
    fine = {"Authorization": "Bearer listener"}
    open_ones = []
    try:
        for _ in range(16):
            raw = http.raw()
            data = json.dumps(body).encode()
            raw.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer listener\r\n"
                        b"Content-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\n"
                        b"Mcp-Method: subscriptions/listen\r\nContent-Length: %d\r\n\r\n%s"
                        % (len(data), data))
            assert heard(raw, 1)
            open_ones.append(raw)
        assert http.post(body, fine).code == -32603
        with listen(http, body) as other:
            assert heard(other, 1)
    finally:
        for raw in open_ones:
            raw.close()


# --- the legacy version --------------------------------------------------------------------------

@pytest.mark.parametrize("asked,given", [
    ("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-03-26"), ("2025-06-18", "2025-06-18"),
    (LEGACY, LEGACY), ("1999-01-01", LEGACY), (VERSION, LEGACY),
])
def test_negotiation(http, asked, given):
    result = http.open(asked).body["result"]
    assert result["protocolVersion"] == given
    assert http.post(request("ping", number=2)).body == {"jsonrpc": "2.0", "id": 2, "result": {}}


@pytest.mark.parametrize("params", [None, {}, {"protocolVersion": LEGACY},
                                    {"protocolVersion": 1, "capabilities": {}}])
def test_bad_initialize(http, params):
    answer = http.post(request("initialize", params))
    assert answer.code == -32602 and "Mcp-Session-Id" not in answer.headers


def test_session_is_needed(http):
    assert http.post(request("tools/list")).status == 400
    for name in ("x", "A" * 43, "é".encode().decode("latin-1"), "A" * 5000):
        assert http.post(request("tools/list"), {"Mcp-Session-Id": name}).status == 404


def test_session_is_the_tenants(url):
    mine, other = Http(url), Http(url)
    alice, bob = {"Authorization": "Bearer alice"}, {"Authorization": "Bearer bob"}
    mine.open(headers=alice)
    other.session = mine.session
    for answer in (other.post(request("tools/list"), bob), other.post(request("tools/list")),
                   other.send("DELETE", None, {**bob, "Mcp-Session-Id": mine.session}),
                   other.send("GET", None, {**bob, "Mcp-Session-Id": mine.session})):
        assert answer.status == 404
    assert mine.post(request("tools/list"), alice).status == 200


def test_session_ids_are_unguessable(url):
    names = set()
    for _ in range(20):
        http = Http(url)
        http.open()
        names.add(http.session)
        assert len(http.session) == 43
    assert len(names) == 20 and len({name[:6] for name in names}) == 20


def test_session_ends(http):
    http.open()
    headers = {"Mcp-Session-Id": http.session}
    assert http.send("DELETE", None, headers).status == 204
    assert http.post(request("tools/list")).status == 404
    assert http.send("DELETE", None, headers).status == 404


def test_ending_a_session_cancels(url):
    http, plain = Http(url), Http(url)
    http.open()
    before = cancelled(plain)
    body = json.dumps(request("tools/call", {"name": "test_slow", "arguments": {"ms": 20000}}))
    with http.raw() as raw:
        raw.sendall(("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     f"Mcp-Session-Id: {http.session}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
                     ).encode())
        time.sleep(0.2)
        assert http.send("DELETE", None, {"Mcp-Session-Id": http.session}).status == 204
        assert b" 404 " in raw.recv(4096)
    wait_cancelled(plain, before)


def test_version_header(http):
    http.open()
    answer = http.post(request("tools/list"), {"MCP-Protocol-Version": "1.0"})
    assert (answer.status, answer.code) == (400, -32022)
    assert http.post(request("tools/list"), {"MCP-Protocol-Version": None}).status == 200


def test_unknown_method_and_tool(http):
    http.open()
    assert http.post(request("no/such")).code == -32601
    assert http.post(request("server/discover")).code == -32020  # of the other version
    assert http.post(request("tools/call", {"name": "nope"})).code == -32602
    assert http.post(request("tools/call")).code == -32602
    assert http.post(request("resources/read", {"uri": "test://nope"})).code == -32002
    assert http.post(request("tools/list", {"cursor": "x"})).code == -32602
    assert http.post(request("initialize", {"protocolVersion": LEGACY, "capabilities": {}}),
                     {"Mcp-Session-Id": http.session}).status == 200  # another session


def test_batches(http):
    two = [request("ping", number=1), {"jsonrpc": "2.0", "method": "notifications/initialized"},
           request("tools/call", {"name": "test_simple_text"}, "b"), 17]
    http.open("2025-03-26")
    answer = http.post(two, {"MCP-Protocol-Version": None})
    assert answer.status == 200
    found = {m.get("id"): m for m in answer.body}
    assert found[1]["result"] == {} and "result" in found["b"]
    assert found[None]["error"]["code"] == INVALID and len(found) == 3
    assert http.post(two[1:2], {"MCP-Protocol-Version": None}).status == 202
    for wrong in ([], [request("ping", number=i) for i in range(65)]):
        assert http.post(wrong, {"MCP-Protocol-Version": None}).code == INVALID
    # Slow ones are waited for; a stream delivers the messages before.
    slow = [request("tools/call", {"name": "test_slow", "arguments": {"ms": 100}, "_meta": {
        "progressToken": "t"}}, 5), request("ping", number=6)]
    answer = http.post(slow, {"MCP-Protocol-Version": None})
    assert answer.messages[0]["method"] == "notifications/progress"
    assert sorted(m["id"] for m in answer.body) == [5, 6]
    http.open("2025-06-18")
    answer = http.post(two, {"MCP-Protocol-Version": None})
    assert (answer.status, answer.code) == (400, INVALID)


def test_one_general_stream(url):
    http = Http(url)
    http.open()
    with http.raw() as raw:
        raw.sendall(f"GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
                    f"Mcp-Session-Id: {http.session}\r\n\r\n".encode())
        time.sleep(0.2)
        again_headers = {"Accept": "text/event-stream", "Mcp-Session-Id": http.session}
        assert http.send("GET", None, again_headers).status == 409
        http.post(call("test_trigger_tool_change"))
        text = b""
        while b"list_changed" not in text:
            text += raw.recv(4096)
        assert b"X-Accel-Buffering: no" in text and b"retry:" in text


def test_resumption(url):
    """The connection breaks; the call continues, and the client gets the rest, once."""
    http = Http(url)
    http.open()
    before = cancelled(Http(url))
    body = json.dumps(request("tools/call", {"name": "test_tool_with_progress",
                                             "_meta": {"progressToken": 9}}, 4))
    text = b""
    with http.raw() as raw:
        raw.sendall(("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     f"Accept: text/event-stream\r\nMcp-Session-Id: {http.session}\r\n"
                     f"Content-Length: {len(body)}\r\n\r\n{body}").encode())
        while b"notifications/progress" not in text:
            text += raw.recv(4096)
    got = [line[3:].strip().decode() for line in text.split(b"\n") if line.startswith(b"id:")]
    time.sleep(0.3)
    headers = {"Accept": "text/event-stream", "Mcp-Session-Id": http.session,
               "Last-Event-ID": got[1]}
    answer = http.send("GET", None, headers)
    assert [m.get("params", {}).get("progress") for m in answer.messages] == [50, 100, None]
    assert answer.messages[-1]["id"] == 4
    assert cancelled(Http(url)) == before
    # From the very beginning, and as another client.
    assert len(http.send("GET", None, {**headers, "Last-Event-ID": got[0]}).messages) == 4
    bob = {**headers, "Authorization": "Bearer bob"}
    assert http.send("GET", None, bob).status == 404


def test_release_and_poll(http):
    http.open()
    answer = http.post(request("tools/call", {"name": "test_reconnection"}, 3))
    assert answer.messages == [] and answer.events[0]["retry"]
    rest = http.send("GET", None, {"Accept": "text/event-stream", "Mcp-Session-Id": http.session,
                                   "Last-Event-ID": answer.events[0]["id"]})
    assert rest.messages[-1]["id"] == 3 and "result" in rest.messages[-1]


def test_cancel_by_notification(url):
    http = Http(url)
    http.open()
    before = cancelled(Http(url))
    body = json.dumps(request("tools/call", {"name": "test_slow", "arguments": {"ms": 20000}}, "c"))
    with http.raw() as raw:
        raw.sendall(("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     f"Mcp-Session-Id: {http.session}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
                     ).encode())
        time.sleep(0.2)
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "c"}}
        assert http.post(note).status == 202
        wait_cancelled(Http(url), before)
        text = raw.recv(65536)
        assert b"text/event-stream" in text and b"data:" not in text and text.endswith(b"0\r\n\r\n")
    for odd in ({}, {"requestId": None}, {"requestId": {"a": 1}}, {"requestId": "nope"}):
        assert http.post({**note, "params": odd}).status == 202


def test_forged_answers(url):
    """Answers to another session's or to invented questions are ignored."""
    http, other = Http(url), Http(url)
    http.open(capabilities={"sampling": {}})
    other.open(capabilities={"sampling": {}})
    body = json.dumps(request("tools/call", {"name": "test_sampling", "arguments": {"prompt": "p"}}))
    with http.raw() as raw:
        raw.sendall(("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     f"Mcp-Session-Id: {http.session}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
                     ).encode())
        text = b""
        while b"sampling/createMessage" not in text:
            text += raw.recv(4096)
        good = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "right"}}
        wrong = {**good, "content": {"type": "text", "text": "forged"}}
        for number in (1, 2, "1", 99):
            assert other.post({"jsonrpc": "2.0", "id": number, "result": wrong}).status == 202
        for number in ("1", 99, -1):
            assert http.post({"jsonrpc": "2.0", "id": number, "result": wrong}).status == 202
        assert http.post({"jsonrpc": "2.0", "id": 1, "result": good}).status == 202
        text = b""
        while b"LLM response" not in text:
            text += raw.recv(4096)
        assert b"LLM response: right" in text
    # An error instead of an answer.
    with http.raw() as raw:
        raw.sendall(("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     f"Mcp-Session-Id: {http.session}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
                     ).encode())
        while b"sampling/createMessage" not in text:
            text += raw.recv(4096)
        http.post({"jsonrpc": "2.0", "id": 2, "error": {"code": -1, "message": "I will not"}})
        while b"I will not" not in text:
            text += raw.recv(4096)
        assert b'"isError":true' in text


def test_same_id_twice(url):
    http = Http(url)
    http.open()
    body = json.dumps(request("tools/call", {"name": "test_slow", "arguments": {"ms": 1000}}, 8))
    with http.raw() as raw:
        raw.sendall(("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     f"Mcp-Session-Id: {http.session}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
                     ).encode())
        time.sleep(0.2)
        assert http.post(request("ping", number=8)).code == INVALID
        assert b"slow but sure" in raw.recv(65536)


def test_sessions_are_bounded(url):
    """The oldest idle ones make room."""
    first = Http(url)
    first.open(headers={"Authorization": "Bearer many"})
    for _ in range(256):
        Http(url).open(headers={"Authorization": "Bearer many"})
    assert first.post(request("ping"), {"Authorization": "Bearer many"}).status == 404
