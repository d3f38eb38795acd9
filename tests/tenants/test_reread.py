# SPDX-License-Identifier: Apache-2.0
"""Other tokens by SIGHUP: remaining clients are not affected, removed ones have nothing left
running."""

import http.client
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


def reread(house, change, event="event=reloaded"):
    before = house.server.log().count(event)
    house.edit_tokens(change)
    house.server.process.send_signal(signal.SIGHUP)
    wait_for(lambda: house.server.log().count(event) > before, 20, event)


def without(name):
    return lambda _, listed: listed.remove(next(e for e in listed if e["name"] == name))


def in_background(what):
    """A thread, and the list that will hold its response."""
    answers = []

    def work():
        try:
            answers.append(what())
        except (OSError, http.client.HTTPException) as error:
            answers.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    return thread, answers


def test_who_stays_notices_nothing(make_house):
    """Sessions, runs and connections of the others continue in the same processes."""
    house = make_house(tokens=[("alice",), ("mallory",), ("bob",)])
    alice = house.tcp("alice")
    roles = house.server.roles()
    session = alice.session()
    alice.run_in(session, "kept = 42")
    thread, answers = in_background(
        lambda: alice.run("import time; time.sleep(3); print('whole')"))
    running(alice)
    reread(house, without("mallory"))
    assert "restart=false" in house.server.log()
    assert house.tcp("mallory").ask("POST", "/v1/execute", RUN).status == 401
    thread.join()
    assert answers[0]["stdout"] == "whole\n"
    assert alice.run_in(session, "print(kept)")["stdout"] == "42\n"
    assert house.server.roles() == roles and house.server.readies() == 1


def test_what_a_revoked_token_has_running_ends(make_house):
    """Waited for, streamed, queued, in a batch, with a key, by MCP: all of it is cancelled."""
    house = make_house("--set", "runs.max=16", tokens=[("alice",), ("mallory",), ("other",)],
                       started=False)
    house.edit_tokens(lambda entries, _: entries["other"].update(tenant="mallory"))
    house.start()
    mallory, other, alice = (house.tcp(name) for name in ("mallory", "other", "alice"))
    sleep = {"code": "import time; print('begun', flush=True); time.sleep(60)"}
    peer = mallory.mcp()
    ways = [
        lambda: mallory.ask("POST", "/v1/execute", sleep),
        lambda: mallory.ask("POST", "/v1/execute", {**sleep, "stream": True}),
        lambda: mallory.ask("POST", "/v1/batch", {"programs": [sleep] * 2}),
        lambda: mallory.ask("POST", "/v1/execute", sleep, {"Idempotency-Key": "k"}),
        lambda: peer.call("execute_code", **sleep),
    ]
    asked = [in_background(way) for way in ways]
    mallory.order(sleep["code"])
    theirs = other.order(sleep["code"])
    running(mallory, 8)
    # Another client's run, which the revoked token only reads.
    watching = in_background(
        lambda: mallory.ask("GET", f"/v1/executions/{theirs}/events"))
    time.sleep(0.3)
    begin = time.monotonic()
    reread(house, without("mallory"))
    for thread, answers in [*asked, watching]:
        thread.join(10)
        assert not thread.is_alive() and len(answers) == 1
    assert time.monotonic() - begin < 10
    # Nothing of it was sent: a response with the reason. The rest is disconnected, so that no
    # client takes a part for the whole.
    for plain in (asked[0][1][0], asked[3][1][0]):
        assert plain.status == 401 and plain.code == "unauthorized"
    for cut in (asked[1][1][0], asked[2][1][0], watching[1][0]):
        assert isinstance(cut, http.client.IncompleteRead)
    wait_for(lambda: running(other) == [theirs], 10, "only the other's runs")
    assert alice.run("print(1)")["status"] == "ok"
    other.ask("DELETE", f"/v1/executions/{theirs}")
    quiet(house.unix())
    listed = other.ask("GET", "/v1/executions?limit=100").json()["executions"]
    assert {e["status"] for e in listed} == {"cancelled"}


def test_counts_are_kept(make_house):
    """A reload does not renew an allowance; and new settings apply at once."""
    house = make_house(tokens=[("slow", "--rate", "6"), ("alice",), ("one",)])
    slow, one = house.tcp("slow"), house.tcp("one")
    for _ in range(6):
        assert slow.ask("GET", "/v1/runtimes").status == 200
    assert one.ask("GET", "/v1/runtimes").status == 200
    reread(house, lambda entries, _: entries["one"].update(rate_per_minute=1))
    assert slow.ask("GET", "/v1/runtimes").code == "rate_limited"
    assert one.ask("GET", "/v1/runtimes").status == 200
    assert one.ask("GET", "/v1/runtimes").code == "rate_limited"
    reread(house, lambda entries, _: [e.pop("rate_per_minute", None) for e in entries.values()])
    assert slow.ask("GET", "/v1/runtimes").status == one.ask("GET", "/v1/runtimes").status == 200


def test_a_new_hash_for_an_old_name(make_house):
    """Rotated: the old token is unknown, its executions continue under its name."""
    house = make_house()
    alice = house.tcp("alice")
    order = alice.order("import time; time.sleep(2); print('done')")
    running(alice)
    line = [serve.BRIG, "token", "new", "alice", "--json"]
    made = json.loads(subprocess.run(line, check=True, capture_output=True).stdout)
    reread(house, lambda entries, _: entries["alice"].update(hash=made["entry"]["hash"]))
    assert alice.ask("GET", "/v1/runtimes").status == 401
    again = house.tcp(token=made["token"])
    assert again.wait(order)["result"]["stdout"] == "done\n"


def test_wrong_tokens_change_nothing(make_house):
    house = make_house()
    alice, roles = house.tcp("alice"), house.server.roles()
    good = house.file.read_text()
    for wrong in ("{", "[]", '{"tokens": [{"name": "x"}]}', '{"tokens": 5}', "\0\0",
                  '{"tokens": [], "nothing": 1}'):
        before = house.server.log().count("event=reload-refused")
        house.file.write_text(wrong)
        house.server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: house.server.log().count("event=reload-refused") > before, 20, wrong)
        assert alice.ask("GET", "/v1/runtimes").status == 200
    assert house.server.roles() == roles
    # And they are not in force after a crash either.
    roles = house.server.roles()
    os.kill(roles["ledger"], signal.SIGKILL)
    house.server.wait_ready(2)
    assert alice.ask("GET", "/v1/runtimes").status == 200
    house.file.write_text(good)


def test_more_than_tokens_is_a_restart(make_house):
    house = make_house()
    alice, roles = house.tcp("alice"), house.server.roles()
    (house.server.config / "serve.json").write_text('{"http": {"connections": 77}}')
    reread(house, without("mallory"))
    house.server.wait_ready(2)
    assert not set(roles.values()) & set(house.server.roles().values())
    assert "restart=true" in house.server.log()
    assert alice.ask("GET", "/v1/runtimes").status == 200
    assert house.tcp("mallory").ask("GET", "/v1/runtimes").status == 401


def test_many_signals(make_house):
    """One after the other, as fast as possible: the last file applies."""
    house = make_house()
    alice, mallory = house.tcp("alice"), house.tcp("mallory")
    listed = house.file.read_text()
    for i in range(40):
        house.file.write_text(listed if i % 2 else '{"tokens": []}')
        house.server.process.send_signal(signal.SIGHUP)
        time.sleep(0.005)
    wait_for(lambda: _status(alice) == 200 and _status(mallory) == 200, 30, "the last list")
    house.server.wait_ready()


def _status(client):
    try:
        return client.ask("GET", "/v1/runtimes").status
    except OSError:
        return None


class Upload:
    """A request whose head was admitted, and whose body has come in part."""

    def __init__(self, house, name, size):
        self.body = json.dumps({"code": "print(1)", "stdin": "x" * size}).encode()
        self.socket = socket.create_connection(("127.0.0.1", house.port), 60)
        head = (f"POST /v1/execute HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {house.tokens[name]}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(self.body)}\r\n"
                "Expect: 100-continue\r\nConnection: close\r\n\r\n")
        self.socket.sendall(head.encode())
        # Without this line the token might be looked up after the change.
        assert self.socket.recv(64) == b"HTTP/1.1 100 Continue\r\n\r\n"
        self.socket.sendall(self.body[:len(self.body) // 2])

    def finish(self):
        self.socket.sendall(self.body[len(self.body) // 2:])
        with self.socket:
            response = http.client.HTTPResponse(self.socket)
            response.begin()
            return response.status, json.loads(response.read())


@pytest.mark.parametrize("size", [100, 600_000])
def test_while_a_body_is_sent(make_house, size):
    """The token counts as it is when the body is complete."""
    house = make_house(tokens=[("alice",), ("mallory",), ("bound",), ("moved",), ("gone",)])
    uploads = {name: Upload(house, name, size) for name in house.tokens}

    def change(entries, listed):
        without("mallory")(entries, listed)
        without("gone")(entries, listed)
        entries["bound"].update(policies=["strict"])
        entries["moved"].update(tenant="elsewhere")

    uploads.pop("gone").socket.close()
    reread(house, change)
    status, result = uploads["alice"].finish()
    assert status == 200 and result["stdout"] == "1\n"
    status, problem = uploads["mallory"].finish()
    assert status == 401 and problem["code"] == "unauthorized"
    status, problem = uploads["bound"].finish()
    assert status == 403, problem
    status, result = uploads["moved"].finish()
    assert status == 200
    # It belongs to the tenant that the token has now.
    found = house.unix().ask("GET", "/v1/executions?tenant=elsewhere").json()["executions"]
    assert [one["id"] for one in found] == [result["id"]]
    assert house.server.readies() == 1


def test_a_token_that_expires_while_a_body_is_sent(make_house):
    house = make_house()
    until = time.time() + 4.5
    expires = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(until))
    reread(house, lambda entries, _: entries["mallory"].update(expires=expires))
    upload = Upload(house, "mallory", 100)
    time.sleep(max(0, until - time.time()))
    status, problem = upload.finish()
    assert status == 401 and problem["code"] == "unauthorized"
