# SPDX-License-Identifier: Apache-2.0
"""Metrics, and the commands that observe a service."""

import json
import os
import pty
import re
import subprocess
import time

from conftest import BRIG, OPENAPI, serve


def command(service, *args, expect=0, timeout=30):
    done = subprocess.run([BRIG, *args, "--socket", service.server.socket], capture_output=True,
                          text=True, timeout=timeout, check=False)
    assert done.returncode == expect, done
    return done


def test_metrics(unix):
    unix.run(code="print(1)")
    unix.ask("POST", "/v1/execute", {"code": ""})
    answer = unix.ask("GET", "/metrics")
    text = answer.body.decode()
    assert answer.header("Content-Type").startswith("application/openmetrics-text; version=1.0.0")
    assert text.endswith("# EOF\n") and text.count("# EOF") == 1
    values = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            match = re.fullmatch(r'([a-z_]+)(\{[a-z]+="[^"]*"\})? ([0-9.e+-]+)', line)
            assert match, line
            assert match[1] + (match[2] or "") not in values, line
            values[match[1] + (match[2] or "")] = float(match[3])
    assert values['brig_executions_total{status="ok"}'] >= 1
    assert values['brig_problems_total{code="invalid_request"}'] >= 1
    assert values["brig_execution_seconds_count"] >= 1
    assert values["brig_ledger_entries"] >= 1
    assert values["brig_engine_memory_available_bytes"] > 0
    families = re.findall(r"# TYPE (\S+) (\S+)", text)
    assert len(families) == len({name for name, _ in families})
    assert {name for name, _ in families} == set(re.findall(r"# HELP (\S+) \S", text))
    counters = {name for name, kind in families if kind == "counter"}
    assert counters == {name.split("{")[0][:-len("_total")] for name in values
                        if name.split("{")[0].endswith("_total")}
    assert {"brig_engine_runs_started", "brig_engine_sessions_opened"} <= counters


def test_info(unix):
    names = [r["name"] for r in unix.ask("GET", "/v1/runtimes").json()["runtimes"]]
    assert "python" in names
    names = [p["name"] for p in unix.ask("GET", "/v1/policies").json()["policies"]]
    assert "default" in names


def test_policy_check(unix):
    answer = unix.ask("POST", "/v1/policies/check", {"code": "print(1)", "policy": "default"}).json()
    assert answer["allowed"] and answer["limits"]["memory_bytes"] > 0 and answer["language"] == "python"
    answer = unix.ask("POST", "/v1/policies/check", {"limits": {"memory_bytes": 1 << 45}}).json()
    assert not answer["allowed"] and "memory" in answer["error"]["detail"]
    answer = unix.ask("POST", "/v1/policies/check", {"language": "cobol"}).json()
    assert answer["error"]["code"] == "unsupported_language"


def test_the_results_schema_is_the_librarys():
    own = json.loads(subprocess.run([BRIG, "run", "--json-schema"], capture_output=True, check=True).stdout)
    text = json.dumps({k: v for k, v in own.items() if k not in ("$schema", "$id", "$defs")})
    text = text.replace("#/$defs/", "#/components/schemas/Result_")
    assert json.loads(text) == OPENAPI["components"]["schemas"]["Result"]


def test_ps_logs_kill(service, unix):
    code = "import time, sys\nprint('one', flush=True)\nprint('two', file=sys.stderr, flush=True)\n" \
           "time.sleep(20)"
    mine = unix.begin(code=code)
    serve.wait_for(
        lambda: unix.ask("GET", f"/v1/executions/{mine}").json()["status"] == "running", 10, "run"
    )
    time.sleep(0.5)
    assert mine in command(service, "ps").stdout
    listed = json.loads(command(service, "ps", "--json").stdout)
    assert mine in [e["id"] for e in listed["executions"]]
    done = command(service, "logs", mine)
    assert done.stdout == "one\n" and done.stderr.startswith("two\n") and "still running" in done.stderr
    assert command(service, "kill", mine).stdout == f"{mine} cancelled\n"
    assert mine not in command(service, "ps").stdout
    assert mine in command(service, "ps", "--all").stdout
    done = command(service, "logs", mine)
    assert done.stdout == "one\n" and "cancelled" in done.stderr


def test_logs_with_nul(service, unix):
    """Programs write it in the same form as everything else."""
    mine = unix.run(code="import sys; sys.stdout.write('a\\0b\\n'); print('end')")["id"]
    done = command(service, "logs", mine)
    assert done.returncode == 0 and done.stdout == "a\0b\nend\n", done
    found = unix.begin(code="import sys; sys.stdout.write('a\\0b'); print('x')")
    unix.wait(found)
    assert json.loads(command(service, "kill", "--json", found).stdout)["status"] == "ok"
    assert command(service, "ps", "--all").returncode == 0


def test_logs_follow(service, unix):
    mine = unix.begin(code="import time\nfor i in range(5):\n print(i, flush=True); time.sleep(.2)")
    assert command(service, "logs", "-f", mine).stdout == "0\n1\n2\n3\n4\n"
    assert command(service, "logs").stdout == "0\n1\n2\n3\n4\n"


def test_commands_that_find_nothing(service):
    assert "no such execution" in command(service, "kill", "01ARZ3NDEKTSV4RRFFQ69G5FAV", expect=125).stderr
    assert "not an execution id" in command(service, "kill", "x", expect=2).stderr
    done = subprocess.run([BRIG, "ps", "--socket", "/nonexistent/sock"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 125 and "brig serve" in done.stderr


def test_socket_from_the_environment(service):
    env = {**os.environ, "BRIG_SOCKET": service.server.socket}
    assert subprocess.run([BRIG, "ps"], env=env, capture_output=True, check=False).returncode == 0


def test_top(service, unix):
    unix.run(code="print(1)")
    text = command(service, "top").stdout
    assert "running" in text and "STATUS" in text


def test_top_on_a_terminal(service):
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(BRIG, [BRIG, "top", "--socket", service.server.socket])
    seen = b""
    end = time.monotonic() + 10
    while seen.count(b"\x1b[H\x1b[J") < 2 and time.monotonic() < end:
        seen += os.read(fd, 4096)
    os.write(fd, b"q\n")
    _, status = os.waitpid(pid, 0)
    os.close(fd)
    assert os.waitstatus_to_exitcode(status) == 0 and seen.count(b"\x1b[H\x1b[J") >= 2
