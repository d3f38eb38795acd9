"""Every error names the thing, the cause and the repair, as text and as JSON."""

import pytest


@pytest.mark.parametrize(
    "args, message, remedy",
    [
        (["run"], "nothing to run", "-c CODE"),
        (["run", "--"], "nothing to run", "-c CODE"),
        (["run", "--tiemout", "1"], "--tiemout", "--timeout"),
        (["run", "--qqqqqqqqq"], "--qqqqqqqqq", "--help"),
        (["run", "--memory"], "--memory needs a value", "--memory SIZE"),
        (["run", "--memory", "lots", "-c", "x"], "'lots' is not a size", "256M"),
        (["run", "--memory", "0", "-c", "x"], "out of range", "at least"),
        (["run", "--memory", "-5", "-c", "x"], "is not a size", "256M"),
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
        (["policy", "check"], "no file", "FILE"),
        (["polcy", "list"], "polcy", "policy"),
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
