# SPDX-License-Identifier: Apache-2.0
"""A person's consent in a request, and directories by the policy's names: permissions
and refusals."""

import json
import os
import signal

import pytest
from conftest import Service, serve
from test_mcp import Peer

ASKS = {"extends": "default", "auto_run": "ask"}


def prepare(server):
    """Policies that require consent, and one that lists directories."""
    policies = server.config / "policies"
    policies.mkdir(mode=0o755)
    kept = server.dir / "kept"
    for name in ("data", "results"):
        (kept / name).mkdir(parents=True)
        (kept / name).chmod(0o777)
    (kept / "data" / "x.txt").write_text("of the operator")
    for above in (server.dir, kept):
        above.chmod(0o755)
    lists = {"extends": "default", "mounts": [
        {"name": "data", "path": str(kept / "data"), "mode": "ro"},
        {"name": "results", "path": str(kept / "results"), "mode": "rw"}]}
    for name, text in (("asks", ASKS), ("lists", lists)):
        (policies / f"{name}.json").write_text(json.dumps(text))
    return kept


@pytest.fixture(scope="module")
def house():
    made = []

    def make(*options, **kept):
        made.append(serve.Server(*options, **kept))
        made[-1].kept = prepare(made[-1])
        return made[-1]

    house = Service(make, "--set", f"consent_users={os.getuid()}",
                    tokens=[("marked", "--consent"), ("plain",), ("twin", "--tenant", "marked")])
    house.kept = made[0].kept
    yield house
    started, status, log = made[0].readies(), made[0].stop(), made[0].log()
    made[0].close()
    assert started == 1 and status == 0, log


def ask(client, **more):
    return client.ask("POST", "/v1/execute", {"code": "print(1)", "policy": "asks", **more})


@pytest.fixture(params=["marked", "unix"])
def trusted(house, request):
    return house.unix() if request.param == "unix" else house.tcp("marked")


def test_whoever_is_marked_may_give_it(trusted):
    refused = ask(trusted)
    assert refused.status == 403 and refused.code == "consent_required"
    assert "consent" in refused.json()["remedy"]
    assert ask(trusted, consent=False).code == "consent_required"
    given = ask(trusted, consent=True)
    assert given.status == 200 and given.json()["stdout"] == "1\n", given.body
    # Where it is not required, it does no harm.
    assert ask(trusted, policy="default", consent=True).status == 200


def test_sessions_and_queued_runs(trusted):
    assert trusted.ask("POST", "/v1/sessions", {"policy": "asks"}).code == "consent_required"
    session = trusted.ask("POST", "/v1/sessions", {"policy": "asks", "consent": True})
    assert session.status == 201, session.body
    path = f"/v1/sessions/{session.json()['id']}"
    ran = trusted.ask("POST", f"{path}/execute", {"code": "print(2)", "consent": True})
    assert ran.json()["stdout"] == "2\n"
    trusted.ask("DELETE", path)
    assert trusted.wait(trusted.begin(code="print(3)", policy="asks", consent=True))["status"] == "ok"


@pytest.mark.parametrize("name", ["plain", "twin"])
def test_others_are_told_which_mark_they_lack(house, name):
    """The permission belongs to the token: another token of the same tenant has none."""
    client = house.tcp(name)
    for body in ({"policy": "asks"}, {"policy": "default"}):
        answer = ask(client, consent=True, **body)
        assert answer.status == 403 and answer.code == "consent_not_allowed", answer.body
        assert name in answer.json()["detail"] and answer.json()["detail"].startswith("consent:")
        assert '"consent": true' in answer.json()["remedy"]
    assert client.ask("POST", "/v1/sessions", {"consent": True}).code == "consent_not_allowed"
    assert client.ask("POST", "/v1/executions", {"code": "1", "consent": True}).code == "consent_not_allowed"


def test_users_that_are_not_marked(make_service):
    answer = ask(make_service().unix(), policy="default", consent=True)
    assert answer.code == "consent_not_allowed" and "consent_users" in answer.json()["remedy"]


@pytest.mark.parametrize("word", ["yes", 1, [True]])
def test_it_is_true_or_false(house, word):
    assert ask(house.tcp("marked"), consent=word).code == "invalid_request"


def test_by_mcp(make_server):
    """There the policy is the service's own default."""
    def make(*options, **kept):
        server = make_server(*options, **kept)
        (server.config / "policies").mkdir(mode=0o755)
        (server.config / "policies" / "default.json").write_text(json.dumps(ASKS))
        return server

    house = Service(make, tokens=[("marked", "--consent"), ("plain",)])
    marked, plain = Peer(house.tcp("marked")), Peer(house.tcp("plain"))
    assert marked.call("execute_code", code="print(1)")["isError"]
    assert not marked.call("execute_code", code="print(1)", consent=True)["isError"]
    refused = plain.call("execute_code", code="print(1)", consent=True)
    assert refused["isError"] and "may not give a person's consent" in refused["content"][0]["text"]
    opened = marked.call("open_session", consent=True)
    assert not opened.get("isError"), opened
    assert plain.call("open_session", consent=True)["isError"]


def test_a_mark_that_is_taken_away(make_server):
    """The warden receives it as the front does, and no session ends because of it."""
    def make(*options, **kept):
        server = make_server(*options, **kept)
        prepare(server)
        return server

    house = Service(make, tokens=[("marked", "--consent")])
    client, file = house.tcp("marked"), house.server.dir / "tokens.json"
    session = client.ask("POST", "/v1/sessions", {}).json()["id"]
    assert ask(client, consent=True).status == 200
    for mark, status in ((False, 403), (True, 200)):
        listed = json.loads(file.read_text())
        listed["tokens"][0]["consent"] = mark
        file.write_text(json.dumps(listed))
        house.server.process.send_signal(signal.SIGHUP)
        serve.wait_for(lambda: ask(client, consent=True).status == status, 20, f"mark {mark}")
    assert client.ask("GET", f"/v1/sessions/{session}").json()["state"] == "idle"


# --- directories ------------------------------------------------------------------------------------


def mount(client, *mounts, code="print(open('/mnt/data/x.txt').read())", **more):
    return client.ask("POST", "/v1/execute", {"code": code, "policy": "lists", "mounts": list(mounts), **more})


def test_directories_by_name(house):
    client = house.tcp("plain")
    assert mount(client, {"name": "data"}).json()["stdout"] == "of the operator\n"
    seen = mount(client, {"name": "data", "as": "in"}, code="import os; print(os.listdir('/mnt'))")
    assert seen.json()["stdout"] == "['in']\n"
    code = "open('/mnt/results/y', 'w').write('kept')"
    assert mount(client, {"name": "results", "writable": True}, code=code).json()["status"] == "ok"
    assert (house.kept / "results" / "y").read_text() == "kept"
    assert mount(client, {"name": "results"}, code=code).json()["status"] == "failed"
    opened = client.ask("POST", "/v1/sessions", {"policy": "lists", "mounts": [{"name": "data"}]})
    path = f"/v1/sessions/{opened.json()['id']}"
    ran = client.ask("POST", f"{path}/execute", {"code": "print(open('/mnt/data/x.txt').read())"})
    assert ran.json()["stdout"] == "of the operator\n", ran.body
    client.ask("DELETE", path)


@pytest.mark.parametrize("mounts, policy, code, words", [
    ([{"name": "data", "writable": True}], "lists", "policy_forbids", "for writing"),
    ([{"name": "nothing"}], "lists", "policy_forbids", "nothing"),
    ([{"name": "data"}], "default", "policy_forbids", "data"),
    ([{"name": "/etc"}], "lists", "invalid_request", "mounts[0].name"),
    ([{"name": ".."}], "lists", "invalid_request", "mounts[0].name"),
    ([{"name": "data", "as": "a/b"}], "lists", "invalid_request", "mounts[0].as"),
    ([{"name": "data"}, {"name": "data"}], "lists", "invalid_request", "two mounts"),
    ([{}], "lists", "invalid_request", "mounts[0].name"),
    ([{"path": "/etc"}], "lists", "invalid_request", "mounts[0].path"),
    (["/etc"], "lists", "invalid_request", "mounts[0]"),
    ([{"name": "data"}] * 33, "lists", "invalid_request", "mounts"),
])
def test_no_others(house, mounts, policy, code, words):
    answer = house.tcp("plain").ask("POST", "/v1/execute", {"code": "1", "policy": policy, "mounts": mounts})
    assert answer.code == code and words in answer.json()["detail"], answer.body
    assert str(house.kept) not in answer.body.decode()
