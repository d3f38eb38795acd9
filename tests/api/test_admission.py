# SPDX-License-Identifier: Apache-2.0
"""Turns, rates, quotas, and clear refusals."""

import threading
import time
from datetime import datetime, timedelta

from conftest import serve

SLEEP = "import time; time.sleep(%s)"


def many(client, count, body, path="/v1/execute"):
    """This many at once; the responses in the order of arrival."""
    answers = []

    def one():
        answers.append(client.ask("POST", path, body))

    threads = [threading.Thread(target=one) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_turns_between_tenants(make_service):
    """A tenant with many requests does not keep a tenant with few from its turn."""
    made = make_service("--set", "runs.max=1", tokens=[("greedy",), ("modest",)])
    greedy, modest = made.tcp("greedy"), made.tcp("modest")
    def done():
        page = greedy.ask("GET", "/v1/executions?limit=50").json()
        return sum(one["status"] == "ok" for one in page["executions"])

    crowd = [greedy.begin(code=SLEEP % 0.2) for _ in range(20)]
    before = done()
    assert modest.run(code="print(1)")["status"] == "ok"
    assert done() - before <= 4
    assert before < 10  # the control: there was a queue to wait in
    for execution in crowd:
        greedy.ask("DELETE", f"/v1/executions/{execution}")


def most_at_once(client):
    """How many of the client's executions ran at the same time, by the ledger's times."""
    spans = []
    for one in client.ask("GET", "/v1/executions").json()["executions"]:
        begin, end = (datetime.fromisoformat(one[k].rstrip("Z")) for k in ("started_at", "ended_at"))
        # The next one begins while the last one's end is recorded.
        spans.append((begin, end - timedelta(milliseconds=500)))
    return max(sum(b <= begin < e for b, e in spans) for begin, _ in spans)


def test_a_token_runs_no_more_at_once_than_it_may(make_service):
    made = make_service("--set", "runs.max=8", tokens=[("one", "--concurrency", "1"), ("free",)])
    for name in ("one", "free"):
        answers = many(made.tcp(name), 3, {"code": SLEEP % 1})
        assert [a.status for a in answers] == [200] * 3
    assert most_at_once(made.tcp("one")) == 1
    assert most_at_once(made.tcp("free")) > 1


def test_a_full_queue(make_service):
    made = make_service("--set", "runs.max=1", "--set", "runs.queue=2")
    client = made.unix()
    first = client.begin(code=SLEEP % 20)
    serve.wait_for(
        lambda: client.ask("GET", f"/v1/executions/{first}").json()["status"] == "running", 10, "run"
    )
    waiting = [client.begin(code="print(1)") for _ in range(2)]
    answer = client.ask("POST", "/v1/execute", {"code": "print(1)"})
    assert (answer.status, answer.code) == (429, "queue_full")
    assert 1 <= int(answer.header("Retry-After")) <= 3600
    assert client.ask("GET", "/v1/runtimes").status == 200
    client.ask("DELETE", f"/v1/executions/{first}")
    for execution in waiting:
        assert client.wait(execution)["status"] == "ok"


def test_one_tenants_queue(make_service):
    made = make_service("--set", "runs.max=1", "--set", "runs.queue_per_tenant=1",
                        tokens=[("a",), ("b",)])
    a, b = made.tcp("a"), made.tcp("b")
    first = a.begin(code=SLEEP % 20)
    serve.wait_for(
        lambda: a.ask("GET", f"/v1/executions/{first}").json()["status"] == "running", 10, "run"
    )
    a.begin(code="print(1)")
    answer = a.ask("POST", "/v1/execute", {"code": "print(1)"})
    assert (answer.status, answer.code) == (429, "queue_full")
    second = b.begin(code="print(1)")
    a.ask("DELETE", f"/v1/executions/{first}")
    assert b.wait(second)["status"] == "ok"


def test_who_waits_too_long_is_told(make_service):
    made = make_service("--set", "runs.max=1", "--set", "runs.queue_timeout=500ms")
    client = made.unix()
    first = client.begin(code=SLEEP % 20)
    start = time.monotonic()
    answer = client.ask("POST", "/v1/execute", {"code": "print(1)"})
    assert (answer.status, answer.code) == (503, "queue_timeout")
    assert 0.4 < time.monotonic() - start < 5 and answer.header("Retry-After")
    # An acknowledged request waits as long as necessary.
    second = client.begin(code="print(2)")
    time.sleep(1)
    client.ask("DELETE", f"/v1/executions/{first}")
    assert client.wait(second)["status"] == "ok"


def test_rate(make_service):
    made = make_service(tokens=[("slow", "--rate", "5"), ("other",)])
    slow = made.tcp("slow")
    answers = [slow.ask("GET", "/v1/runtimes") for _ in range(8)]
    assert [a.status for a in answers[:5]] == [200] * 5
    refused = [a for a in answers if a.status == 429]
    assert refused and refused[0].code == "rate_limited"
    assert 1 <= int(refused[0].header("Retry-After")) <= 13
    assert made.tcp("other").ask("GET", "/v1/runtimes").status == 200


def test_quota_of_processor_time(make_service):
    made = make_service(tokens=[("poor", "--cpu-per-day", "1")])
    poor = made.tcp("poor")
    code = "import time\nend = time.process_time() + 1.2\nwhile time.process_time() < end: pass"
    assert poor.run(code=code)["status"] == "ok"
    answer = poor.ask("POST", "/v1/execute", {"code": "print(1)"})
    assert (answer.status, answer.code) == (429, "quota_exceeded")
    assert 1 <= int(answer.header("Retry-After")) <= 86400
    assert poor.ask("GET", "/v1/executions").status == 200


def test_a_host_short_of_memory_refuses(make_service):
    made = make_service("--set", "runs.memory_floor=8T")
    client = made.unix()

    def refused():
        answer = client.ask("POST", "/v1/execute", {"code": "print(1)"})
        return answer if answer.status == 503 else None

    answer = serve.wait_for(refused, 10, "memory_low")
    assert answer.code == "memory_low" and answer.header("Retry-After")
    assert client.ask("GET", "/v1/health").status == 200


def test_many_at_once_are_all_right(unix):
    answers = many(unix, 40, {"code": "import os; print(os.getpid())", "want_value": False})
    assert all(a.status == 200 and a.json()["status"] == "ok" for a in answers)
    assert len({a.json()["id"] for a in answers}) == 40


def test_queued_bytes_are_bounded(make_service):
    """Acknowledged requests are kept until their turn: a bounded amount per tenant."""
    made = make_service("--set", "runs.max=1", tokens=[("heavy",), ("light",)])
    heavy, light = made.tcp("heavy"), made.tcp("light")
    held = [heavy.begin(code=SLEEP % 60)]
    body = {"code": "1", "files": [{"path": "a", "content": "x" * (15 << 20)}]}
    for _ in range(4):
        answer = heavy.ask("POST", "/v1/executions", body)
        assert answer.status == 202, answer.body
        held.append(answer.json()["id"])
    answer = heavy.ask("POST", "/v1/executions", body)
    assert (answer.status, answer.code) == (429, "queue_full")
    assert int(answer.header("Retry-After")) >= 1
    # Small ones, and those of others, still have room.
    held.append(heavy.begin(code="1"))
    other = light.begin(code="1")
    for execution in held:
        heavy.ask("DELETE", f"/v1/executions/{execution}")
    assert light.wait(other, 20)["status"] == "ok"
