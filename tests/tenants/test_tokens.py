# SPDX-License-Identifier: Apache-2.0
"""A1 to A4: authentication, the limits of a token, and its end."""

import json
import os
import signal
import socket
import subprocess
import threading
import time

import pytest
from callers import quiet, running, serve, wait_for

RUN = {"code": "print(1)"}
ROUTES = [
    ("POST", "/v1/execute", RUN), ("POST", "/v1/executions", RUN), ("GET", "/v1/executions", None),
    ("GET", "/v1/executions/01ARZ3NDEKTSV4RRFFQ69G5FAV", None),
    ("DELETE", "/v1/executions/01ARZ3NDEKTSV4RRFFQ69G5FAV", None),
    ("GET", "/v1/executions/01ARZ3NDEKTSV4RRFFQ69G5FAV/events", None),
    ("POST", "/v1/batch", {"programs": [RUN]}), ("POST", "/v1/sessions", {}),
    ("GET", "/v1/sessions", None), ("GET", "/v1/sessions/x", None), ("DELETE", "/v1/sessions/x", None),
    ("POST", "/v1/sessions/x/execute", RUN), ("POST", "/v1/sessions/x/interrupt", None),
    ("GET", "/v1/sessions/x/files", None), ("GET", "/v1/sessions/x/files/y", None),
    ("PUT", "/v1/sessions/x/files/y", b"y"), ("DELETE", "/v1/sessions/x/files/y", None),
    ("GET", "/v1/runtimes", None), ("GET", "/v1/policies", None), ("POST", "/v1/policies/check", RUN),
    ("GET", "/metrics", None), ("GET", "/openapi.json", None), ("POST", "/api/sandbox/execute", RUN),
    ("POST", "/mcp", {}), ("GET", "/mcp", None), ("DELETE", "/mcp", None), ("GET", "/", None),
    ("GET", "/v1/health/x", None), ("GET", "/v1/healt%68x", None), ("POST", "/v1/health", None),
    ("HEAD", "/v1/runtimes", None), ("OPTIONS", "/v1/execute", None), ("OPTIONS", "/mcp", None),
]


def started(house):
    """How many programs have ever been begun here."""
    return len(house.unix().ask("GET", "/v1/executions?limit=1000").json()["executions"])


@pytest.mark.parametrize("method,path,body", ROUTES)
def test_a4_nothing_without_a_token(house, method, path, body):
    answer = house.tcp().ask(method, path, body)
    assert answer.status in (401, 405)
    assert answer.status == 401 or path == "/v1/health"
    assert answer.header("Access-Control-Allow-Origin") is None
    assert answer.header("Server") is None


def test_a4_health_tells_nothing(house):
    for path in ("/v1/health", "/v1/health?verbose=1"):
        answer = house.tcp().ask("GET", path)
        assert answer.status == 200 and answer.json() == {"status": "ok"}
        names = {name.lower() for name, _ in answer.headers}
        assert names <= {"content-type", "content-length", "date", "x-content-type-options",
                         "cache-control", "connection", "keep-alive"}


def altered(token):
    """Authorizations that are almost the right one."""
    head, tail = token[:5], token[5:]
    last = "A" if token[-1] != "A" else "B"
    return [
        "", "Bearer", "Bearer ", "Bearer " + token[:-1], "Bearer " + token + "A", "Bearer " + tail,
        "Bearer " + head, "Bearer " + token[:-1] + last, "Bearer A" + token[1:],
        "Bearer " + token.upper(), "Bearer " + token.lower(), "Bearer " + head.upper() + tail,
        "Bearer " + token.swapcase(), "Bearer  " + token, "Bearer\t" + token, "Bearer=" + token,
        'Bearer "' + token + '"', "Bearer " + token + ", Bearer x", "Bearer x, Bearer " + token,
        "Bearer " + token + " x", "Basic " + token, "Basic OmFsaWNl", "Digest " + token, token,
        "Token " + token, "bearer: " + token, "Bearer " + token + "%00", "Bearer " + token + "\u00a0",
        "Bearer " + token.replace("b", "\u00fe"), "Bearer " + "A" * 8000, "Bearer blake2b:" + "0" * 64,
        "Bearer *", "Bearer null", "Bearer undefined", "Bearer [object Object]", "Bearer uid:0",
        "Bearer alice",
    ]


def test_a1_wrong_tokens(house):
    before = started(house)
    nobody = house.tcp()
    for wrong in altered(house.tokens["alice"]):
        header = {"Authorization": wrong.encode("latin-1")}
        answer = nobody.ask("POST", "/v1/execute", RUN, header)
        # Bytes that no header may have are refused before the token is read.
        assert answer.code == "unauthorized" or (not wrong.isascii() and answer.status == 400), wrong
        assert house.tokens["alice"][5:20].encode() not in answer.body
    assert started(house) == before
    good = {"Authorization": "Bearer " + house.tokens["alice"]}
    assert nobody.ask("POST", "/v1/execute", RUN, good).status == 200


def test_a1_hash_is_no_token(house):
    """A reader of the file of hashes cannot authenticate with them."""
    entry = next(e for e in json.loads(house.file.read_text())["tokens"] if e["name"] == "alice")
    for word in (entry["hash"], entry["hash"].split(":")[1]):
        assert house.tcp(token=word).ask("GET", "/v1/runtimes").status == 401


def test_a1_tokens_elsewhere(house):
    token = house.tokens["alice"]
    nobody = house.tcp()
    for name in ("token", "access_token", "authorization", "Authorization", "api_key", "key"):
        assert nobody.ask("GET", f"/v1/runtimes?{name}={token}").status == 401
        assert nobody.ask("GET", f"/v1/runtimes?{name}=Bearer%20{token}").status == 401
    for name in ("Cookie", "X-Api-Key", "X-Auth-Token", "Proxy-Authorization", "X-Authorization",
                 "X-Forwarded-Authorization", "Authorization2"):
        for value in (token, "Bearer " + token, "token=" + token, "Authorization=Bearer " + token):
            assert nobody.ask("GET", "/v1/runtimes", headers={name: value}).status == 401, name
    body = {**RUN, "token": token}
    assert nobody.ask("POST", "/v1/execute", body).status == 401


def test_a1_two_authorizations(house):
    """Two of them: refused, without a guess which one is meant."""
    for first, second in (("alice", "mallory"), ("alice", "alice"), ("mallory", "alice")):
        got = house.raw(house.head("GET", "/v1/runtimes", first,
                                   f"Authorization: Bearer {house.tokens[second]}", "Connection: close"))
        assert got.split()[1] in (b"400", b"401"), got[:300]
    got = house.raw(house.head("GET", "/v1/runtimes", "alice", "Authorization: ", "Connection: close"))
    assert got.split()[1] in (b"400", b"401")
    control = house.raw(house.head("GET", "/v1/runtimes", "alice", "Connection: close"))
    assert control.split()[1] == b"200"


def test_a1_one_way_in_by_unix(house, belongings):
    """On the unix socket a user can send a token; claiming to be another user has no effect."""
    unix = house.unix("mallory")
    path = f"/v1/executions/{belongings.execution}"
    for name in ("X-Forwarded-User", "X-Remote-User", "X-Uid", "X-Tenant", "Tenant", "From", "X-Real-IP"):
        assert unix.ask("GET", path, headers={name: "alice"}).status == 404
    assert unix.ask("GET", path + "?tenant=alice").status == 404
    answer = unix.ask("POST", "/v1/execute", {**RUN, "tenant": "alice"})
    assert answer.status == 400 and "tenant" in answer.json()["detail"]
    good = {"Authorization": "Bearer " + house.tokens["alice"]}
    assert unix.ask("GET", path, headers=good).status == 200


def test_a1_expired(make_house):
    house = make_house(tokens=[("old",), ("soon",), ("alice",)], started=False)

    def expire(entries, _):
        entries["old"]["expires"] = "2020-01-01T00:00:00Z"
        end = time.gmtime(time.time() + 4)
        entries["soon"]["expires"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", end)

    house.edit_tokens(expire)
    house.start()
    soon = house.tcp("soon")
    assert house.tcp("old").ask("POST", "/v1/execute", RUN).status == 401
    assert soon.ask("POST", "/v1/execute", RUN).status == 200
    kept = soon.connect()

    def refused():
        kept.request("GET", "/v1/runtimes", headers=soon.all_headers({}))
        answer = kept.getresponse()
        answer.read()
        return answer.status == 401

    # Also on a connection that was authenticated before.
    wait_for(refused, 10, "expiry")
    assert house.tcp("alice").run("print(1)")["status"] == "ok"


# --- Host, Origin -----------------------------------------------------------------------------------

HOSTS = ["evil.example", "evil.example:{port}", "localhost.evil.example", "127.0.0.1.nip.io",
         "127.0.0.1.:{port}", "127.1", "0.0.0.0:{port}", "2130706433", "0x7f.1", "127.0.0.2", "[::]",
         "[::ffff:127.0.0.1]", "localhost,evil.example", "localhost@evil.example", "evil.example#localhost"]
TARGETS = [("POST", "/v1/execute", {}), ("POST", "/v1/execute", {"Accept": "text/event-stream"}),
           ("POST", "/mcp", {"Accept": "application/json, text/event-stream"}),
           ("GET", "/mcp", {"Accept": "text/event-stream"}), ("GET", "/v1/health", {}),
           ("POST", "/api/sandbox/execute", {}), ("POST", "/v1/batch", {"Accept": "text/event-stream"})]


@pytest.mark.parametrize("host", HOSTS)
def test_a2_hosts(house, alice, host):
    """DNS rebinding: the page's own name resolves to this address, with a token the page should not
    have."""
    for method, path, headers in TARGETS:
        body = RUN if method == "POST" else None
        answer = alice.ask(method, path, body, {**headers, "Host": host.format(port=house.port)})
        assert answer.status in (400, 403), (path, answer.status)


ORIGINS = ["http://evil.example", "https://evil.example", "null", "file://", "http://localhost.evil.example",
           "http://evil.example#localhost", "http://localhost@evil.example", "http://127.0.0.1.nip.io",
           "chrome-extension://abcdef", "http://", "localhost", "http://evil.example/http://localhost",
           "http://localhost evil.example", "//localhost", "HTTP://localhost/x", "ftp://localhost"]


@pytest.mark.parametrize("origin", ORIGINS)
def test_a2_origins(house, alice, origin):
    for client in (alice, house.unix()):
        for method, path, headers in TARGETS:
            body = RUN if method == "POST" else None
            answer = client.ask(method, path, body, {**headers, "Origin": origin})
            assert answer.status in (400, 403), (path, answer.status)
            assert answer.header("Access-Control-Allow-Origin") is None


def test_a2_control(house, alice):
    ours = {"Host": f"localhost:{house.port}", "Origin": f"http://localhost:{house.port}"}
    assert alice.ask("POST", "/v1/execute", RUN, ours).status == 200


FORMS = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
         "text/plain; application/json", "application/json-x", "text/json", "application/jsonp",
         "text/plain,application/json", ""]


@pytest.mark.parametrize("path", ["/v1/execute", "/v1/executions", "/v1/batch", "/v1/sessions",
                                  "/v1/policies/check", "/api/sandbox/execute", "/mcp"])
def test_a3_no_simple_requests(house, alice, path):
    """Requests that a page can send without a preflight do not have the type JSON, and so are
    refused."""
    before = started(house)
    for client in (alice, house.unix()):
        for kind in FORMS:
            answer = client.ask("POST", path, json.dumps(RUN), {"Content-Type": kind})
            assert answer.status == 415, (kind, answer.status)
        assert client.ask("POST", path, json.dumps(RUN)).status == 415
    assert started(house) == before
    control = alice.ask("POST", "/v1/execute", json.dumps(RUN), {"Content-Type": "application/json"})
    assert control.status == 200


def test_a3_preflight(house, alice):
    headers = {"Origin": "http://localhost:1", "Access-Control-Request-Method": "POST",
               "Access-Control-Request-Headers": "authorization,content-type"}
    for client in (alice, house.unix(), house.tcp()):
        for path in ("/v1/execute", "/mcp"):
            answer = client.ask("OPTIONS", path, headers=headers)
            assert answer.status in (401, 405)
            assert not [name for name, _ in answer.headers if name.lower().startswith("access-control")]


# --- limits of a token ------------------------------------------------------------------------------


@pytest.fixture
def bounded(make_house):
    """small: little memory and time; strict: one policy alone."""
    house = make_house(tokens=[("small",), ("strict", "--policy", "strict"), ("alice",)], started=False)
    house.edit_tokens(lambda entries, _: entries["small"].update(
        limits={"memory_bytes": 128 << 20, "wall_ms": 2000, "processes": 8}))
    return house.start()


LARGE = {"memory_bytes": 256 << 20}


def test_a12_ceilings_hold_everywhere(bounded):
    small, alice = bounded.tcp("small"), bounded.tcp("alice")
    over = {**RUN, "limits": LARGE}
    asked = [("/v1/execute", over), ("/v1/executions", over), ("/v1/policies/check", over),
             ("/v1/execute", {**RUN, "timeout_ms": 2001}), ("/v1/sessions", {"limits": LARGE}),
             ("/v1/sessions", {"timeout_ms": 60000}),
             ("/v1/batch", {"programs": [RUN, over]}), ("/v1/batch", {"programs": [over]})]
    for path, body in asked:
        answer = small.ask("POST", path, body)
        assert (answer.status, answer.code) == (400, "invalid_request"), (path, answer.body)
        assert "with this token" in answer.json()["detail"]
    answer = small.ask("POST", "/v1/execute", over, {"Accept": "text/event-stream"})
    assert answer.status == 400
    answer = small.ask("POST", "/api/sandbox/execute", {**RUN, "max_memory_mb": 256})
    # The older dialect uses the nearest allowed value, as its document requires: no more than that.
    assert answer.status == 200 and answer.json()["limits_applied"]["memory_mb"] <= 128, answer.body
    answer = small.ask("POST", "/api/sandbox/execute", {**RUN, "timeout_seconds": 300})
    assert answer.status == 200 and answer.json()["limits_applied"]["timeout_seconds"] <= 2, answer.body
    wrong, text = small.mcp().text("execute_code", code="print(1)", timeout=60)
    assert wrong and "2000" in text
    assert alice.run("print(1)", limits=LARGE)["limits"]["memory_bytes"] == 256 << 20


def test_a12_ceilings_hold_unasked(bounded):
    """A request without limits gets no more than the ceiling, by any route."""
    small = bounded.tcp("small")
    assert small.run("1")["limits"]["memory_bytes"] == 128 << 20
    line = small.ask("POST", "/v1/batch", {"programs": [RUN]}).body.splitlines()[0]
    assert json.loads(line)["result"]["limits"]["wall_ms"] == 2000
    found = small.wait(small.order("1"))
    assert found["result"]["limits"]["wall_ms"] == 2000
    sleep = "import time; time.sleep(5); print('slept')"
    for answer in (
        small.ask("POST", "/api/sandbox/execute", {"code": sleep}).json(),
        small.mcp().call("execute_code", code=sleep)["structuredContent"],
    ):
        assert answer["status"] == "timeout" and "slept" not in answer["stdout"]


def test_a12_ceilings_hold_in_sessions(bounded):
    small = bounded.tcp("small")
    session = small.session()
    limits = small.run_in(session, "1")["limits"]
    assert limits["memory_bytes"] == 128 << 20 and limits["wall_ms"] == 2000
    answer = small.ask("POST", f"/v1/sessions/{session}/execute", {**RUN, "timeout_ms": 60000})
    assert answer.status == 400
    by_mcp = small.mcp().call("open_session")["structuredContent"]
    limits = small.run_in(by_mcp.get("id") or by_mcp["session_id"], "1")["limits"]
    assert limits["memory_bytes"] == 128 << 20 and limits["wall_ms"] == 2000


def test_a12_ceilings_are_no_gifts(make_house):
    """A ceiling above the policy's value changes nothing for a request without limits."""
    house = make_house(tokens=[("large",), ("plain",)], started=False)
    house.edit_tokens(lambda entries, _: entries["large"].update(limits={
        "wall_ms": 3600000, "cpu_ms": 100000, "memory_bytes": 8 << 30, "processes": 100,
        "stdout_bytes": 8 << 20}))
    house.start()
    large, plain = house.tcp("large"), house.tcp("plain")
    usual = plain.run("1")["limits"]
    assert large.run("1")["limits"] == usual
    assert large.run_in(large.session(), "1")["limits"] == usual
    answer = large.ask("POST", "/v1/policies/check", {"code": "1"}).json()
    assert answer["allowed"] and answer["limits"] == usual
    # More is available on request.
    assert large.run("1", timeout_ms=100000)["limits"]["wall_ms"] == 100000


def test_a12_runs_of_a_session_get_no_more_than_it_has(bounded):
    """The token's ceiling is no default: a request without limits has those with which the session
    was opened."""
    small = bounded.tcp("small")
    session = small.session(timeout_ms=400, limits={"stdout_bytes": 2000})
    assert small.run_in(session, "1")["limits"]["wall_ms"] == 400
    result = small.run_in(session, "import time; time.sleep(1.5)")
    assert result["status"] == "timeout" and result["limits"]["wall_ms"] == 400
    assert small.run_in(session, "print('x' * 3000)")["limits"]["stdout_bytes"] == 2000
    found = small.wait(small.order("1", session=session))
    assert found["result"]["limits"]["wall_ms"] == 400
    by_mcp = small.mcp().call("execute_code", code="import time; time.sleep(1.5)", session_id=session)
    assert by_mcp["structuredContent"]["status"] == "timeout"
    # More may be requested, up to the ceiling.
    assert small.run_in(session, "1", timeout_ms=1500)["limits"]["wall_ms"] == 1500


def test_a12_ceilings_hold_in_sessions_of_a_colleague(make_house):
    """Two tokens of a tenant: a session has the limits of its opener, a run those of its caller."""
    house = make_house(tokens=[("large", "--tenant", "firm"),
                               ("small", "--tenant", "firm")], started=False)

    def bound(entries, _):
        entries["small"]["limits"] = {"wall_ms": 60000, "cpu_ms": 1000, "stdout_bytes": 1000}

    house.edit_tokens(bound)
    house.start()
    large, small = house.tcp("large"), house.tcp("small")
    session = large.session(timeout_ms=100000)
    limits = small.run_in(session, "1")["limits"]
    assert (limits["wall_ms"], limits["cpu_ms"], limits["stdout_bytes"]) == (60000, 1000, 1000)
    limits = large.run_in(session, "1")["limits"]
    assert limits["wall_ms"] == 100000 and limits["stdout_bytes"] > 1000


def test_a12_policies_of_a_token(bounded):
    strict = bounded.tcp("strict")
    for path, body in (
        ("/v1/execute", RUN), ("/v1/execute", {**RUN, "policy": "default"}), ("/v1/executions", RUN),
        ("/v1/sessions", {}), ("/v1/batch", {"programs": [{**RUN, "policy": "strict"}, RUN]}),
        ("/v1/policies/check", RUN), ("/v1/execute", {**RUN, "policy": "local"}),
        ("/v1/execute", {**RUN, "policy": "STRICT"}), ("/v1/execute", {**RUN, "policy": "nothing"}),
    ):
        answer = strict.ask("POST", path, body)
        assert (answer.status, answer.code) == (403, "policy_not_allowed"), (path, body, answer.body)
    for name in ("../strict", "strict/../default", "/etc/passwd", "strict\\u0000default", ""):
        body = json.dumps({**RUN, "policy": "@"}).replace("@", name)
        answer = strict.ask("POST", "/v1/execute", body, {"Content-Type": "application/json"})
        assert answer.status in (400, 403), (name, answer.body)
    assert strict.ask("POST", "/api/sandbox/execute", RUN).status == 400
    assert strict.mcp().text("execute_code", code="print(1)")[0]
    assert strict.mcp().text("open_session")[0]
    # The control. An ordinary user's host may lack layers that this policy requires: then that is
    # the response.
    answer = strict.ask("POST", "/v1/execute", {**RUN, "policy": "strict"})
    assert answer.status == 200 or answer.code == "host_unable"
    if answer.status == 200:
        session = strict.session(policy="strict")
        assert strict.run_in(session, "print(1)")["stdout"] == "1\n"
        answer = strict.ask("POST", f"/v1/sessions/{session}/execute", {**RUN, "policy": "default"})
        assert answer.status == 403


def test_a12_rate(make_house):
    """Every kind of request counts; another token's allowance is separate."""
    house = make_house(tokens=[("slow", "--rate", "6"), ("alice",)])
    slow = house.tcp("slow")
    answers = [slow.ask(method, path, body) for method, path, body in (
        ("GET", "/v1/runtimes", None), ("POST", "/v1/execute", RUN), ("GET", "/v1/sessions", None),
        ("GET", "/v1/executions", None), ("POST", "/v1/batch", {"programs": [RUN]}),
        ("GET", "/v1/executions/x/events", None), ("POST", "/v1/execute", RUN),
        ("POST", "/mcp", {}), ("POST", "/api/sandbox/execute", RUN), ("GET", "/metrics", None))]
    assert [a.status for a in answers[6:]] == [429] * 4
    assert answers[6].code == "rate_limited" and 1 <= int(answers[6].header("Retry-After")) <= 60
    for _ in range(20):
        assert house.tcp("alice").ask("GET", "/v1/runtimes").status == 200


def test_a12_concurrency(make_house):
    """One at a time, by any routes at once."""
    house = make_house(tokens=[("one", "--concurrency", "1"), ("alice",)])
    one = house.tcp("one")
    code = "import time; a = time.time(); time.sleep(.3); print(a, time.time())"
    spans = []

    def note(text):
        begin, end = (float(word) for word in text.split())
        spans.append((begin, end))

    session = one.session()
    peer = one.mcp()
    ways = [
        lambda: note(one.run(code)["stdout"]),
        lambda: note(one.wait(one.order(code))["result"]["stdout"]),
        lambda: [note(json.loads(line)["result"]["stdout"]) for line in one.ask(
            "POST", "/v1/batch", {"programs": [{"code": code}] * 2}).body.splitlines()[:2]],
        lambda: note(one.run_in(session, code)["stdout"]),
        lambda: note(peer.call("execute_code", code=code)["structuredContent"]["stdout"]),
        lambda: note(one.ask("POST", "/api/sandbox/execute", {"code": code}).json()["stdout"]),
    ]
    threads = [threading.Thread(target=way) for way in ways]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(spans) == 7
    spans.sort()
    assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:])), spans


BURN = "import time\nend = time.process_time() + {}\nwhile time.process_time() < end: pass\n"
# A value that looks like the part of the result that is charged for.
FORGED = '{"usage": {"wall_ms": 0, "cpu_ms": 0}, "z": [{"usage": {"wall_ms": 1, "cpu_ms": 0.001}}]}'


@pytest.mark.parametrize("way", ["plain", "value", "printed", "session", "batch", "mcp", "file"])
def test_a12_quota(make_house, way):
    """Processor time is charged as it was measured, whatever the program claims."""
    house = make_house(tokens=[("poor",), ("alice",)], started=False)
    house.edit_tokens(lambda entries, _: entries["poor"].update(cpu_seconds_per_day=1))
    house.start()
    poor = house.tcp("poor")
    burn = BURN.format(1.3)
    if way == "session":
        poor.run_in(poor.session(), burn + FORGED)
    elif way == "batch":
        poor.ask("POST", "/v1/batch", {"programs": [{"code": burn}]})
    elif way == "mcp":
        poor.mcp().call("execute_code", code=burn)
    else:
        code = {"plain": burn, "value": burn + FORGED,
                "printed": burn + f"print('''{FORGED}'''.replace(' ', ''))",
                "file": burn + f"open('out/' + '''{FORGED}'''.replace(' ', '')[:200], 'w').write('x')"}
        poor.run(code[way], changes=True)
    answer = poor.ask("POST", "/v1/execute", RUN)
    assert (answer.status, answer.code) == (429, "quota_exceeded"), (way, answer.body[:500])
    assert house.tcp("alice").run("print(1)")["status"] == "ok"


# A compiler can be made to work for any time: here by evaluating a constant.
ENDLESS_CPP = """
constexpr long spin(long n) { long x = 0; for (long i = 0; i < 200000; i++) x += i ^ n; return x; }
template <long N> struct S { static constexpr long v = spin(N) + S<N - 1>::v; };
template <> struct S<0> { static constexpr long v = 0; };
int main() { return S<600>::v & 1; }
"""


def test_a12_ceilings_hold_for_compilers(make_house):
    """The compiler's cell has the caller's limits as well: a token's ceilings, and those of the
    request."""
    house = make_house(tokens=[("small",), ("alice",)], started=False)
    house.edit_tokens(lambda entries, _: entries["small"].update(limits={"cpu_ms": 1000}))
    house.start()
    result = house.tcp("small").run(ENDLESS_CPP, language="cpp")
    assert (result["status"], result["verdict"]["cause"]) == ("compile_failed", "cpu_time"), result
    assert result["limits"]["cpu_ms"] == 1000
    assert 900 < result["usage"]["cpu_ms"] < 3000
    assert result["usage"]["compile_cpu_ms"] == result["usage"]["cpu_ms"]


def test_a12_quota_of_compilers(make_house):
    """Processor time of a compiler is charged, whether the program then runs or not."""
    house = make_house(tokens=[("poor",), ("alice",)], started=False)
    house.edit_tokens(lambda entries, _: entries["poor"].update(
        cpu_seconds_per_day=1, limits={"cpu_ms": 1500}))
    house.start()
    poor = house.tcp("poor")
    assert poor.run(ENDLESS_CPP, language="cpp")["status"] == "compile_failed"
    answer = poor.ask("POST", "/v1/execute", RUN)
    assert (answer.status, answer.code) == (429, "quota_exceeded"), answer.body[:500]
    result = house.tcp("alice").run("int main() { return 0; }", language="c")
    usage = result["usage"]
    assert result["status"] == "ok" and 0 < usage["compile_cpu_ms"] <= usage["cpu_ms"]


@pytest.fixture
def poor(make_house):
    """One second a day, of one at a time."""
    house = make_house(tokens=[("poor",), ("alice",)], started=False)
    house.edit_tokens(lambda entries, _: entries["poor"].update(cpu_seconds_per_day=1, concurrency=1))
    house.start()
    # Runs wait until today's usage is known; sessions get the error to try again.
    assert house.tcp("alice").run("1")["status"] == "ok"
    return house


def wait_for_quota(client):
    """
    Few requests: each of them is a run, and all together must not use it up. A busy host takes a minute for a
    second of processor time.
    """
    for pause in (1, 1, 1, 2, 3, 5, 8, 13, 21, 34):
        time.sleep(pause)
        answer = client.ask("POST", "/v1/execute", RUN)
        if answer.status == 429:
            break
    assert (answer.status, answer.code) == (429, "quota_exceeded"), answer.body[:300]


def test_a12_quota_when_granted(poor):
    """Requests that wait while others use up the day are not run: queued before, refused at their
    turn."""
    client = poor.tcp("poor")
    first = client.order(BURN.format(1.3))
    second = client.order("print('ran')")
    assert client.wait(first)["result"]["status"] == "ok"
    found = client.wait(second)
    assert found["status"] == "error", found
    assert found["error"]["code"] == "quota_exceeded", found


def test_a12_quota_after_a_restart(poor):
    """A used-up allowance stays so: neither a stop nor a crash of the service restores it."""
    assert poor.tcp("poor").run(BURN.format(1.3))["status"] == "ok"
    poor.server.stop()
    poor.server.start()
    for times in (2, 3):
        poor.server.wait_ready(times)
        assert poor.tcp("alice").run("print(1)")["status"] == "ok"
        answer = poor.tcp("poor").ask("POST", "/v1/execute", RUN)
        assert (answer.status, answer.code) == (429, "quota_exceeded"), answer.body[:300]
        assert poor.tcp("poor").ask("POST", "/v1/sessions", {}).code == "quota_exceeded"
        os.kill(poor.server.roles()["warden"], signal.SIGKILL)


BETWEEN = """
import threading, time
def burn():
    end = time.process_time() + 1.5
    while time.process_time() < end: pass
    open("burnt", "w").close()
threading.Thread(target=burn).start()
"""


def test_a12_quota_between_runs(poor):
    """A thread that is left behind is charged, although no run is in progress."""
    client = poor.tcp("poor")
    session = client.session()
    result = client.run_in(session, BETWEEN)
    assert result["status"] == "ok" and result["usage"]["cpu_ms"] < 900
    wait_for_quota(client)
    # A token that has used up the day opens no session, either.
    assert client.ask("POST", "/v1/sessions", {}).code == "quota_exceeded"
    assert "of processor time for a day" in client.mcp().text("open_session")[1]
    assert poor.tcp("alice").run("print(1)")["status"] == "ok"


def test_a12_quota_of_a_closed_session(poor):
    """Closed before its usage between runs was checked."""
    client = poor.tcp("poor")
    session = client.session()
    client.run_in(session, BETWEEN + "time.sleep(0)")
    path = f"/v1/sessions/{session}/files/burnt"
    wait_for(lambda: client.ask("GET", path).status == 200, 60, "it has burnt its time")
    assert client.ask("DELETE", f"/v1/sessions/{session}").status == 204
    wait_for_quota(client)


# Saving its state takes long.
SLOW_STATE = """
import time
class Slow:
    def __reduce__(self):
        end = time.process_time() + 1.3
        while time.process_time() < end: pass
        return (int, ())
slow = Slow()
"""


def test_a12_quota_of_forks(poor):
    """Runs of a fork are charged, and it is in the audit chain."""
    client = poor.tcp("poor")
    session = client.session()
    client.run_in(session, SLOW_STATE)
    forked = client.ask("POST", f"/v1/sessions/{session}/fork")
    assert forked.status == 201, forked.body
    wait_for_quota(client)
    answer = client.ask("POST", f"/v1/sessions/{session}/fork")
    assert (answer.status, answer.code) == (429, "quota_exceeded"), answer.body
    wrong, text = client.mcp().text("fork_session", session_id=session)
    assert wrong and "of processor time for a day" in text
    entries = poor.audit("session.fork")
    assert [(e["tenant"], e["facts"]) for e in entries] == [
        ("poor", {"caller": "poor", "session": forked.json()["id"], "forked_from": session})]


def test_a12_concurrency_of_forks(poor):
    """A fork is a run like others: it waits until the token has room."""
    client = poor.tcp("poor")
    session = client.session()
    blocker = client.order("import time; time.sleep(2)")
    wait_for(lambda: client.ask("GET", f"/v1/executions/{blocker}").json()["status"] == "running",
             10, "the run")
    began = time.monotonic()
    assert client.ask("POST", f"/v1/sessions/{session}/fork").status == 201
    assert time.monotonic() - began > 0.5
    assert client.ask("GET", f"/v1/executions/{blocker}").json()["status"] == "ok"


def test_a12_quota_of_runs_that_cannot_start(poor):
    """The compiler has worked, and then its program does not fit: that is charged as well."""
    client = poor.tcp("poor")
    code = ENDLESS_CPP.replace("S<600>", "S<4>") + "char large[16 << 20] = { 1 };"
    body = {"code": code, "language": "cpp", "limits": {"disk_bytes": 1 << 20}}
    for _ in range(30):
        answer = client.ask("POST", "/v1/execute", body)
        if answer.status == 429:
            break
        assert answer.status == 400 and "do not fit" in answer.json()["detail"], answer.body
        body["code"] += "//"
    wait_for_quota(client)


def test_removed_token(make_house):
    """Removed from the file, and reloaded: it is unknown, and its queued executions are not run."""
    house = make_house("--set", "runs.max=1", "--set", "drain_timeout=3s")
    alice, mallory = house.tcp("alice"), house.tcp("mallory")
    mallory.order("import time; time.sleep(20)")
    running(mallory)
    queued = [mallory.order("print('still here')") for _ in range(3)]
    theirs = alice.order("print('mine')")
    house.edit_tokens(lambda _, listed: listed.remove(
        next(e for e in listed if e["name"] == "mallory")))
    house.server.process.send_signal(signal.SIGHUP)

    def refused():
        try:
            return mallory.ask("GET", "/v1/runtimes").status == 401
        except OSError:
            return False

    wait_for(refused, 30, "the new list")
    assert mallory.ask("POST", "/v1/execute", RUN).status == 401
    assert alice.wait(theirs)["result"]["stdout"] == "mine\n"
    quiet(house.unix(), 30)
    # Put back, to check their outcome.
    entry = {"name": "again", "tenant": "mallory"}
    house.edit_tokens(lambda _, listed: listed.append({**entry, "hash": hash_of(house, "again")}))
    house.server.process.send_signal(signal.SIGHUP)
    again = house.tcp(token=house.tokens["again"])

    def known():
        try:
            return again.ask("GET", "/v1/runtimes").status == 200
        except OSError:
            return False

    wait_for(known, 30, "the new list")
    for one in queued:
        found = again.ask("GET", f"/v1/executions/{one}").json()
        assert found["status"] == "cancelled" and found["result"] is None, found


def hash_of(house, name):
    line = [serve.BRIG, "token", "new", name, "--json"]
    made = json.loads(subprocess.run(line, check=True, capture_output=True).stdout)
    house.tokens[name] = made["token"]
    return made["entry"]["hash"]


def test_refusals_do_not_slow_others(house):
    """A thousand wrong tokens in a row, and alice is answered."""
    doors = []
    for _ in range(20):
        door = house.socket()
        door.sendall(b"GET /v1/runtimes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n\r\n" * 50)
        doors.append(door)
    assert house.tcp("alice").run("print(1)")["stdout"] == "1\n"
    for door in doors:
        door.shutdown(socket.SHUT_RDWR)
        door.close()
