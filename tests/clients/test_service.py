# SPDX-License-Identifier: Apache-2.0
"""Features of a service only: streams, executions that continue, sessions, keys."""

import threading

import brig
import pytest
from conftest import http

COUNT = "import time\nfor i in range(5): print(i, flush=True); time.sleep(0.05)\n"


def collect(stream):
    """The text on standard output, and the result."""
    data = b""
    for event in stream:
        if isinstance(event, brig.Output):
            assert event.stream == "stdout"
            data += event.data
        else:
            assert event.result is stream.result
    return data, stream.result


def test_stream(served):
    with served.stream(COUNT + "5") as stream:
        assert len(stream.id) == 26
        data, result = collect(stream)
    assert data == b"0\n1\n2\n3\n4\n" == result.stdout_bytes
    assert result.value == 5 and result.id == stream.id


def test_stream_of_both(unix):
    code = "import sys\nsys.stderr.write('e'); sys.stdout.buffer.write(b'\\xff')"
    with unix.stream(code) as stream:
        events = [event for event in stream if isinstance(event, brig.Output)]
    assert {(event.stream, event.data) for event in events} == {
        ("stderr", b"e"), ("stdout", b"\xff")}
    assert {event.text for event in events} == {"e", "\ufffd"}


def test_stream_that_cannot_begin(unix):
    with pytest.raises(brig.Problem, match="unsupported_language"):
        unix.stream("x", "cobol").wait()


def test_stream_is_resumed(cutter):
    # The first response is cut in the middle of its events, the second right at its head.
    proxy = cutter(330, 20)
    with brig.Client(proxy.url).stream(COUNT) as stream:
        data, result = collect(stream)
    assert data == b"0\n1\n2\n3\n4\n" and result.ok and proxy.count >= 3


def test_stream_that_stays_cut(cutter):
    proxy = cutter(330, *[0] * 20)
    with pytest.raises(brig.ConnectionLost):
        brig.Client(proxy.url, retries=2).stream(COUNT).wait()
    assert proxy.count == 3


def test_events_again(unix):
    first = unix.stream(COUNT)
    assert first.wait().ok
    data, result = collect(unix.events(first.id))
    assert data == b"0\n1\n2\n3\n4\n" and result.id == first.id
    data, _ = collect(unix.events(first.id, "4-0"))
    assert data == b"2\n3\n4\n"
    assert list(unix.events(first.id, "end")) == []


def test_stream_cancel(unix):
    with unix.stream("print('x', flush=True)\nwhile True: pass") as stream:
        assert next(stream).data
        assert stream.cancel().status == "cancelled"
        assert stream.wait().status == "cancelled"


def test_submit(served):
    execution = served.submit("print(1)")
    assert execution.wait(30).stdout == "1\n"
    state = execution.poll()
    assert state.ended and state.status == "ok" and state.result.ok and state.error is None
    assert execution.events().wait().ok
    page = served.executions(limit=1)
    assert page.items[0].id == execution.id
    if page.next:
        assert served.executions(before=page.next, limit=1).items[0].id != execution.id


def test_cancel(unix):
    execution = unix.submit("while True: pass")
    with pytest.raises(brig.DeadlineExceeded):
        execution.wait(0.1)
    assert execution.cancel().status == "cancelled"
    with pytest.raises(brig.Problem, match="not_found"):
        unix.cancel("01ARZ3NDEKTSV4RRFFQ69G5FAV")
    with pytest.raises(ValueError):
        unix.execution("../policies")


def test_idempotency(served):
    key = brig.new_key()
    first = served.execute("import os; os.urandom(4).hex()", idempotency_key=key)
    assert served.execute("import os; os.urandom(4).hex()", idempotency_key=key) == first
    with pytest.raises(brig.Problem) as caught:
        served.execute("1", idempotency_key=key)
    assert caught.value.code == "idempotency_mismatch"
    with pytest.raises(ValueError):
        served.execute("1", idempotency_key="x\r\nAuthorization: y")


def test_lost_answer_with_a_key_is_asked_again(cutter):
    proxy = cutter(30)
    result = brig.Client(proxy.url).execute("print(1)", idempotency_key=brig.new_key())
    assert result.stdout == "1\n" and proxy.count == 2


def test_lost_answer_without_a_key_is_not(cutter):
    proxy = cutter(30)
    with pytest.raises(brig.ConnectionLost):
        brig.Client(proxy.url).execute("print(1)")
    assert proxy.count == 1
    proxy = cutter(30)
    assert brig.Client(proxy.url).submit("print(1)").wait(30).ok


def problem(status, code, **headers):
    body = {"type": f"urn:brig:problem:{code}", "title": "T", "status": status, "detail": "D",
            "code": code, "remedy": "R"}
    return http(status, body, "application/problem+json", **headers)


GOOD = http(200, {"status": "ok"})


def test_refused_for_lack_of_room_is_asked_again(answer):
    server = answer(problem(429, "queue_full", Retry_After="0"),
                    problem(503, "unavailable", Retry_After="0"), GOOD)
    assert brig.Client(server.url).health() == "ok" and server.count == 3


@pytest.mark.parametrize("refusal, times", [
    (problem(503, "ledger_unavailable", Retry_After="0"), 1),  # it may have run
    (problem(429, "queue_full", Retry_After="0"), 3),
    (problem(429, "rate_limited", Retry_After="3600"), 1),  # no client waits that long
    (problem(429, "quota_exceeded", Retry_After="0"), 1),
    (problem(503, "host_unable", Retry_After="0"), 1),
    (problem(400, "invalid_request"), 1),
])
def test_retries_are_bounded(answer, refusal, times):
    server = answer(refusal)
    with pytest.raises(brig.Problem) as caught:
        brig.Client(server.url, retries=2).execute("1")
    assert server.count == times
    assert (caught.value.title, caught.value.detail, caught.value.remedy) == ("T", "D", "R")


def test_session(served):
    with served.session("python", idle_timeout=60, timeout=20, env={"A": "b"},
                        files={"x.txt": "x"}) as session:
        assert session.run("import os\nn = 1").ok
        assert session.run("(n + 1, os.environ['A'], open('x.txt').read())").value == [2, "b", "x"]
        session.put("d/sp ace%.bin", b"\x00\xff")
        session.put("t.txt", "text")
        assert {(item.path, item.size) for item in session.files()} == {
            ("x.txt", 1), ("d/sp ace%.bin", 2), ("t.txt", 4)}
        assert session.get("d/sp ace%.bin") == b"\x00\xff"
        session.delete("t.txt")
        with pytest.raises(brig.Problem, match="not_found"):
            session.get("t.txt")
        fork = session.fork()
        assert "n" in fork.opened.raw["carried"]
        assert session.run("n = 5").ok and fork.run("n").value == 1
        fork.close()
        assert {item.id for item in served.sessions().items} >= {session.id}
        assert served.attach(session.id).run("n").value == 5
        assert session.state().state == "idle"
    with pytest.raises(brig.Problem) as caught:
        session.run("1")
    assert caught.value.code in ("session_gone", "not_found")
    assert session.id in {item.id for item in served.sessions(gone=True, limit=50).items}


def test_session_stream_and_interrupt(unix):
    with unix.session() as session:
        session.run("kept = 'kept'")
        with session.stream("print('begun', flush=True)\nwhile True: pass") as stream:
            assert next(stream).text.startswith("begun")
            with pytest.raises(brig.Problem, match="session_busy"):
                session.run("1")
            session.interrupt()
            assert stream.wait().status == "cancelled"
        assert session.run("kept").value == "kept"


def test_check_and_metrics(served):
    checked = served.check("print(1)", limits={"memory_bytes": 64 << 20})
    assert checked["allowed"] is True and checked["limits"]["memory_bytes"] == 64 << 20
    assert served.check(policy="open")["allowed"] is False
    assert "brig_executions_running" in served.metrics()  # operators and tenants alike


def test_many_threads(unix):
    results = []

    def work(n):
        results.append(unix.execute(f"print({n})").stdout)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == ["0\n", "1\n", "2\n", "3\n"]


def test_own_server():
    with brig.Server() as client:
        assert client.execute("print(1)").ok
        path = client.place.path
    with pytest.raises(brig.CannotConnect):
        brig.Client(f"unix:{path}").health()
    with pytest.raises(brig.CannotConnect, match="did not start"):
        brig.Server(["--no-such-option"]).start()
