# SPDX-License-Identifier: Apache-2.0
"""Valid requests, and their responses."""

import pytest
from client import request


def test_fragments_equal_the_whole(server):
    """Every cut of a pipeline of requests gives the same responses."""
    data = (request("/a?x=%20", headers=["Accept: a/b"]) + request("/b", "POST", body=b"hello") +
            b"POST /c HTTP/1.1\r\nHost: [::1]:80\r\nTransfer-Encoding: Chunked\r\n\r\n"
            b"5\r\nhello\r\n00000A\r\n0123456789\r\n0\r\n\r\n" +
            request("/d%C3%A9/", headers=["Connection: close"]))
    bodies = [b"GET /a x=%20 0 a/b\n", b"POST /b - 5 -\nhello", b"POST /c - 15 -\nhello0123456789",
              "GET /dé/ - 0 -\n".encode()]

    def answers(pieces):
        with server.connect() as raw:
            for piece in pieces:
                raw.send(piece)
            found = [raw.answer().body for _ in bodies]
            assert raw.rest() == b""
            return found

    assert answers([data]) == bodies
    assert answers([bytes([byte]) for byte in data]) == bodies
    for cut in range(1, len(data), 7):
        assert answers([data[:cut], data[cut:]]) == bodies


def test_pipelining_keeps_the_order(server):
    """The slow ones first: none overtakes."""
    with server.connect() as raw:
        raw.send(request("/later?200") + request("/b") + request("/later?50") + request("/d"))
        bodies = [raw.answer().body.split()[1] for _ in range(4)]
    assert bodies == [b"/later", b"/b", b"/later", b"/d"]


def test_pipelining_is_bounded(serve):
    """A request that is sent ahead waits in the kernel while a response is in progress."""
    server = serve()
    with server.connect(timeout=1) as raw, pytest.raises(TimeoutError):
        raw.send(request("/never"))
        while True:
            raw.send(request("/x") * 1000)
    assert server.peak_kib() < 20000


def test_many_pipelined(server):
    with server.connect() as raw:
        raw.send(request("/x") * 500)
        for _ in range(500):
            assert raw.answer().status == 200


def test_keep_alive(server):
    with server.connect() as raw:
        for i in range(100):
            raw.send(request(f"/{i}"))
            answer = raw.answer()
            assert answer.body.split()[1] == b"/%d" % i
            assert "connection" not in answer.headers
            assert answer.headers["date"].endswith(" GMT")


@pytest.mark.parametrize("words", ["close", "Close", "keep-alive, close", "x,close"])
def test_connection_close(server, words):
    reply = server.exchange(request(headers=[f"Connection: {words}"]) + request("/second"))
    assert reply.count(b"HTTP/1.1 ") == 1 and b"\r\nConnection: close\r\n" in reply


def test_http_1_0(server):
    reply = server.exchange(b"GET /old HTTP/1.0\r\n\r\n")
    assert reply.endswith(b"\r\n\r\nGET /old - 0 -\n") and b"\r\nConnection: close\r\n" in reply
    with server.connect() as raw:
        for _ in range(3):
            raw.send(request(version="1.0", headers=["Connection: Keep-Alive"]))
            assert raw.answer().headers["connection"] == "keep-alive"


def test_stream_for_http_1_0_ends_with_the_connection(server):
    with server.connect() as raw:
        raw.send(request("/stream?100000", version="1.0", headers=["Connection: keep-alive"]))
        answer = raw.answer()
    assert len(answer.body) == 100000
    assert answer.headers["connection"] == "close"
    assert "transfer-encoding" not in answer.headers


def test_head(server):
    with server.connect() as raw:
        raw.send(request("/echo", "HEAD") + request("/stream?50", "HEAD") + request("/after"))
        assert raw.answer(bare=True).headers["content-length"] == "17"
        assert raw.answer(bare=True).headers["transfer-encoding"] == "chunked"
        assert raw.answer().body.startswith(b"GET /after")


def test_head_refused_has_no_body(server):
    reply = server.exchange(request("/private", "HEAD"))
    assert reply.startswith(b"HTTP/1.1 401 ") and reply.endswith(b"\r\n\r\n")


def test_no_content(server):
    with server.connect() as raw:
        raw.send(request("/empty") + request("/after"))
        answer = raw.answer()
        assert answer.status == 204 and "content-length" not in answer.headers
        assert raw.answer().body.startswith(b"GET /after")


def test_stream(server):
    with server.connect() as raw:
        raw.send(request("/stream?3000000") + request("/after"))
        assert raw.answer().body == bytes(3000000)
        assert raw.answer().body.startswith(b"GET /after")


def test_events(server):
    with server.connect() as raw:
        raw.send(request("/events"))
        status, headers = raw.head()
        assert status == 200 and headers["content-type"] == "text/event-stream"
        assert raw.until(b"\n\n").endswith(b"data: 1")


def test_large_answer(server):
    with server.connect() as raw:
        raw.send(request("/big?20000000") + request("/after"))
        assert raw.answer().body == bytes(20000000)
        assert raw.answer().body.startswith(b"GET /after")


def test_answers_cannot_be_split(server):
    with server.connect() as raw:
        raw.send(request("/split"))
        answer = raw.answer()
    assert answer.status == 200
    assert answer.headers["x-good"].encode() == b"caf\xc3\xa9"
    assert not {"x-evil", "x-a", "x-b", "content-type"} & set(answer.headers)


def test_continue(server):
    with server.connect() as raw:
        raw.send(request("/echo", "POST", headers=["Expect: 100-continue", "Content-Length: 2"]))
        assert raw.answer().status == 100
        raw.send(b"hi")
        assert raw.answer().body == b"POST /echo - 2 -\nhi"


def test_continue_only_after_admission(server):
    for path, status in [("/private", 401), ("/own", 403), ("/small", 413)]:
        reply = server.exchange(request(path, "POST", headers=["Expect: 100-continue",
                                                               "Content-Length: 20"]))
        assert reply.startswith(b"HTTP/1.1 %d " % status) and reply.count(b"HTTP/1.1") == 1
        assert b"\r\nConnection: close\r\n" in reply


def test_continue_is_not_for_http_1_0(server):
    with server.connect() as raw:
        raw.send(request("/echo", "POST", version="1.0", headers=["Expect: 100-continue"],
                         body=b"hi"))
        assert raw.answer().body == b"POST /echo - 2 -\nhi"


def test_admission_refuses_in_its_own_words(server):
    reply = server.exchange(request("/own", "POST", body=b"x" * 1000) + request("/second"))
    assert reply.endswith(b"own words") and reply.count(b"HTTP/1.1") == 1


def test_admission_lowers_the_limit(server):
    with server.connect() as raw:
        raw.send(request("/small", "POST", body=b"0123456789"))
        assert raw.answer().status == 200
    head = request("/small", "POST", headers=["Transfer-Encoding: chunked"])
    reply = server.exchange(head + b"5\r\n01234\r\n6\r\n567890\r\n0\r\n\r\n")
    assert reply.startswith(b"HTTP/1.1 413 ")


def test_upgrade_is_ignored(server):
    with server.connect() as raw:
        raw.send(request("/a", headers=["Upgrade: h2c", "Connection: Upgrade, HTTP2-Settings",
                                        "HTTP2-Settings: AAMAAABkAAQAAP__"]) +
                 request("/b", "POST", headers=["Upgrade: websocket", "Connection: upgrade"],
                         body=b"hi") + request("/c"))
        assert [raw.answer().body.split()[1] for _ in range(3)] == [b"/a", b"/b", b"/c"]


def test_lists_are_joined(server):
    with server.connect() as raw:
        raw.send(request(headers=["Accept: a/b", "X-A: 1", "accept: c/d", "Accept:",
                                  "ACCEPT:e/f  "]))
        assert raw.answer().body == b"GET /echo - 0 a/b, c/d, e/f\n"


def test_unix_socket_half_closed(serve, tmp_path):
    """A client that has only shut down sending still gets a response that takes a while."""
    server = serve(tmp_path / "s")
    with server.connect() as raw:
        raw.send(request("/later?200") + request("/b"))
        raw.end_sending()
        assert raw.answer().body.startswith(b"GET /later")
        assert raw.answer().body.startswith(b"GET /b")
        assert raw.rest() == b""
    assert server.counts()["gone"] == 0


def test_tcp_half_closed_gets_what_is_answered_at_once(server):
    with server.connect() as raw:
        raw.send(request("/a") + request("/big?3000000") + request("/c"))
        raw.end_sending()
        assert raw.answer().status == 200
        assert len(raw.answer().body) == 3000000
        assert raw.answer().body.startswith(b"GET /c")
        assert raw.rest() == b""


def test_drain(serve):
    server = serve()
    with server.connect() as idle, server.connect() as busy, server.connect() as last:
        busy.send(request("/later?300"))
        last.send(request("/counts"))
        last.answer()
        last.send(request("/drain"))
        assert last.answer().headers["connection"] == "close"
        assert idle.rest() == b""
        assert busy.answer().headers["connection"] == "close"
        last.close()
        busy.close()
    assert server.process.wait(5) == 0
    server.process.poll = lambda: None
