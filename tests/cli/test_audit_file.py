# SPDX-License-Identifier: Apache-2.0
"""brig run, brig mcp and libbrig write a record to the given file: an audit chain as text."""

import hashlib
import json
import os
import subprocess
import threading
import time

import pytest

BRIG = os.environ.get("BRIG", "build/brig")


def brig(*args, env=None, **more):
    return subprocess.run([BRIG, *map(str, args)], capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL if "input" not in more else None,
                          **more)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("how", ["option", "variable"])
def test_a_run_leaves_a_record(tmp_path, how):
    file, code = tmp_path / "audit", "print('a secret')"
    for _ in range(2):
        if how == "option":
            done = brig("run", "--audit", file, "-c", code)
        else:
            done = brig("run", "-c", code, env={"BRIG_AUDIT": str(file)})
        assert done.stdout == "a secret\n", done
    first, second, third, _ = lines(file)
    assert [first["kind"], second["kind"]] == ["execution.accepted", "execution.ended"]
    assert first["facts"]["code_sha256"] == hashlib.sha256(code.encode()).hexdigest()
    assert second["facts"]["status"] == "ok" and second["facts"]["execution"] == first["facts"]["execution"]
    assert third["sequence"] == 3 and "secret" not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    done = brig("audit", "verify", "--file", file)
    assert done.returncode == 0 and "ok: 4 entries" in done.stdout, done
    assert "there is no key, so none is signed" in done.stdout and "0000" not in done.stdout, done
    assert json.loads(brig("audit", "verify", "--json", "--file", file).stdout)["public_key"] is None
    listed = brig("audit", "list", "--file", file, "--kind", "execution.ended", "--json").stdout
    assert len(listed.splitlines()) == 2


@pytest.mark.parametrize("change", ["text", "line", "first"])
def test_a_record_that_was_changed(tmp_path, change):
    file = tmp_path / "audit"
    for _ in range(2):
        brig("run", "--audit", file, "-c", "1")
    text = file.read_text().splitlines(keepends=True)
    if change == "text":
        text[1] = text[1].replace('"status":"ok"', '"status":"no"')
    else:
        del text[1 if change == "line" else 0]
    file.write_text("".join(text))
    assert brig("audit", "verify", "--file", file).returncode == 1


def test_without_a_record_there_is_no_run(tmp_path):
    for place in (tmp_path, tmp_path / "none/x", "/dev/null"):
        done = brig("run", "--audit", place, "-c", "print(1)")
        assert done.returncode != 0 and done.stdout == "" and "audit file" in done.stderr, done
    (tmp_path / "other").write_text("something else\n")
    done = brig("run", "--audit", tmp_path / "other", "-c", "print(1)")
    assert done.returncode != 0 and done.stdout == "", done
    assert (tmp_path / "other").read_text() == "something else\n"


def test_ends_of_all_kinds_and_a_torn_line(tmp_path):
    file = tmp_path / "audit"
    brig("run", "--audit", file, "-c", "raise SystemExit(3)")
    with file.open("a") as torn:
        torn.write('{"sequence":3,"time_ms":1')
    brig("run", "--audit", file, "--timeout", "1s", "-c", "while True: pass")
    brig("run", "--audit", file, "--", "/bin/true")
    brig("run", "--audit", file, "--policy", "nosuch", "-c", "1")
    entries = lines(file)
    ended = [entry["facts"] for entry in entries if entry["kind"] == "execution.ended"]
    assert [facts["status"] for facts in ended] == ["failed", "timeout", "ok", "error"], ended
    assert ended[0]["exit_code"] == 3
    assert [entry["sequence"] for entry in entries] == list(range(1, 9))
    assert brig("audit", "verify", "--file", file).returncode == 0


@pytest.mark.root
def test_memory_that_ran_out(tmp_path):
    """It is reported as such, with the amount; of the code only its hash is recorded. For a user
    without a control group malloc() may fail instead: then it is the program's own failure."""
    file, code = tmp_path / "audit", "[bytearray(b'x' * (1 << 20)) for _ in range(1000)]"
    brig("run", "--audit", file, "--memory", "64M", "-c", code)
    accepted, ended = [entry["facts"] for entry in lines(file)]
    assert accepted["code_sha256"] == hashlib.sha256(code.encode()).hexdigest()
    assert ended["status"] == "memory_limit" and ended["language"] == "python", ended
    assert ended["usage"]["memory_peak_bytes"] > 32 << 20
    assert "bytearray" not in file.read_text()


def test_many_at_once_write_one_chain(tmp_path):
    file = tmp_path / "audit"
    threads = [threading.Thread(target=brig, args=("run", "--audit", file, "-c", "1")) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done = brig("audit", "verify", "--file", file)
    assert done.returncode == 0 and "12 entries" in done.stdout, done


def test_mcp_leaves_a_record(tmp_path):
    file = tmp_path / "audit"
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "execute_code", "arguments": {"code": "print(6 * 7)", "language": "python"}}},
    ]
    done = brig("mcp", "--audit", file, input="".join(json.dumps(one) + "\n" for one in messages))
    assert "42" in done.stdout, done
    assert [entry["kind"] for entry in lines(file)] == ["execution.accepted", "execution.ended"]
    assert brig("audit", "verify", "--file", file).returncode == 0


@pytest.mark.parametrize("text", ["no line", "a line\nno line", "a line\n", '{"sequence', ])
def test_a_file_of_somebodys_is_left_alone(tmp_path, text):
    file = tmp_path / "mine"
    file.write_text(text)
    done = brig("run", "--audit", file, "-c", "print(1)")
    if text.startswith("{"):  # the start of a record: it was cut
        assert done.returncode == 0
    else:
        assert done.returncode == 125 and done.stdout == ""
        assert file.read_text() == text


def test_a_record_that_is_not_there(tmp_path):
    done = brig("audit", "verify", "--file", tmp_path / "nothing")
    assert done.returncode == 125 and "nothing: No such file" in done.stderr, done


def test_the_program_does_not_get_its_own_record(tmp_path):
    (tmp_path / "work").mkdir()
    done = brig("run", "--audit", tmp_path / "work" / "audit", "--rw", f"w={tmp_path}", "-c", "1")
    assert done.returncode == 125 and "brig's audit file is in it" in done.stderr, done
    (tmp_path / "link").symlink_to(tmp_path / "work")
    done = brig("run", "--audit", tmp_path / "link" / "audit", "--rw", tmp_path / "work", "-c", "1")
    assert done.returncode == 125 and "brig's audit file is in it" in done.stderr, done
    done = brig("run", "--audit", tmp_path / "work" / "audit", "--ro", tmp_path / "work", "-c", "print(1)")
    assert done.stdout == "1\n", done


@pytest.mark.parametrize("harm", ["truncate", "unlink"])
def test_a_record_that_was_taken_away_meanwhile(tmp_path, harm):
    """The end is not recorded as the first entry of a new chain."""
    file, began = tmp_path / "audit", tmp_path / "began"
    began.mkdir()
    code = "open('/mnt/began/yes', 'w').close()\nimport time\ntime.sleep(1)"
    with subprocess.Popen([BRIG, "run", "--audit", file, "--rw", began, "-c", code],
                          stderr=subprocess.PIPE, text=True) as run:
        while not (began / "yes").exists() and run.poll() is None:
            time.sleep(0.01)
        os.truncate(file, 0) if harm == "truncate" else file.unlink()
        _, err = run.communicate(timeout=60)
    assert run.returncode == 125 and "cannot be recorded in the audit file" in err, err


def test_the_record_has_the_id_of_the_result(tmp_path):
    file = tmp_path / "audit"
    results = [json.loads(brig("run", "--audit", file, "--json", "-c", "1").stdout) for _ in range(2)]
    assert [line["facts"]["execution"] for line in lines(file)] == [r["id"] for r in results for _ in range(2)]
