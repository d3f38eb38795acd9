# SPDX-License-Identifier: Apache-2.0
"""POST /v1/execute: the examples that brig must get right, by HTTP."""

import base64
import json
import time

import pytest
from conftest import check_named, serve


def test_hello(unix):
    result = unix.run(language="python", code='print("Hello, World!")')
    assert (result["status"], result["exit_code"], result["stdout"]) == ("ok", 0, "Hello, World!\n")


def test_python_is_the_usual_language(unix):
    assert unix.run(code="print(6 * 7)")["language"] == "python"


def check_versions(client):
    """Cold and warm: as in the list of runtimes."""
    listed = client.ask("GET", "/v1/runtimes").json()["runtimes"]
    for language, code in (("python", "1"), ("bash", "true")):
        version = next(one["version"] for one in listed if one["name"] == language)
        assert version[0].isdigit()
        for _ in range(3):
            assert client.run(language=language, code=code)["runtime"] == f"{language} {version}"


def test_runtime_has_its_version(unix):
    check_versions(unix)


def test_runtime_has_its_version_without_a_cache(make_service):
    check_versions(make_service("--set", "cache_dir=/nonexistent/brig").unix())


def test_stdin(unix):
    result = unix.run(code='print("Hello, " + input())', stdin="Alice")
    assert result["stdout"] == "Hello, Alice\n"


def test_stdin_of_bytes(unix):
    data = bytes(range(256))
    result = unix.run(
        code="import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())",
        stdin_base64=base64.b64encode(data).decode(),
    )
    assert result["encoding"] == "base64"
    assert base64.b64decode(result["stdout"]) == data


def test_bash_is_not_root(unix):
    result = unix.run(language="bash", code="id -un; id -u")
    assert "root" not in result["stdout"].split("\n")


def test_failure_is_a_result(unix):
    result = unix.run(code="print('About to error...'); 1/0")
    assert (result["status"], result["exit_code"]) == ("failed", 1)
    assert result["stdout"] == "About to error...\n"
    assert "ZeroDivisionError" in result["stderr"] and "line 1" in result["stderr"]


def test_timeout_keeps_what_was_printed(unix):
    code = "import time\nfor i in range(100):\n print(i, flush=True); time.sleep(.2)"
    result = unix.run(code=code, timeout_ms=1500)
    assert result["status"] == "timeout" and result["exit_code"] is None
    assert result["stdout"].startswith("0\n1\n")
    assert 1400 < result["duration_ms"] < 3600
    assert result["limits"]["wall_ms"] == 1500


def test_files_in_and_out(unix):
    result = unix.run(
        code="import os; os.makedirs('out', exist_ok=True)\n"
        "open('out/copy.bin', 'wb').write(open('data.bin', 'rb').read())\n"
        "print(open('dir/data.txt').read(), end='')",
        files=[
            {"path": "dir/data.txt", "content": "Grüße\n"},
            {"path": "data.bin", "content_base64": base64.b64encode(b"\0\xff").decode()},
        ],
    )
    assert result["stdout"] == "Grüße\n"
    assert [f["path"] for f in result["files"]] == ["out/copy.bin"]
    assert base64.b64decode(result["files"][0]["content_base64"]) == b"\0\xff"


def test_args_env_and_out(unix):
    result = unix.run(
        code="import os, sys; print(sys.argv[1:], os.environ['WORD']); open('a.log', 'w').close()",
        args=["x", "y z"], env={"WORD": "ja"}, out=["*.log"],
    )
    assert result["stdout"] == "['x', 'y z'] ja\n"
    assert [f["path"] for f in result["files"]] == ["a.log"]


def test_value(unix):
    assert unix.run(code="x = 20\nx + 1")["value"] == 21


def test_large_output_is_exact(unix):
    assert unix.run(code="print('x' * 200000, end='')")["stdout"] == "x" * 200000


def test_limits_are_those_asked_for(unix):
    result = unix.run(code="pass", limits={"memory_bytes": 134217728, "processes": 32})
    assert result["limits"]["memory_bytes"] == 134217728
    assert result["limits"]["processes"] == 32


def test_the_answer_is_in_the_ledger_with_the_same_id(unix):
    answer = unix.ask("POST", "/v1/execute", {"code": "print(1)"})
    result = answer.json()
    assert answer.header("Location") == "/v1/executions/" + result["id"]
    found = unix.ask("GET", answer.header("Location")).json()
    assert found["result"] == result and found["error"] is None


def test_keep_alive(service):
    connection = serve.UnixConnection(service.server.socket)
    for i in range(5):
        connection.request(
            "POST", "/v1/execute", json.dumps({"code": f"print({i})"}),
            {"Content-Type": "application/json"},
        )
        assert json.loads(connection.getresponse().read())["stdout"] == f"{i}\n"
    connection.close()


# --- streams ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [{"Accept": "text/event-stream"}, None])
def test_stream(unix, how):
    code = "import sys\nprint('a', flush=True)\nprint('b', file=sys.stderr, flush=True)\nprint('c')"
    body = {"code": code} if how else {"code": code, "stream": True}
    answer = unix.ask("POST", "/v1/execute", body, how)
    events = answer.events()
    assert [name for _, name, _ in events][-1] == "result"
    for _, name, data in events:
        check_named({"output": "OutputEvent", "result": "Result"}[name], data)
    written = {"stdout": "", "stderr": ""}
    for _, name, data in events:
        if name == "output":
            written[data["stream"]] += data["data"]
    assert written == {"stdout": "a\nc\n", "stderr": "b\n"}
    assert events[-1][0] == "end" and events[-1][2]["stdout"] == "a\nc\n"


def test_stream_comes_as_it_is_written(unix):
    code = "import time\nfor i in range(3):\n print(i, flush=True); time.sleep(.7)"
    connection, response = unix.open("POST", "/v1/execute", {"code": code, "stream": True})
    while b"event: output" not in response.readline():
        pass
    first = time.monotonic()
    rest = response.read().decode()
    assert time.monotonic() - first > 0.3
    assert "event: result" in rest
    connection.close()


def test_stream_of_cut_characters_and_bytes(unix):
    code = (
        "import sys, time\n"
        "for b in 'ä€𝄞'.encode():\n"
        " sys.stdout.buffer.write(bytes([b])); sys.stdout.flush(); time.sleep(.01)\n"
        "sys.stdout.buffer.write(b'\\xff\\xfe'); sys.stdout.flush()"
    )
    events = unix.ask("POST", "/v1/execute", {"code": code, "stream": True}).events()
    raw = b""
    for _, name, data in events:
        if name == "output":
            raw += data["data"].encode() if "data" in data else base64.b64decode(data["data_base64"])
    assert raw == "ä€𝄞".encode() + b"\xff\xfe"


def test_a_stream_that_cannot_begin_is_a_problem(unix):
    answer = unix.ask("POST", "/v1/execute", {"code": "", "stream": True})
    assert answer.status == 400 and answer.code == "invalid_request"


def test_an_error_in_a_stream(unix):
    answer = unix.ask("POST", "/v1/execute", {"code": "x", "language": "cobol", "stream": True})
    (_, name, data), = answer.events()
    assert name == "error"
    check_named("Problem", data)
    assert data["code"] == "unsupported_language" and "python" in data["remedy"] + data["detail"]


def test_a_slow_reader_gets_all(unix):
    code = "for i in range(15000): print('%050d' % i)"
    connection, response = unix.open("POST", "/v1/execute", {"code": code, "stream": True})
    time.sleep(1)
    text = response.read().decode()
    connection.close()
    assert text.count("event: result") == 1
    assert "%050d" % 14999 in text


# --- clients that leave -----------------------------------------------------------------------------


def running(client):
    page = client.ask("GET", "/v1/executions?limit=20").json()["executions"]
    return [e["id"] for e in page if e["status"] in ("running", "queued")]


def test_who_leaves_ends_the_run(unix):
    connection = unix.connect()
    connection.request(
        "POST", "/v1/execute", json.dumps({"code": "import time; time.sleep(25)"}),
        {"Content-Type": "application/json"},
    )
    (mine,) = serve.wait_for(lambda: running(unix), 10, "it runs")
    connection.close()
    assert unix.wait(mine, 10)["status"] == "cancelled"


def test_who_leaves_a_stream_can_come_back(unix):
    code = "import time\nfor i in range(8):\n print(i, flush=True); time.sleep(.25)"
    connection, response = unix.open("POST", "/v1/execute", {"code": code, "stream": True})
    mine = response.getheader("Location")
    seen, last = "", None
    while "2\n" not in seen:
        line = response.readline().decode()
        assert line, seen
        last = line[4:-1] if line.startswith("id: ") else last
        if line.startswith("data: "):  # a line may come in two parts
            seen += json.loads(line[6:])["data"]
    connection.close()
    rest = unix.ask("GET", mine + "/events", headers={"Last-Event-ID": last}).events()
    text = "".join(data["data"] for _, name, data in rest if name == "output")
    assert text == "3\n4\n5\n6\n7\n"
    assert rest[-1][2]["status"] == "ok"


def test_who_does_not_come_back_ends_it(make_service):
    client = make_service("--set", "runs.resume_timeout=500ms").unix()
    code = "import time\nprint(1, flush=True); time.sleep(25)"
    connection, response = client.open("POST", "/v1/execute", {"code": code, "stream": True})
    mine = response.getheader("Location").rsplit("/", 1)[1]
    response.readline()
    connection.close()
    response.close()
    assert client.wait(mine, 10)["status"] == "cancelled"
