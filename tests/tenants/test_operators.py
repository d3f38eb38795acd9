# SPDX-License-Identifier: Apache-2.0
"""Operators: they see and end executions of every tenant, and no other client does."""

import json
import os
import pty
import re
import signal
import subprocess
import time

import pytest
from callers import running, serve, wait_for

SLEEP = "import time; print('began', flush=True); time.sleep(120)"


@pytest.fixture(scope="module")
def busy():
    """alice runs something; mallory is a tenant; boss is a token with the operator's permission."""
    from callers import House

    made = []

    def make(*options, **kept):
        made.append(serve.Server(*options, **kept))
        return made[-1]

    house = House(make, "--log-level", "info", tokens=[
        ("alice",), ("mallory",), ("boss", "--operator")]).start()
    yield house
    house.server.stop()
    house.server.close()


def brig(house, *words, token=None, expect=0):
    env = {**os.environ, "BRIG_TOKEN": token or ""}
    where = ("--service", f"http://127.0.0.1:{house.port}") if token else (
        "--socket", house.server.socket)
    done = subprocess.run([serve.BRIG, words[0], *where, *words[1:]], env=env, capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == expect, done
    return done


def test_operators_see_follow_and_end_all(busy):
    alice, boss, root = busy.tcp("alice"), busy.tcp("boss"), busy.unix()
    order = alice.order(SLEEP)
    running(alice)
    for operator in (boss, root):
        listed = operator.ask("GET", "/v1/executions?tenant=*").json()["executions"]
        assert (order, "alice") in [(e["id"], e["tenant"]) for e in listed]
        listed = operator.ask("GET", "/v1/executions?tenant=alice").json()["executions"]
        assert {e["tenant"] for e in listed} == {"alice"}
        # Without a request for others, its own.
        assert order not in [e["id"] for e in operator.ask("GET", "/v1/executions").json()["executions"]]
        assert operator.ask("GET", f"/v1/executions/{order}").json()["status"] == "running"
    assert boss.ask("DELETE", f"/v1/executions/{order}").json()["status"] == "cancelled"
    assert alice.wait(order)["status"] == "cancelled"
    assert boss.ask("GET", f"/v1/executions/{order}/events").status == 200
    entries = [e for kind in ("operator.read", "operator.cancel") for e in busy.audit(kind)
               if e["facts"]["execution"] == order]
    assert {e["tenant"] for e in entries} == {"alice"}
    assert {(e["kind"], e["facts"]["caller"]) for e in entries} >= {
        ("operator.cancel", "boss"), ("operator.read", "boss")}


def test_nobody_else_does(busy):
    alice, mallory = busy.tcp("alice"), busy.tcp("mallory")
    order = alice.order(SLEEP)
    running(alice)
    for query in ("tenant=*", "tenant=alice", "limit=5&tenant=alice"):
        answer = mallory.ask("GET", f"/v1/executions?{query}")
        assert (answer.status, answer.code) == (403, "forbidden"), answer.body
    assert mallory.ask("GET", "/v1/executions?tenant=mallory").status == 200
    for name in ("a/b", "%2a", "x" * 65, ""):
        assert mallory.ask("GET", f"/v1/executions?tenant={name}").status == 400, name
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/events")):
        answer = mallory.ask(method, f"/v1/executions/{order}{path}")
        assert (answer.status, answer.code) == (404, "not_found"), answer.body
    assert mallory.ask("GET", "/v1/queue").status == 403
    assert busy.tcp("boss").ask("GET", "/v1/queue").status == 200
    assert alice.ask("DELETE", f"/v1/executions/{order}").status == 200


def test_the_command_line(busy):
    alice = busy.tcp("alice")
    order = alice.order(SLEEP)
    running(alice)
    everything = brig(busy, "ps", "--all").stdout
    assert re.search(rf"{order}.* alice$", everything, re.M)
    assert order in brig(busy, "ps", "--tenant", "*", token=busy.tokens["boss"]).stdout
    assert order not in brig(busy, "ps").stdout
    # A client that is no operator sees its own with --all, and gets an error with --tenant.
    assert order not in brig(busy, "ps", "--all", token=busy.tokens["mallory"]).stdout
    assert "operators" in brig(busy, "ps", "--tenant", "alice", token=busy.tokens["mallory"],
                               expect=125).stderr
    wait_for(lambda: "began" in brig(busy, "logs", order).stdout, 20, "its output")
    lines = [json.loads(x) for x in brig(busy, "logs", "--json", order).stdout.splitlines()]
    assert lines[0]["event"] == "output" and "began" in json.dumps(lines[0]["data"])
    found = json.loads(brig(busy, "top", "--json").stdout)
    assert order in [e["id"] for e in found["executions"]] and found["running"] >= 1
    assert isinstance(found["running"], int) and isinstance(found["memory_available_bytes"], int)
    own = json.loads(brig(busy, "top", "--json", token=busy.tokens["mallory"]).stdout)
    assert own["executions"] == [] and own["running"] == 0 and "sessions" not in own
    assert "cancelled" in brig(busy, "kill", order).stdout


def on_a_terminal(*words):
    """The output of a command on a terminal of 80 columns and 24 lines."""
    master, slave = pty.openpty()
    subprocess.run(["stty", "cols", "80", "rows", "24"], stdin=slave, check=True)
    with subprocess.Popen([serve.BRIG, *words], stdin=slave, stdout=slave, stderr=slave) as process:
        assert process.wait(30) == 0
        os.close(slave)
        shown = b""
        try:
            while piece := os.read(master, 65536):
                shown += piece
        except OSError:
            pass
    os.close(master)
    return shown.decode().splitlines()


@pytest.mark.parametrize("words, most", [(["top", "--once"], 23), (["ps", "--all"], 10000)])
def test_tables_fit_a_terminal(busy, words, most):
    """80 columns, 24 lines, however much runs; a list of all has any length."""
    alice = busy.tcp("alice")
    for _ in range(30):
        alice.run("1")
    lines = on_a_terminal(*words, "--socket", busy.server.socket)
    assert any(line.startswith("ID ") for line in lines) and len(lines) <= most, lines
    assert max(len(line) for line in lines) < 80, lines


def test_metrics_of_tenants(busy):
    alice, mallory, boss = busy.tcp("alice"), busy.tcp("mallory"), busy.tcp("boss")
    alice.run("end = __import__('time').process_time() + .3\nwhile __import__('time').process_time() < end: pass")
    text = boss.ask("GET", "/metrics").body.decode()
    used = dict(re.findall(r'brig_tenant_cpu_seconds_total\{tenant="([^"]+)"\} (\S+)', text))
    assert float(used["alice"]) >= .3 and "other" in used
    # A tenant's own, and nothing of the service or of others.
    text = mallory.ask("GET", "/metrics").body.decode()
    assert "alice" not in text and "tenant" not in text and "brig_engine" not in text
    assert "brig_http" not in text and text.endswith("# EOF\n")
    before = mallory.metrics()["brig_execution_seconds_count"]
    alice.run("1")
    assert mallory.metrics()["brig_execution_seconds_count"] == before
    mallory.run("1")
    assert mallory.metrics()["brig_execution_seconds_count"] == before + 1
    assert mallory.metrics()["brig_cpu_seconds_total"] > 0


def test_metrics_are_bounded(make_house):
    """However many tenants there are: a number of them by name, the rest as one."""
    house = make_house(tokens=[(f"t{i}",) for i in range(54)] + [("other",)])
    for name in house.tokens:
        house.tcp(name).ask("GET", "/v1/executions")
    house.tcp("other").run("1")
    text = house.unix().ask("GET", "/metrics").body.decode()
    names = re.findall(r'brig_tenant_executions_total\{tenant="([^"]+)"\}', text)
    assert len(names) == len(set(names)) <= 51 and names.count("other") == 1
    assert 'brig_tenant_executions_total{tenant="other"} 1' in text


def test_requests_are_logged(busy):
    alice = busy.tcp("alice")
    session = alice.session()
    assert alice.ask("GET", f"/v1/sessions/{session}/files/nothing").status == 404
    assert alice.ask("DELETE", f"/v1/sessions/{session}").status == 204
    wait_for(lambda: f"/v1/sessions/{session}\"" in busy.server.log(), 10, "the log")
    line = next(x for x in busy.server.log().splitlines() if f"{session}/files/nothing" in x)
    assert "level=info" in line and "event=request" in line and "status=404" in line
    assert "caller=alice" in line and "tenant=alice" in line
    assert "engine.failed" not in busy.server.log()
    assert not re.search("level=error.*session", busy.server.log())


def test_closing_sessions_is_no_error(busy):
    alice = busy.tcp("alice")
    for _ in range(20):
        assert alice.ask("DELETE", f"/v1/sessions/{alice.session()}").status == 204
    time.sleep(1)
    assert "is open" not in busy.server.log()


def test_health_by_head(busy):
    nobody = busy.tcp()
    answer = nobody.ask("HEAD", "/v1/health")
    assert (answer.status, answer.body) == (200, b"")
    assert nobody.ask("HEAD", "/metrics").status == 401


def test_tokens_listed_and_revoked(make_house):
    house = make_house(tokens=[("alice",), ("mallory", "--tenant", "m"), ("boss", "--operator")])

    def token(*words, expect=0):
        done = subprocess.run([serve.BRIG, "token", *words, "--file", house.file],
                              capture_output=True, text=True, check=False)
        assert done.returncode == expect, done
        return done

    shown = token("list").stdout
    assert re.search(r"^boss +boss +never +operator$", shown, re.M)
    assert re.search(r"^mallory +m +never +-$", shown, re.M) and "blake2b" not in shown
    listed = json.loads(token("list", "--json").stdout)["tokens"]
    assert [e["name"] for e in listed] == ["alice", "mallory", "boss"]
    assert not any("hash" in e for e in listed)
    assert "no token eve" in token("revoke", "eve", expect=125).stderr
    client = house.tcp("mallory")
    session = house.tcp("alice").session()
    assert client.run("print(1)")["status"] == "ok"
    token("revoke", "mallory")
    assert [e["name"] for e in json.loads(house.file.read_text())["tokens"]] == ["alice", "boss"]
    assert oct(house.file.stat().st_mode & 0o777) == "0o600"
    os.kill(house.server.process.pid, signal.SIGHUP)
    wait_for(lambda: client.ask("GET", "/v1/executions").status == 401, 10, "it is revoked")
    # Everything of others stays.
    assert house.tcp("alice").run_in(session, "print(2)")["stdout"] == "2\n"
    # A removed permission is gone at once.
    house.edit_tokens(lambda entries, _: entries["boss"].pop("operator"))
    os.kill(house.server.process.pid, signal.SIGHUP)
    wait_for(lambda: house.tcp("boss").ask("GET", "/v1/executions?tenant=*").status == 403, 10,
             "it is no operator any more")
