# SPDX-License-Identifier: Apache-2.0
"""A5: requests with two interpretations, or none: refused, the connection closed,
nothing smuggled."""

import re
import time

import pytest

HOST = b"Host: localhost\r\n"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"


def get(*lines, target=b"/echo", host=HOST):
    return b"GET " + target + b" HTTP/1.1\r\n" + host + b"".join(lines) + b"\r\n"


def post(*lines, body=b""):
    return b"POST /echo HTTP/1.1\r\n" + HOST + b"".join(lines) + b"\r\n" + body


def chunked(body):
    return post(b"Transfer-Encoding: chunked\r\n", body=body)


CASES = {
    # the request line
    "http 0.9": (b"GET /echo\r\n", 400),
    "http 0.9 named": (b"GET /echo HTTP/0.9\r\n\r\n", 505),
    "http 1.2": (b"GET /echo HTTP/1.2\r\n" + HOST + b"\r\n", 505),
    "http 2 preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    "version in lower case": (b"GET /echo http/1.1\r\n" + HOST + b"\r\n", 400),
    "version of another protocol": (b"GET /echo ICE/1.0\r\n" + HOST + b"\r\n", 400),
    "version RTSP": (b"GET /echo RTSP/1.0\r\n" + HOST + b"\r\n", 400),
    "version with two digits": (b"GET /echo HTTP/1.10\r\n" + HOST + b"\r\n", 400),
    "two spaces": (b"GET  /echo HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "two spaces before the version": (b"GET /echo  HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "space at the end": (b"GET /echo HTTP/1.1 \r\n" + HOST + b"\r\n", 400),
    "space at the start": (b" GET /echo HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "tab between": (b"GET\t/echo\tHTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "empty line first": (b"\r\n" + get(), 400),
    "line feeds first": (b"\n\n" + get(), 400),
    "line feed only": (get().replace(b"\r\n", b"\n"), 400),
    "line feed after the request line": (b"GET /echo HTTP/1.1\n" + HOST + b"\r\n", 400),
    "carriage return only": (get().replace(b"\r\n", b"\r"), 400),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    "nul first": (b"\0" + get(), 400),
    "method unknown": (b"BREW /echo HTTP/1.1\r\n" + HOST + b"\r\n", 501),
    "method in lower case": (b"get /echo HTTP/1.1\r\n" + HOST + b"\r\n", 501),
    "method CONNECT": (b"CONNECT localhost:80 HTTP/1.1\r\n" + HOST + b"\r\n", 405),
    "method TRACE": (b"TRACE /echo HTTP/1.1\r\n" + HOST + b"\r\n", 405),
    "method no token": (b"G(T /echo HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    # the target
    "absolute form": (get(target=b"http://localhost/echo"), 400),
    "absolute form of another host": (get(target=b"http://evil.example/echo"), 400),
    "asterisk": (b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "no slash": (get(target=b"echo"), 400),
    "authority": (get(target=b"//evil.example/echo"), 400),
    "escaped nul": (get(target=b"/a%00b"), 400),
    "escaped nul in the query": (get(target=b"/echo?a=%00"), 400),
    "escape cut off": (get(target=b"/a%2"), 400),
    "escape of no digits": (get(target=b"/a%zz"), 400),
    "escape of no digits in the query": (get(target=b"/echo?%g0"), 400),
    "escaped line feed": (get(target=b"/a%0ab"), 400),
    "escaped slash": (get(target=b"/a%2fb"), 400),
    "overlong slash": (get(target=b"/a%c0%afb"), 400),
    "overlong dot": (get(target=b"/%c0%ae%c0%ae/etc"), 400),
    "not UTF-8": (get(target=b"/%ff"), 400),
    "raw bytes": (get(target=b"/caf\xc3\xa9"), 400),
    "dot": (get(target=b"/a/./b"), 400),
    "dots": (get(target=b"/a/../b"), 400),
    "dots at the end": (get(target=b"/a/.."), 400),
    "escaped dots": (get(target=b"/a/%2e%2E/b"), 400),
    "half escaped dots": (get(target=b"/a/.%2e/b"), 400),
    "empty part": (get(target=b"/a//b"), 400),
    "fragment": (get(target=b"/echo#x"), 400),
    "backslash": (get(target=b"/a\\..\\b"), 400),
    "quote": (get(target=b"/a\"b"), 400),
    "braces in the query": (get(target=b"/echo?{}"), 400),
    "long target": (get(target=b"/" + b"a" * 9000), 414),
    "endless request line": (b"GET /" + b"a" * 20000, 414),
    # headers
    "continued": (get(b"X-A: 1\r\n 2\r\n"), 400),
    "continued by tab": (get(b"X-A: 1\r\n\t2\r\n"), 400),
    "continued at the start": (b"GET /echo HTTP/1.1\r\n " + HOST + b"\r\n", 400),
    "space before the colon": (get(b"X-A : 1\r\n"), 400),
    "tab before the colon": (get(b"Content-Length\t: 5\r\n"), 400),
    "space in the name": (get(b"X A: 1\r\n"), 400),
    "no colon": (get(b"X-A\r\n"), 400),
    "no name": (get(b": 1\r\n"), 400),
    "brackets in the name": (get(b"X[A]: 1\r\n"), 400),
    "byte above 127 in the name": (get(b"X-\xc3\xa9: 1\r\n"), 400),
    "nul in the name": (get(b"X\0A: 1\r\n"), 400),
    "nul in the value": (get(b"X-A: a\0b\r\n"), 400),
    "bell in the value": (get(b"X-A: a\x07b\r\n"), 400),
    "delete in the value": (get(b"X-A: a\x7fb\r\n"), 400),
    "value not UTF-8": (get(b"X-A: \xff\r\n"), 400),
    "line feed in the value": (get(b"X-A: a\nX-B: b\r\n"), 400),
    "carriage return in the value": (get(b"X-A: a\rX-B: b\r\n"), 400),
    "carriage return hides a length": (post(b"X-A: a\rContent-Length: 5\r\n", body=b"hello"), 400),
    "two carriage returns": (get(b"X-A: a\r\r\n"), 400),
    "line feed ends the head": (b"GET /echo HTTP/1.1\r\n" + HOST + b"\n", 400),
    "carriage return ends the head": (b"GET /echo HTTP/1.1\r\n" + HOST + b"\rX", 400),
    "large head": (get(b"X-A: " + b"a" * 17000 + b"\r\n"), 431),
    "many headers": (get(*[b"X-%d: 1\r\n" % i for i in range(101)]), 431),
    "single header twice": (get(b"Authorization: a\r\nauthorization: b\r\n"), 400),
    "unknown header twice": (get(b"X-A: 1\r\nx-a: 1\r\n"), 400),
    "type twice": (post(b"Content-Type: a/b\r\nContent-Type: a/b\r\n"), 400),
    "expectation": (post(b"Expect: 200-ok\r\nContent-Length: 5\r\n"), 417),
    # hosts
    "no host": (get(host=b""), 400),
    "two hosts": (get(HOST), 400),
    "two other hosts": (get(b"host: evil.example\r\n"), 400),
    "empty host": (get(host=b"Host:\r\n"), 400),
    "host with a path": (get(host=b"Host: localhost/x\r\n"), 400),
    "host with a user": (get(host=b"Host: me@localhost\r\n"), 400),
    "host with a space": (get(host=b"Host: local host\r\n"), 400),
    "host list": (get(host=b"Host: a, b\r\n"), 400),
    "host with a wrong port": (get(host=b"Host: localhost:80x\r\n"), 400),
    "host with an empty port": (get(host=b"Host: localhost:\r\n"), 400),
    "host with a long port": (get(host=b"Host: localhost:808080\r\n"), 400),
    "host with a wrong bracket": (get(host=b"Host: [::1\r\n"), 400),
    "host with a wrong escape": (get(host=b"Host: a%2\r\n"), 400),
    # lengths and encodings
    "tab behind a length": (post(b"Content-Length: 5\t\r\n", body=b"hello"), 400),
    "tab before a length": (post(b"Content-Length:\t5\r\n", body=b"hello"), 400),
    "tab behind an encoding": (post(b"Transfer-Encoding: chunked\t\r\n", body=b"0\r\n\r\n"), 400),
    "space and tab behind an encoding": (post(b"Transfer-Encoding: chunked \t\r\n", body=b"0\r\n\r\n"), 400),
    "tab in the options": (get(b"Connection: close\t, a\r\n"), 400),
    "two lengths": (post(b"Content-Length: 5\r\nContent-Length: 6\r\n", body=b"hello"), 400),
    "two equal lengths": (post(b"Content-Length: 5\r\ncontent-length: 5\r\n", body=b"hello"), 400),
    "list of lengths": (post(b"Content-Length: 5, 5\r\n", body=b"hello"), 400),
    "negative length": (post(b"Content-Length: -1\r\n"), 400),
    "length with a sign": (post(b"Content-Length: +5\r\n", body=b"hello"), 400),
    "hexadecimal length": (post(b"Content-Length: 0x5\r\n", body=b"hello"), 400),
    "length with a space": (post(b"Content-Length: 1 0\r\n", body=b"hello"), 400),
    "empty length": (post(b"Content-Length:\r\n"), 400),
    "length overflows": (post(b"Content-Length: 18446744073709551621\r\n", body=b"hello"), 400),
    "large length": (post(b"Content-Length: 10737418240\r\n"), 413),
    "length and encoding": (post(b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                                 body=b"0\r\n\r\n"), 400),
    "encoding and length": (post(b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                                 body=b"0\r\n\r\n"), 400),
    "encoding gzip": (post(b"Transfer-Encoding: gzip\r\n"), 400),
    "encoding gzip, chunked": (post(b"Transfer-Encoding: gzip, chunked\r\n",
                                    body=b"0\r\n\r\n"), 400),
    "encoding chunked, identity": (post(b"Transfer-Encoding: chunked, identity\r\n"), 400),
    "encoding identity": (post(b"Transfer-Encoding: identity\r\n"), 400),
    "encoding xchunked": (post(b"Transfer-Encoding: xchunked\r\n", body=b"0\r\n\r\n"), 400),
    "encoding quoted": (post(b"Transfer-Encoding: \"chunked\"\r\n", body=b"0\r\n\r\n"), 400),
    "encoding with a parameter": (post(b"Transfer-Encoding: chunked;a\r\n",
                                       body=b"0\r\n\r\n"), 400),
    "encoding with a vertical tab": (post(b"Transfer-Encoding: \x0bchunked\r\n",
                                          body=b"0\r\n\r\n"), 400),
    "two encodings": (post(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                           body=b"0\r\n\r\n"), 400),
    "empty encoding": (post(b"Transfer-Encoding:\r\n"), 400),
    "encoding in http 1.0": (b"POST /echo HTTP/1.0\r\n" + HOST +
                             b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    # chunks
    "chunk extension": (chunked(b"5;a=b\r\nhello\r\n0\r\n\r\n"), 400),
    "chunk extension without a name": (chunked(b"5;\r\nhello\r\n0\r\n\r\n"), 400),
    "extension of the last chunk": (chunked(b"0;a\r\n\r\n"), 400),
    "space after the chunk's size": (chunked(b"5 \r\nhello\r\n0\r\n\r\n"), 400),
    "space before the chunk's size": (chunked(b" 5\r\nhello\r\n0\r\n\r\n"), 400),
    "sign before the chunk's size": (chunked(b"+5\r\nhello\r\n0\r\n\r\n"), 400),
    "chunk's size with a prefix": (chunked(b"0x5\r\nhello\r\n0\r\n\r\n"), 400),
    "no size": (chunked(b"\r\nhello\r\n0\r\n\r\n"), 400),
    "chunk's size negative": (chunked(b"-5\r\nhello\r\n0\r\n\r\n"), 400),
    "chunk's size overflows": (chunked(b"10000000000000005\r\nhello\r\n0\r\n\r\n"), 400),
    "large chunk": (chunked(b"fffffff\r\nhello"), 413),
    "line feed after the size": (chunked(b"5\nhello\r\n0\r\n\r\n"), 400),
    "carriage return after the size": (chunked(b"5\rXhello\r\n0\r\n\r\n"), 400),
    "chunk longer than its size": (chunked(b"5\r\nhello!\r\n0\r\n\r\n"), 400),
    "line feed after the chunk": (chunked(b"5\r\nhello\n0\r\n\r\n"), 400),
    "carriage return after the chunk": (chunked(b"5\r\nhello\rX0\r\n\r\n"), 400),
    "line feed after the last chunk": (chunked(b"0\n\r\n"), 400),
    "line feed at the end": (chunked(b"0\r\n\n"), 400),
    "trailer": (chunked(b"0\r\nX-A: 1\r\n\r\n"), 400),
    "trailer with a length": (chunked(b"5\r\nhello\r\n0\r\nContent-Length: 50\r\n\r\n"), 400),
}


def check_refused(reply, status):
    heads = re.findall(rb"^HTTP/1\.1 (\d+) ", reply, re.M)
    assert heads == [str(status).encode()], reply
    head, _, body = reply.partition(b"\r\n\r\n")
    assert b"\r\nConnection: close" in head
    assert b"\r\nContent-Type: application/problem+json" in head
    assert b"smuggled" not in reply
    assert body == b'{"status": %d, "detail": "refused"}\n' % status


def test_enough_cases():
    assert len(CASES) >= 60


@pytest.mark.parametrize("name", CASES)
def test_refused(server, name):
    data, status = CASES[name]
    before = server.counts()
    with server.connect() as raw:
        raw.send_what_goes(data + SMUGGLED)
        check_refused(raw.rest(), status)
    after = server.counts()
    assert after["requests"] == before["requests"] + 1
    assert after["malformed"] == before["malformed"] + 1


@pytest.mark.parametrize("name", [name for name in CASES if len(CASES[name][0]) < 1000])
def test_refused_byte_by_byte(server, name):
    data, status = CASES[name]
    with server.connect() as raw:
        for byte in data:
            raw.send_what_goes(bytes([byte]))
        raw.send_what_goes(SMUGGLED)
        check_refused(raw.rest(), status)


@pytest.mark.parametrize("name", [name for name in CASES if len(CASES[name][0]) < 1000])
def test_refused_after_a_good_one(server, name):
    data, status = CASES[name]
    with server.connect() as raw:
        raw.send_what_goes(get(target=b"/first") + data + SMUGGLED)
        assert raw.answer().body.startswith(b"GET /first ")
        check_refused(raw.rest(), status)


def test_prefixes_are_never_answered_with_success(server):
    """A truncated request is no request."""
    whole = chunked(b"5\r\nhello\r\n0\r\n\r\n")
    before = server.counts()["requests"]
    for size in range(len(whole)):
        with server.connect() as raw:
            raw.send(whole[:size])
            raw.end_sending()
            assert raw.rest() == b""
    assert server.counts()["requests"] == before + 1


def test_refusal_is_read_in_spite_of_a_body(server):
    """A client that still sends gets the response, not a reset."""
    with server.connect() as raw:
        raw.send(b"POST /echo HTTP/1.1\r\n" + HOST + b"Content-Length: 2000000\r\n\r\n")
        for _ in range(20):
            raw.send(b"x" * 100000)
            time.sleep(0.001)
        check_refused(raw.rest(), 413)


def test_allow(server):
    reply = server.exchange(b"TRACE / HTTP/1.1\r\n" + HOST + b"\r\n")
    assert b"\r\nAllow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n" in reply
