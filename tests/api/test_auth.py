# SPDX-License-Identifier: Apache-2.0
"""Permissions: tokens, users, addresses, and the walls between tenants."""

import http.client
import json
import os
import subprocess

import pytest
from conftest import BRIG, free_port, serve

RUN = {"code": "print(1)"}


def status_of(client, headers=None, method="GET", path="/v1/runtimes", body=None):
    answer = client.ask(method, path, body, headers)
    return answer.status, answer.json().get("code") if answer.status >= 400 else None


def test_a_token_opens(alice):
    assert status_of(alice) == (200, None)
    assert alice.run(RUN)["stdout"] == "1\n"


def test_without_a_token(service):
    for method, path, body in (("GET", "/v1/runtimes", None), ("POST", "/v1/execute", RUN),
                               ("GET", "/metrics", None), ("GET", "/openapi.json", None),
                               ("GET", "/nothing", None), ("POST", "/mcp", {})):
        answer = service.tcp().ask(method, path, body)
        assert (answer.status, answer.code) == (401, "unauthorized"), path
        assert answer.header("WWW-Authenticate") == "Bearer"


def test_wrong_tokens(service):
    good = service.tokens["alice"]
    other = "A" if good[-1] != "A" else "B"
    wrong = [
        "Bearer", "Bearer ", "Bearer x", good, "Basic " + good, "Bearer  " + good, "Bearer " + good[:-1],
        "Bearer " + good + "x", "Bearer " + good[:-1] + other, "Bearer " + good.swapcase(),
        "Bearer " + good + "," + good, "Token " + good,
    ]
    for header in wrong:
        assert status_of(service.tcp(), {"Authorization": header}) == (401, "unauthorized"), header


def test_the_scheme_may_be_in_any_case(service):
    assert status_of(service.tcp(), {"Authorization": "bEARER " + service.tokens["bob"]})[0] == 200


def test_tokens_elsewhere_are_not_looked_at(service):
    good = service.tokens["alice"]
    for path in (f"/v1/runtimes?token={good}", f"/v1/runtimes?access_token={good}"):
        assert status_of(service.tcp(), path=path)[0] == 401
    assert status_of(service.tcp(), {"Cookie": f"token={good}", "X-Api-Key": good})[0] == 401


def test_nobody_without_a_token_makes_us_keep_a_body(service):
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=10)
    connection.putrequest("POST", "/v1/execute")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(40 << 20))
    connection.endheaders()
    response = connection.getresponse()
    assert response.status == 401
    assert json.loads(response.read())["code"] == "unauthorized"


def test_refusals_are_without_detail(service):
    problem = service.tcp().ask("GET", "/v1/executions").json()
    assert problem["detail"] == problem["title"] and problem["remedy"] is None


def test_expired(service, make_service, tmp_path):
    made = make_service(tokens=[("old",)])
    file = made.server.dir / "tokens.json"
    listed = json.loads(file.read_text())
    listed["tokens"][0]["expires"] = "2020-01-01T00:00:00Z"
    file.write_text(json.dumps(listed))
    made.server.stop()
    made.server.start(ready=False)
    made.server.wait_ready(2)
    assert status_of(made.tcp("old"))[0] == 401


# --- places -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "localhost.evil.example",
                                  "127.0.0.1.evil.example", "127.0.0.2", "localhost:1:2", "[::1",
                                  "localhost:x", "localhost:999999"])
def test_other_hosts(alice, host):
    """DNS rebinding: a page's own name may resolve to this address, but it is not ours."""
    answer = alice.ask("GET", "/v1/runtimes", headers={"Host": host})
    assert answer.status in (400, 403)


@pytest.mark.parametrize("host", ["localhost", "localhost:8080", "LOCALHOST", "127.0.0.1:1", "[::1]:80"])
def test_our_hosts(alice, host):
    assert status_of(alice, {"Host": host})[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "file://", "http://localhost.evil.example",
                                    "http://evil.example:80", "https://localhost@evil.example"])
def test_other_origins(alice, unix, origin):
    assert status_of(alice, {"Origin": origin}) == (403, "forbidden")
    assert status_of(unix, {"Origin": origin}) == (403, "forbidden")
    stream = {"Origin": origin, "Accept": "text/event-stream"}
    assert status_of(alice, stream, "POST", "/v1/execute", RUN) == (403, "forbidden")


def test_our_origin(alice):
    assert status_of(alice, {"Origin": "http://localhost:3000"})[0] == 200


def test_more_hosts_and_origins(make_service):
    made = make_service("--set", "hosts=brig.example", "--set", "origins=https://app.example",
                        tokens=[("alice",)])
    alice = made.tcp("alice")
    assert status_of(alice, {"Host": "brig.example:443"})[0] == 200
    assert status_of(alice, {"Origin": "https://app.example"})[0] == 200
    assert status_of(alice, {"Host": "app.example"})[0] == 403


# --- tenants ------------------------------------------------------------------------------------------


def test_executions_of_others_are_not_there(alice, bob, unix):
    """`unix` is root or the service's own user, who may see all executions, but has to request the
    list of all."""
    theirs = alice.begin(code="import time; time.sleep(2); print('secret')")
    for method, tail in (("GET", ""), ("DELETE", ""), ("GET", "/events")):
        answer = bob.ask(method, f"/v1/executions/{theirs}{tail}")
        assert (answer.status, answer.code) == (404, "not_found")
    for other in (bob, unix):
        listed = other.ask("GET", "/v1/executions?limit=1000").json()["executions"]
        assert theirs not in [e["id"] for e in listed]
    assert alice.wait(theirs)["status"] == "ok"
    assert bob.ask("GET", f"/v1/executions/{theirs}").status == 404
    assert bob.ask("GET", f"/v1/executions/{theirs}/events").status == 404


def test_a_user_by_unix_socket(unix, service):
    assert unix.run(RUN)["status"] == "ok"
    # A token identifies its owner here too; and a wrong one is refused.
    good = {"Authorization": "Bearer " + service.tokens["alice"]}
    mine = service.unix().ask("POST", "/v1/execute", RUN, good).json()["id"]
    assert service.tcp("alice").ask("GET", f"/v1/executions/{mine}").status == 200
    assert status_of(unix, {"Authorization": "Bearer x"})[0] == 401


@pytest.mark.root
def test_other_users_of_the_unix_socket(make_service):
    made = make_service("--socket-mode", "0666", "--set", "users=12345")
    made.server.dir.chmod(0o755)

    def ask_as(uid):
        code = (
            "import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]);"
            "s.sendall(b'GET /v1/runtimes HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n');"
            "print(s.recv(65536).split()[1].decode())"
        )
        return subprocess.run(
            ["python3", "-c", code, made.server.socket], user=uid, group=uid, extra_groups=[],
            capture_output=True, text=True, timeout=20, check=True,
        ).stdout.strip()

    assert ask_as(12345) == "200"
    assert ask_as(23456) == "403"


# --- ceilings -----------------------------------------------------------------------------------------


def test_ceilings_of_a_token(make_service):
    made = make_service(tokens=[("small",), ("strict", "--policy", "strict")])
    file = made.server.dir / "tokens.json"
    listed = json.loads(file.read_text())
    listed["tokens"][0]["limits"] = {"memory_bytes": 134217728, "wall_ms": 2000}
    file.write_text(json.dumps(listed))
    made.server.stop()
    made.server.start(ready=False)
    made.server.wait_ready(2)
    small = made.tcp("small")
    limits = small.run(RUN)["limits"]
    assert limits["memory_bytes"] == 134217728 and limits["wall_ms"] == 2000
    answer = small.ask("POST", "/v1/execute", {**RUN, "limits": {"memory_bytes": 268435456}})
    assert answer.status == 400 and "134217728" in answer.json()["detail"]
    assert small.run({**RUN, "timeout_ms": 1500})["limits"]["wall_ms"] == 1500
    strict = made.tcp("strict")
    for path, body in (("/v1/execute", RUN), ("/v1/executions", RUN), ("/v1/sessions", {}),
                       ("/v1/policies/check", RUN), ("/v1/batch", {"programs": [RUN]})):
        answer = strict.ask("POST", path, body)
        assert (answer.status, answer.code) == (403, "policy_not_allowed"), path
        assert "strict" in answer.json()["remedy"]
    answer = strict.ask("POST", "/v1/execute", {**RUN, "policy": "strict"})
    # An ordinary user's host may lack layers that strict requires; the token was accepted all the
    # same.
    assert answer.status == 200 or (os.geteuid() and answer.code == "host_unable"), answer.body


# --- the file -----------------------------------------------------------------------------------------


def token(*args, expect=0):
    done = subprocess.run([BRIG, "token", *args], capture_output=True, text=True, check=False)
    assert done.returncode == expect, done
    return done


def test_token_new(tmp_path):
    file = tmp_path / "tokens"
    first = token("new", "ci", "--file", str(file)).stdout.strip()
    second = token("new", "dev", "--file", str(file), "--rate", "10", "--days", "3").stdout.strip()
    assert first.startswith("brig_") and len(first) == 48 and first != second
    assert file.stat().st_mode & 0o777 == 0o600
    listed = json.loads(file.read_text())["tokens"]
    assert [t["name"] for t in listed] == ["ci", "dev"]
    assert first not in file.read_text()
    assert listed[1]["rate_per_minute"] == 10 and listed[1]["expires"].endswith("Z")
    assert "already" in token("new", "ci", "--file", str(file), expect=125).stderr


def test_token_new_without_a_file():
    done = json.loads(token("new", "ci", "--json", "--policy", "default").stdout)
    assert done["entry"]["policies"] == ["default"] and done["entry"]["hash"].startswith("blake2b:")


@pytest.mark.parametrize("args", [(), ("old", "x"), ("new",), ("new", "a b"), ("new", "uid:0"),
                                  ("new", "x", "--rate", "0"), ("new", "x", "--days", "-1"),
                                  ("new", "x", "--policy", "../x")])
def test_token_lines_that_are_wrong(args):
    done = subprocess.run([BRIG, "token", *args], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and done.stderr.startswith("brig: ")


@pytest.mark.parametrize("text", ['{"tokens":[{"name":"a"}]}', '{"tokens":[{"nme":"a"}]}', "{", "[]",
                                  '{"tokens":[{"name":"a","hash":"blake2b:00"}]}',
                                  '{"tokens":[{"name":"a","hash":"%s"},{"name":"a","hash":"%s"}]}'
                                  % (("blake2b:" + "1" * 64,) * 2),
                                  '{"tokens":[{"name":"a","hash":"%s"},{"name":"b","hash":"%s"}]}'
                                  % (("blake2b:" + "1" * 64,) * 2),
                                  '{"tokens":[{"name":"a","hash":"%s","expires":"soon"}]}'
                                  % ("blake2b:" + "1" * 64)])
def test_a_wrong_file_keeps_the_service_from_starting(make_server, text):
    server = make_server("--listen", f"127.0.0.1:{free_port()}", "--set", "restart.limit=1")
    file = server.dir / "tokens.json"
    file.write_text(text)
    file.chmod(0o600)
    server.options = (*server.options, "--tokens", file)
    server.start(ready=False)
    assert server.process.wait(20) != 0
    assert "tokens" in server.log()


def test_refusals_are_in_the_log_once_a_second(service):
    before = service.server.log().count("event=auth.refused")
    for _ in range(50):
        service.tcp().ask("GET", "/v1/runtimes")
    assert serve.wait_for(lambda: service.server.log().count("event=auth.refused") >= before, 5)
    assert service.server.log().count("event=auth.refused") - before <= 5
