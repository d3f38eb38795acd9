# SPDX-License-Identifier: Apache-2.0
"""The command line against a hostile service: one response to every request."""

import json
import socket
import threading

import pytest
from test_command_line import brig

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
ID = "01M7N2MX6W31GSQR2P0ZS8N2VN"


@pytest.fixture
def hostile(tmp_path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "s"))
    listener.listen(1)
    threads = []

    def say(answer, *words):
        def serve():
            peer = listener.accept()[0]
            with peer:
                peer.recv(65536)
                peer.sendall(answer)
                peer.shutdown(socket.SHUT_WR)
                while peer.recv(65536):
                    pass

        threads.append(threading.Thread(target=serve, daemon=True))
        threads[-1].start()
        done = brig(*words, url=say.url)
        threads[-1].join(30)
        return done

    say.url = f"unix:{tmp_path}/s"
    yield say
    listener.close()


def event(name, data):
    return b"event: %s\ndata: %s\n\n" % (name, data)


def test_json_has_nothing_that_a_terminal_obeys(hostile):
    result = '{"status":"ok","exit_code":0,"stdout":"\x9b6n\x7f\u202e"}'.encode()
    done = hostile(HEAD + event(b"result", result), "run", "--service", hostile.url,
                   "--json", "-c", "1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii() and b"\x7f" not in done.stdout
    assert json.loads(done.stdout)["stdout"] == "\x9b6n\x7f\u202e"


def test_names_of_events(hostile):
    answer = HEAD + event(b"\x1b]52;c;aGk=\x07", b'["\xc2\x9b6n"]') + event(b"result", b"{}")
    done = hostile(answer, "logs", "--json", ID)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii() and not {0x1b, 7} & set(done.stdout)
    first = json.loads(done.stdout.splitlines()[0])
    assert first == {"event": "\x1b]52;c;aGk=\x07", "data": ["\x9b6n"]}


def test_an_answer_that_breaks_off_is_told(hostile):
    """It is not taken for a reader of ours that has left."""
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\nevent: x\n"
    done = hostile(answer, "run", "--service", hostile.url, "-c", "1")
    assert done.returncode == 125
    assert b"is incomplete" in done.stderr


OK = b"HTTP/1.1 200 OK\r\n"
RESULT = b'event: result\ndata: {"status":"ok","exit_code":0}\n\n'
SIZE = b"%x" % len(RESULT)


@pytest.mark.parametrize("answer", [
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK + b"\r\n" + RESULT,
    OK + b"CONTENT-length:%d\r\n\r\n" % len(RESULT) + RESULT + b"more",
    OK + b"transfer-encoding:Chunked\r\n\r\n" + SIZE + b";a=b\r\n" + RESULT + b"\r\n0\r\nX: y\r\n\r\n",
    b"HTTP/1.0 200\r\n\r\n" + RESULT,
], ids=["interim", "length", "chunks", "until close"])
def test_good_answers(hostile, answer):
    done = hostile(answer, "run", "--service", hostile.url, "-c", "1")
    assert (done.returncode, done.stderr) == (0, b"")


NOT_HTTP = [
    (b"SSH-2.0-x\r\n", b"version of HTTP"),
    (b"HTTP/2.0 200 OK\r\n\r\n" + RESULT, b"only HTTP/1.1"),
    (b"HTTP/1.1 20 OK\r\n\r\n" + RESULT, b"the status is not"),
    (b"HTTP/1.1 200 OK\n\n" + RESULT, b"CR LF"),
    (OK + b"X: a\r\n b\r\n\r\n" + RESULT, b"continued"),
    (OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n" + RESULT, b"sent twice"),
    (OK + b"Content-Length: 5x\r\n\r\n" + RESULT, b"not a length"),
    (OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"were sent"),
    (OK + b"Transfer-Encoding: gzip\r\n\r\n" + RESULT, b"chunked"),
    (OK + b"Transfer-Encoding: chunked\r\n\r\nx\r\n", b"does not begin with its size"),
    (OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", b"longer than its size"),
    (OK + b"X: " + b"a" * 70000, b"the head is too large"),
    (b"HTTP/1.1 200 " + b"a" * 70000, b"the first line is too long"),
    (OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX Y: 1\r\n\r\n", b"there is a trailer"),
]


@pytest.mark.parametrize("answer, why", NOT_HTTP, ids=[why.decode() for _, why in NOT_HTTP])
def test_answers_that_are_not_http(hostile, answer, why):
    """They are refused as soon as that is known, whatever a part of them could mean."""
    done = hostile(answer, "run", "--service", hostile.url, "-c", "1")
    assert done.returncode == 125
    assert b"is not valid HTTP: " in done.stderr and why in done.stderr


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", "a" * 300 + "/x", "", ".", "a/", ".git/x"])
def test_file_names(hostile, tmp_path, path):
    result = json.dumps({"status": "ok", "exit_code": 0,
                         "files": [{"path": path, "content_base64": "aGk="}]}).encode()
    out = tmp_path / "in" / "out"
    out.mkdir(parents=True)
    hostile(HEAD + event(b"result", result), "run", "--service", hostile.url,
            "--out-dir", out, "-c", "1")
    assert [it for it in (tmp_path / "in").rglob("*") if it.is_file()] == []
