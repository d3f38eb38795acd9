# SPDX-License-Identifier: Apache-2.0
"""brig's advice can be followed, and has not been followed already."""

import json

import pytest


@pytest.fixture
def config(tmp_path):
    (tmp_path / "policies").mkdir()

    def add(name, **policy):
        text = json.dumps({"extends": "default", **policy})
        (tmp_path / "policies" / f"{name}.json").write_text(text)
        return ("--config", tmp_path, "--policy", name)

    return add


def test_a_call_that_the_policy_kills_for_is_named(result_of, config):
    calls = ["@basic", "@file", "@process", "@thread", "kill:uname"]
    verdict = result_of(*config("killer", syscalls=calls), "-c", "import os; os.uname()")[0]["verdict"]
    assert verdict["cause"] == "syscall"
    assert "uname" in verdict["remedy"] and "kill:" in verdict["operator_remedy"]


def test_the_ceiling_that_holds_is_named(result_of, config):
    loop = ("-c", "while True: pass")
    low = config("low", limits={"wall": "200ms"}, ceiling={"wall": "200ms"})
    verdict = result_of(*low, *loop)[0]["verdict"]
    assert "--timeout" not in str(verdict), verdict
    assert "ceiling.wall of policy low" in verdict["operator_remedy"]
    # There is room, and it met the policy's own limit.
    roomy = config("roomy", limits={"wall": "200ms"}, ceiling={"wall": "5s"})
    verdict = result_of(*roomy, *loop)[0]["verdict"]
    assert "--timeout (wall_ms), up to 5s" in verdict["remedy"]
    assert verdict["operator_remedy"] == "Raise limits.wall in policy roomy."
    # The caller requested less than the policy allows: there is nothing for the operator to raise.
    verdict = result_of(*roomy, "--timeout", "100ms", *loop)[0]["verdict"]
    assert "up to 5s" in verdict["remedy"]
    assert verdict["operator_remedy"] == "The request asked for less than policy roomy gives, 200ms."


def test_output_can_be_cut(result_of, config):
    verdict = result_of("--stdout", "10", "-c", "print('x' * 99)")[0]["verdict"]
    assert "on_output_limit" in verdict["operator_remedy"]
    assert "limits.stdout" not in verdict["operator_remedy"]


def test_a_policy_without_a_cell_has_no_guard(brig):
    for option in (["--guard", "strict"], ["--check"]):
        done = brig("run", "--policy", "open", "--yes", *option, "-c", "1")
        text = done.stderr.decode()
        assert done.returncode == 126 and "provider local has no guard" in text, text
        assert "native" in text and "use python" not in text


def test_no_guard_for_a_language(brig, config):
    asked = brig("run", "--guard", "strict", "--lang", "bash", "-c", "ls").stderr.decode()
    assert "no guard for bash" in asked and "leave the guard out" in asked
    by_policy = brig("run", *config("guarded", guard="strict"), "--lang", "bash", "-c", "ls")
    assert 'guard "off"' in by_policy.stderr.decode()


def test_modules_that_strict_never_allows(brig, tmp_path):
    file = tmp_path / "p.json"

    def check(guard):
        file.write_text(json.dumps({"extends": "default", "guard": guard}))
        return brig("policy", "check", file)

    wrong = check({"mode": "strict", "allowed_modules": ["math", "os"]})
    assert wrong.returncode != 0
    assert b'guard.allowed_modules[1]: guard mode strict cannot allow the module "os"' in wrong.stderr
    assert b"imports" in wrong.stderr
    assert check({"mode": "strict", "allowed_modules": ["math", "numpy", "collections.abc"]}).returncode == 0
    assert check({"mode": "imports", "allowed_modules": ["math", "os"]}).returncode == 0


ASKS = {"python": "import socket; socket.create_connection(('192.0.2.1', 80), 2)",
        "javascript": "require('http').get('http://example.org/')",
        "bash": "echo > /dev/tcp/example.org/80"}


@pytest.mark.parametrize("language", ASKS)
def test_a_cell_without_a_network_says_so(brig, result_of, language):
    result, _ = result_of("--lang", language, "-c", ASKS[language])
    assert result["status"] == "failed"
    assert "has no network" in result["verdict"]["remedy"]
    assert "network.allow" in result["verdict"]["operator_remedy"]
    done = brig("run", "--lang", language, "-c", ASKS[language])
    assert done.stderr.count(b"brig: failed: The program tried to reach ") == 1
    assert done.stderr.count(b"no network") == 1


def test_where_there_is_a_network_its_lack_is_no_reason(result_of):
    code = "raise SystemExit('example.org: Name or service not known')"
    assert "has no network" in result_of("-c", code)[0]["verdict"]["remedy"]
    result, _ = result_of("--net", "example.org", "-c", code)
    assert "has no network" not in result["verdict"]["remedy"]
