# SPDX-License-Identifier: Apache-2.0
"""Interpreters of the provider wasm: translated once, by the operator, beside the engine."""

import json
import os
import pathlib
import subprocess

import pytest

from conftest import BRIG, Provider

# (module (memory (export "memory") 1) (func (export "_start")))
EMPTY = bytes.fromhex("0061736d010000000104016000000302010005030100010713020"
                      "66d656d6f72790200065f737461727400000a040102000b")
TINY = {"extensions": ["tiny"], "source": "code.tiny", "program": ["/nowhere/tiny.wasm"],
        "run": {"argv": ["{program}", "{source}", "{args}"]},
        "least": {"memory": "48M", "processes": 1}}


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    path.chmod(0o600)


@pytest.fixture(scope="module")
def here(place, tmp_path_factory, schema):
    """A provider with that engine, and a language whose interpreter is tiny.wasm."""
    config = tmp_path_factory.mktemp("config")
    write(config / "policies" / "here.json", {
        "extends": "default", "provider": "wasm",
        "wasm": {"engine": str(place / "libwasmtime.so")},
        "compile": {"limits": {"wall": "900s", "cpu_time": "300s", "memory": "2G"}}})
    write(config / "runtimes" / "wasm" / "tiny.json", TINY)
    (place / "tiny.wasm").write_bytes(EMPTY)
    (place / "tiny.wasm").chmod(0o755)
    made = Provider("here", config, schema)
    made.kind = "wasm"
    return made


def prepare(here, *args, check=True):
    done = subprocess.run([BRIG, "wasm", "prepare", *args, "--config", str(here.config), "--policy",
                           "here", "--json"], capture_output=True, timeout=900, check=False)
    answer = json.loads(done.stdout)
    assert not check or "error" not in answer, answer
    return answer


def test_prepared_once(here, place):
    error = here.refused("--lang", "tiny", "-c", "x")
    assert "tiny of provider wasm is not prepared" in error["message"]
    assert "brig wasm prepare tiny --policy here" in error["remedy"]
    made = prepare(here, "tiny")
    assert made["made"] and pathlib.Path(made["path"]).parent == place / "prepared"
    assert oct(os.stat(made["path"]).st_mode & 0o777) == "0o644"
    assert here.result("--lang", "tiny", "-c", "x")["status"] == "ok"
    assert prepare(here, "tiny") == {"path": made["path"], "made": False}


def test_counted_apart(here):
    prepare(here, "tiny")
    error = here.refused("--lang", "tiny", "--instructions", "1000", "-c", "x")
    assert "for counted instructions" in error["message"]
    assert "brig wasm prepare tiny --policy here --counted" in error["remedy"]
    prepare(here, "tiny", "--counted")
    result = here.result("--lang", "tiny", "--instructions", "1000", "-c", "x")
    assert result["status"] == "ok" and 0 < result["usage"]["instructions"] < 1000


def test_a_new_module_is_prepared_again(here, place):
    prepare(here, "tiny")
    os.utime(place / "tiny.wasm", (1, 1))
    assert "not prepared" in here.refused("--lang", "tiny", "-c", "x")["message"]


def test_code_that_others_can_write(here):
    """Native code is executed only if nobody else could have written it."""
    path = pathlib.Path(prepare(here, "tiny")["path"])
    path.chmod(0o666)
    error = here.refused("--lang", "tiny", "-c", "x")
    assert "others can write" in error["message"] and "remove prepared/" in error["remedy"]
    path.chmod(0o644)
    path.parent.chmod(0o777)
    assert "others can write" in here.refused("--lang", "tiny", "-c", "x")["message"]
    path.parent.chmod(0o755)
    assert here.result("--lang", "tiny", "-c", "x")["status"] == "ok"


def test_code_that_is_damaged(here):
    path = pathlib.Path(prepare(here, "tiny")["path"])
    whole = path.read_bytes()
    path.write_bytes(b"no native code")
    result = here.result("--lang", "tiny", "-c", "x")
    assert (result["status"], result["verdict"]["cause"]) == ("error", "engine"), result
    path.write_bytes(whole)


def test_a_bad_interpreter(here, place):
    write(here.config / "runtimes" / "wasm" / "bad.json", {**TINY, "extensions": ["bad"],
                                                           "program": ["/nowhere/bad.wasm"]})
    (place / "bad.wasm").write_bytes(EMPTY[:-3])
    (place / "bad.wasm").chmod(0o755)
    answer = prepare(here, "bad", check=False)
    assert "bad.wasm was not translated" in answer["error"]["message"]


@pytest.mark.parametrize("language, words", [
    ("c", "no interpreter"), ("wasm", "no interpreter"), ("bash", "unknown language"),
])
def test_nothing_to_prepare(here, language, words):
    assert words in prepare(here, language, check=False)["error"]["message"]


def test_an_interpreter_that_is_missing(here):
    write(here.config / "runtimes" / "wasm" / "none.json", {**TINY, "extensions": ["none"],
                                                            "program": ["/nowhere/none.wasm"]})
    error = here.refused("--lang", "none", "-c", "x")
    assert "none.wasm not found" in error["message"] and "beside the engine" in error["remedy"]


def test_python(here):
    """CPython: its translation is the longest part of these tests."""
    prepare(here)
    result = here.python("import json, sys\n"
                         "print(sys.platform, sys.argv[1:], json.dumps({'a': [1]}))\n"
                         "print(input())\n"
                         "open('out/a.txt', 'w').write('file')\n"
                         "sys.exit(4)", "--timeout", "100s", stdin=b"line\n")
    assert (result["exit_code"], result["stdout"]) == (4, 'wasi [] {"a": [1]}\nline\n'), result
    assert [one["path"] for one in result["files"]] == ["out/a.txt"]
    attacks = here.python(
        "import os\n"
        "for what in (lambda: open('/etc/passwd'), lambda: os.listdir('/brig'),\n"
        "             lambda: open('/proc/self/maps'), lambda: __import__('socket').socket(),\n"
        "             lambda: os.fork(), lambda: os.system('ls'),\n"
        "             lambda: open('/sandbox/../etc/passwd')):\n"
        "    try: what(); print('done')\n"
        "    except (OSError, AttributeError, ImportError) as e: pass\n"
        "print('end')", "--timeout", "100s")
    assert attacks["stdout"] == "end\n", attacks
    error = here.python("raise ValueError('no')", "--timeout", "100s")
    assert error["exit_code"] == 1 and "ValueError: no" in error["stderr"]
