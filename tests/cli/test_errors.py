# SPDX-License-Identifier: Apache-2.0
"""Every error names the object, the cause and the repair, as text and as JSON."""

import pytest


@pytest.mark.parametrize(
    "args, message, remedy",
    [
        (["run"], "missing code or command", "-c CODE"),
        (["run", "--"], "missing code or command", "-c CODE"),
        (["run", "--tiemout", "1"], "--tiemout", "--timeout"),
        (["run", "--qqqqqqqqq"], "--qqqqqqqqq", "--help"),
        (["run", "--memory"], "--memory needs a value", "--memory SIZE"),
        (["run", "--memory", "lots", "-c", "x"], "'lots' is not a size", "256M"),
        (["run", "--memory", "0", "-c", "x"], "out of range", "use a value from"),
        (["run", "--memory", "-5", "-c", "x"], "is not a size", "256M"),
        (["run", "--memory", "2gb", "-c", "x"], "is not a size", "K, M or G"),
        (["run", "--timeout", "1e3", "-c", "x"], "--timeout", "5s"),
        (["run", "--changes=1", "-c", "x"], "takes no value", "alone"),
        (["run", "a.py", "b"], "unexpected argument 'b'", "-- b"),
        (["run", "-c", "x", "a.py"], "given twice", "--"),
        (["run", "-c", ""], "empty", None),
        (["run", "-"], "stdin is empty", "brig run -"),
        (["run", "--env", "NO_SUCH_VARIABLE", "-c", "x"], "NO_SUCH_VARIABLE", "=VALUE"),
        (["explain", "--json-schema", "-c", "x"], "--json-schema", "--help"),
        (["runtimes", "python"], "unexpected argument", "--help"),
        (["policy", "chekc", "x"], "chekc", "check"),
        (["policy", "check"], "missing file", "FILE"),
        (["polcy", "list"], "polcy", "policy"),
        (["token"], "missing subcommand", "token new NAME"),
        (["token", "add", "x"], "token add: unknown subcommand", "token new NAME"),
        (["token", "new"], "missing token name", "letters"),
        (["token", "revoke", "--file", "x"], "missing token name", "letters"),
        (["token", "list"], "missing token file", "--file FILE"),
        (["queue", "empty"], "unknown action 'empty'", "release"),
        (["audit", "verify", "record"], "unexpected argument 'record'", "--file FILE"),
        (["logs", "nothing"], "'nothing' is not an execution id", "brig ps"),
        (["kill", "nothing"], "'nothing' is not an execution id", "brig ps"),
        (["kill"], "missing execution id", "brig ps"),
        (["x.py"], "x.py", "brig run"),
    ],
)
def test_usage(error_of, args, message, remedy):
    error, status = error_of(*args)
    assert status == 2
    assert error["code"] == "input"
    assert message in error["message"]
    assert remedy is None or remedy in error["remedy"]


def test_no_command(brig):
    done = brig()
    assert done.returncode == 2
    assert b"--help" in done.stderr


@pytest.mark.parametrize(
    "args, code, status, message",
    [
        (["run", "no/such/file.py"], "input", 125, "no/such/file.py"),
        (["run", "/"], "input", 125, "not a regular file"),
        (["run", "--lang", "cobol", "-c", "x"], "runtime", 127, "cobol"),
        (["run", "--policy", "nonesuch", "-c", "x"], "policy", 126, "nonesuch"),
        (["run", "--policy", "../../etc/passwd", "-c", "x"], None, None, "etc/passwd"),
        (["run", "--policy", "open", "-c", "x"], "consent", 126, "auto_run"),
        (["run", "--timeout", "100h", "-c", "x"], "policy", 126, "ceiling"),
        (["run", "--in", "/no/such", "-c", "x"], "input", 125, "/no/such"),
        (["run", "--in", "../x=/etc/hosts", "-c", "x"], "input", 125, "../x"),
        (["run", "--ro", "/no/such/dir", "-c", "x"], None, None, "/no/such/dir"),
        (["run", "--ro", "/proc", "-c", "x"], None, None, "/proc"),
        (["run", "--env", "LD_PRELOAD=x", "-c", "x"], "policy", 126, "LD_PRELOAD"),
        (["run", "--", "no-such-program-here"], "input", 127, "no-such-program-here"),
        (["explain", "no/such/file.py"], "input", 125, "no/such/file.py"),
        (["policy", "show", "nonesuch"], "policy", 126, "nonesuch"),
    ],
)
def test_refusals(error_of, args, code, status, message):
    error, got = error_of(*args)
    assert message in error["message"]
    if code:
        assert (error["code"], got) == (code, status)
    else:
        assert got in (125, 126)


def test_consent_says_how(error_of):
    error, _ = error_of("run", "--policy", "open", "-c", "x")
    assert "--yes" in error["remedy"]


def test_bad_policy_has_line_and_column(error_of, tmp_path):
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "bad.json").write_text('{\n  "limits": {\n    "memroy": "1M"\n  }\n}\n')
    error, status = error_of("run", "--config", str(tmp_path), "--policy", "bad", "-c", "x")
    assert status == 126
    assert "bad.json:3:5" in error["message"]
    assert "memory" in error["message"] + (error["remedy"] or "")


def test_json_anywhere(brig):
    done = brig("run", "--nonsense", "--json")
    assert done.stdout.startswith(b'{"error":')
    assert brig("run", "--nonsense", "--", "--json").stdout == b""


def test_messages_are_one_line(error_of):
    error, _ = error_of("run", "no\nsuch\x1b[31m\x07file.py")
    assert not any(ord(c) < 32 for c in error["message"])


@pytest.mark.parametrize("option, remedy", [
    ("-v", "--ro [NAME=]DIR"), ("-e", "--env NAME=VALUE"), ("--network", "--net HOST:PORT"),
    ("--cpus", "--cpu CORES"), ("-m", "--memory SIZE"), ("--rm", "always removed"),
])
def test_options_of_other_tools(error_of, option, remedy):
    error, status = error_of("run", option, "x")
    assert status == 2
    assert remedy in error["remedy"]


def test_typescript(error_of, tmp_path):
    (tmp_path / "a.ts").write_text("let x: number = 1\n")
    error, _ = error_of("run", str(tmp_path / "a.ts"))
    assert "TypeScript" in error["remedy"]


def test_a_directory_is_no_input(error_of, tmp_path):
    error, _ = error_of("run", "--in", str(tmp_path), "-c", "1")
    assert "is a directory" in error["message"] and "--ro" in error["remedy"]


@pytest.mark.parametrize("command", [["run", "-c", "1"], ["explain", "-c", "1"], ["runtimes"],
                                     ["policy", "list"], ["mcp"], ["bench"]])
def test_a_config_that_is_not_there(brig, tmp_path, command):
    done = brig(*command, "--config", str(tmp_path / "none"))
    assert done.returncode == 2
    assert done.stderr.startswith(f"brig: --config {tmp_path}/none: No such file".encode())


def test_a_token_of_that_name_is_there_already(brig, tmp_path):
    file = tmp_path / "tokens.json"
    done = brig("token", "new", "ci", "--file", file)
    assert done.returncode == 0 and b"reload (SIGHUP)" in done.stderr, done
    done = brig("token", "new", "ci", "--file", file)
    assert done.returncode == 125 and f"brig token revoke ci --file {file}".encode() in done.stderr, done


def test_files_that_are_there_already(brig, tmp_path):
    words = ("run", "--out-dir", tmp_path, "-c", "open('out/a', 'w').write('x')")
    assert brig(*words).returncode == 0
    done = brig(*words)
    # One reason, and no advice to do what was already done.
    assert done.returncode == 125 and b"File exists" in done.stderr and b"--force" in done.stderr
    assert b"is not kept" not in done.stderr
