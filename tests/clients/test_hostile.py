# SPDX-License-Identifier: Apache-2.0
"""Servers that misbehave: each response is an exception of ours, soon, and harms nothing."""

import asyncio
import base64
import hashlib
import json
import os
import time

import brig
import pytest
from conftest import http, read_request


def result(**changes):
    """A valid result, except for the changes."""
    good = {
        "id": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "status": "ok", "exit_code": 0, "signal": None,
        "stdout": "x", "stderr": "", "stdout_truncated": False, "stderr_truncated": False,
        "encoding": "utf-8", "value": None, "files": [], "files_note": None,
        "verdict": {"cause": "exit", "limit_name": None, "limit": None, "peak": None,
                    "denial": None, "remedy": None, "operator_remedy": None},
        "duration_ms": 1.5, "usage": {"wall_ms": 1.5}, "limits": {}, "means": {},
        "language": "python", "runtime": None, "policy": "default@sha256:0", "provider": "native",
        "start": "cold", "layers": [], "build_cached": False, "expires_at": None,
    }
    return {**good, **changes}


def file(path, content=b"evil", **changes):
    return {"path": path, "size": len(content), "sha256": hashlib.sha256(content).hexdigest(),
            "executable": True, "content_base64": base64.b64encode(content).decode(), **changes}


def events(*blocks):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    return head + b"".join(blocks)


CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"

MALFORMED = {
    "nothing": b"",
    "no http": b"SSH-2.0-OpenSSH_9\r\n\r\n",
    "half a head": b"HTTP/1.1 200 OK\r\nContent-Le",
    "endless head": b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 20000,
    "one long line": b"HTTP/1.1 200 OK\r\nX: " + b"a" * 200000,
    "bad field": b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n{}",
    "interim without end": b"HTTP/1.1 100 Continue\r\n\r\n" * 100,
    "switching": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    "redirect": b"HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\nContent-Length: 0\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x",
    "negative length": b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n{}",
    "length and chunks": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + CHUNKED[17:]
                         + b"2\r\n{}\r\n0\r\n\r\n",
    "unknown coding": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n{}",
    "bad chunk": CHUNKED + b"zz\r\n{}\r\n",
    "huge chunk": CHUNKED + b"ffffffffffffffffffff\r\n{}\r\n",
    "chunk without end": CHUNKED + b"2\r\n{}xx0\r\n\r\n",
    "cut in a chunk": CHUNKED + b"ff\r\n{",
    "cut body": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
    "no json": http(200, b"<html>"),
    "not utf-8": http(200, b'{"x":"\xff"}'),
    "nan": http(200, b"NaN"),
    "deep": http(200, b"[" * 200_000 + b"]" * 200_000),
    "error that is no problem": http(500, b"<h1>Internal</h1>", "text/html"),
    "problem of wrong types": http(400, {"code": 1, "title": [], "status": "x"},
                                   "application/problem+json"),
    "problem without code": http(400, {}, "application/problem+json"),
    "list": http(200, []),
    "empty object": http(200, {}),
    "id": http(200, result(id="../../etc")),
    "status": http(200, result(status=None)),
    "stdout": http(200, result(stdout=["x"])),
    "exit code": http(200, result(exit_code="0")),
    "boolean for number": http(200, result(duration_ms=True)),
    "encoding": http(200, result(encoding="rot13")),
    "base64": http(200, result(encoding="base64", stdout="****")),
    "files": http(200, result(files={"path": "x"})),
    "file hash": http(200, result(files=[file("a", sha256="0" * 64)])),
    "file size": http(200, result(files=[file("a", size=1)])),
    "verdict": http(200, result(verdict=None)),
    "usage": http(200, result(usage={"wall_ms": "long"})),
    "events": http(200, result(events={})),
    "an event": http(200, result(events=[{"kind": "call.denied"}])),
    "event counts": http(200, result(event_counts={"call.denied": "many"})),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed(answer, name):
    server = answer(MALFORMED[name])
    start = time.monotonic()
    with pytest.raises((brig.BadAnswer, brig.ConnectionLost)):
        brig.Client(server.url, retries=0, deadline=20).execute("1")
    with pytest.raises((brig.BadAnswer, brig.ConnectionLost)):
        asyncio.run(brig.AsyncClient(server.url, retries=0, deadline=20).execute("1"))
    assert time.monotonic() - start < 15


def test_a_good_one_is_read(answer):
    server = answer(http(200, result(new_field={"x": 1}, stdout="\ud800", value=10 ** 30)))
    seen = brig.Client(server.url).execute("1")
    # Fields of a later version are in raw; half a surrogate is harmless.
    assert seen.ok and seen.raw["new_field"] == {"x": 1} and seen.value == 10 ** 30
    assert seen.stdout == "?" and seen.stdout_bytes == b"?"


def test_numbers_without_end_stay_text(answer):
    body = json.dumps(result()).replace('"value": null', '"value": ' + "9" * 200_000).encode()
    start = time.monotonic()
    assert brig.Client(answer(http(200, body)).url).execute("1").value == "9" * 200_000
    assert time.monotonic() - start < 5


def test_too_large(listen):
    def flood(connection, number):
        read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        while True:
            connection.sendall(b" " * 65536)

    server = listen(flood)
    for work in (lambda c: c.execute("1"), lambda c: c.stream("1").wait(),
                 lambda c: list(c.batch([{"code": "1"}]))):
        with pytest.raises(brig.BadAnswer, match="too large"):
            work(brig.Client(server.url, max_bytes=1 << 20))
    with pytest.raises(brig.BadAnswer, match="too large"):
        asyncio.run(brig.AsyncClient(server.url, max_bytes=1 << 20).execute("1"))


def test_too_slow(listen):
    def drip(connection, number):
        read_request(connection)
        for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b" " * 1000:
            connection.sendall(bytes([byte]))
            time.sleep(0.05)

    server = listen(drip)
    start = time.monotonic()
    # Byte after byte is no progress: the timeout is for the whole response.
    with pytest.raises(brig.DeadlineExceeded):
        brig.Client(server.url, deadline=0.5).execute("1")
    with pytest.raises(brig.DeadlineExceeded):
        asyncio.run(brig.AsyncClient(server.url, deadline=0.5).execute("1"))
    assert time.monotonic() - start < 10


def test_refusal_in_the_middle_of_the_request(listen):
    def refuse(connection, number):
        connection.recv(100)
        body = {"type": "x", "title": "T", "status": 413, "detail": "D", "remedy": None,
                "code": "content_too_large"}
        connection.sendall(http(413, body, "application/problem+json"))

    with pytest.raises((brig.Problem, brig.ConnectionLost)):
        brig.Client(listen(refuse).url).execute("x" * 3_000_000)


RESULT = b"id: end\nevent: result\ndata: " + json.dumps(result()).encode() + b"\n\n"


def stream_of(server):
    return list(brig.Client(server.url, retries=0).stream("1"))


@pytest.mark.parametrize("block", [
    b"event: output\ndata: nothing\n\n",
    b'event: output\ndata: {"stream":"stdin","data":"x"}\n\n',
    b'event: output\ndata: {"stream":"stdout","data":1}\n\n',
    b'event: output\ndata: {"stream":"stdout","data_base64":"*"}\n\n',
    b'id: a b\nevent: output\ndata: {"stream":"stdout","data":"x"}\n\n',
    b'event: error\ndata: {"code":"x"}\n\n',
    b"event: result\ndata: {}\n\n",
    b"",
    b"id: end\nevent: result\ndata: {",
])
def test_malformed_events(answer, block):
    with pytest.raises((brig.BadAnswer, brig.ConnectionLost)):
        stream_of(answer(events(block)))


def test_events_that_are_odd_but_right(answer):
    got = stream_of(answer(events(
        b": a comment\r\n", b"event: later\ndata: {}\n\n", b"retry: 5\n\n",
        b'event: output\r\ndata: {"stream":"stdout",\r\ndata: "data":"x"}\r\n\r\n', RESULT)))
    assert got[0].data == b"x" and got[1].result.ok and len(got) == 2


def test_problem_in_a_stream(answer):
    body = {"type": "x", "title": "T", "status": 503, "detail": "D", "code": "queue_timeout",
            "remedy": "R"}
    block = b"event: error\ndata: " + json.dumps(body).encode() + b"\n\n"
    with pytest.raises(brig.Problem, match="queue_timeout"):
        stream_of(answer(events(block)))


@pytest.mark.parametrize("lines", [
    [{"program": 0, "input": 0, "result": None, "error": None}],
    [{"program": "0", "input": 0, "result": result(), "error": None}],
    [{"done": True, "count": 3, "errors": 0}],
    [{"program": 0, "input": 0, "result": result(), "error": None}],
    [{"done": True, "count": 0, "errors": 0},
     {"program": 0, "input": 0, "result": result(), "error": None}],
    ["x"],
])
def test_malformed_batches(answer, lines):
    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    with pytest.raises((brig.BadAnswer, brig.ConnectionLost)):
        list(brig.Client(answer(http(200, body)).url).batch([{"code": "1"}]))


@pytest.mark.parametrize("path", [
    "../evil", "/etc/evil", "a/../../evil", "a//b", "./a", "a/.", "", "a\0b", "/".join("a" * 100),
    "..", "a/b/../c",
])
def test_path_tricks(answer, path, tmp_path):
    seen = brig.Client(answer(http(200, result(files=[file("fine"), file(path)]))).url).execute("1")
    with pytest.raises(brig.UnsafePath):
        seen.save_files(tmp_path / "here")
    # Names are checked before any file is written.
    assert not (tmp_path / "here").exists() and not list(tmp_path.rglob("*evil*"))


def saved(*files, **options):
    return lambda place: brig.ExecutionResult.from_json(result(files=list(files))).save_files(
        place, **options)


def test_save(tmp_path):
    paths = saved(file("a/b", b"1"), file("c", b"2"))(tmp_path / "new")
    assert [open(path, "rb").read() for path in paths] == [b"1", b"2"]
    assert not os.access(paths[0], os.X_OK)
    with pytest.raises(brig.UnsafePath, match="overwrite"):
        saved(file("c", b"3"))(tmp_path / "new")
    saved(file("c", b"3"), overwrite=True, executable=True)(tmp_path / "new")
    assert (tmp_path / "new" / "c").read_bytes() == b"3"
    assert (tmp_path / "new" / "c").stat().st_mode & 0o100
    assert {p.name for p in (tmp_path / "new").iterdir()} == {"a", "c"}


def test_save_follows_no_links(tmp_path):
    target, place = tmp_path / "target", tmp_path / "place"
    target.mkdir()
    place.mkdir()
    (place / "d").symlink_to(target)
    (place / "f").symlink_to(target / "f")
    for overwrite in (False, True):
        with pytest.raises(brig.UnsafePath):
            saved(file("d/x"), overwrite=overwrite)(place)
    with pytest.raises(brig.UnsafePath):
        saved(file("f"))(place)
    # To overwrite replaces the link itself.
    saved(file("f"), overwrite=True)(place)
    assert not (place / "f").is_symlink() and list(target.iterdir()) == []
    with pytest.raises((brig.UnsafePath, OSError)):
        saved(file("x"), file("x/y"))(place)


def test_a_program_that_lies_as_brig(tmp_path):
    """Spawning trusts its input as little as a socket does."""
    for output in ("", "{}", "[", '{"error":{"code":1}}', '{"error":[]}'):
        fake = tmp_path / "brig"
        fake.write_text(f"#!/bin/sh\ncat >/dev/null\nprintf '%s' '{output}'\n")
        fake.chmod(0o755)
        with pytest.raises(brig.BadAnswer):
            brig.Client(f"spawn:{fake}").execute("1", stdin="x" * 100_000)
    fake.write_text("#!/bin/sh\nexec cat /dev/zero\n")
    for make in (lambda c: c.execute("1"), lambda c: c.runtimes()):
        with pytest.raises(brig.BadAnswer):
            make(brig.Client(f"spawn:{fake}", max_bytes=1 << 20))
    with pytest.raises(brig.BadAnswer):
        asyncio.run(brig.AsyncClient(f"spawn:{fake}", max_bytes=1 << 20).execute("1"))
