# SPDX-License-Identifier: Apache-2.0
"""Node.js started ahead: a program shows the same as in a cell that is made for it."""

import json
import pathlib
import re

import pytest

import ways

TREE = pathlib.Path(__file__).parents[2]
PROGRAMS = sorted(pathlib.Path(__file__).with_name("node").iterdir())


def directives(text):
    """Comments of a program that set how to run it: args, stdin, env, as JSON."""
    found = re.findall(r"^// (args|stdin|env): (.*)$", text, re.MULTILINE)
    return {word: json.loads(rest) for word, rest in found}


def js(code, *options, **more):
    return ways.same("--lang", "javascript", "-c", code, *options, **more)


@pytest.mark.parametrize("path", PROGRAMS, ids=[path.stem for path in PROGRAMS])
def test_same_as_cold(path):
    told = directives(path.read_bytes().decode())
    env = [word for pair in told.get("env", {}).items() for word in ("--env", "%s=%s" % pair)]
    ways.same("--changes", *env, path, args=told.get("args", ()),
              stdin=told.get("stdin", "").encode())


@pytest.fixture
def project(tmp_path):
    (tmp_path / "package.json").write_text('{"type": "module", "imports": {"#it": "./lib/it.js"}}')
    (tmp_path / "it.js").write_text("export default (x) => x * 2;\n")
    (tmp_path / "code.js").write_text(
        "import it from '#it';\nimport data from './data.json' with { type: 'json' };\n"
        "console.log(it(21), data, import.meta.url);\n")
    (tmp_path / "data.json").write_text('{"a": [1, 2]}')
    return tmp_path


def test_package(project):
    result = ways.same("--in", project / "package.json", "--in", project / "data.json",
                       "--in", f"lib/it.js={project / 'it.js'}", project / "code.js")
    assert result["stdout"] == "42 { a: [ 1, 2 ] } file:///sandbox/code.js\n"


def test_files_handed_in(tmp_path):
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho tool $1\n")
    tool.chmod(0o755)
    (tmp_path / "helper.js").write_text("module.exports = { name: __filename };\n")
    code = """
        const fs = require('fs');
        console.log(require('./a/b/helper').name, fs.statSync('tool').mode.toString(8));
        console.log(require('child_process').execFileSync('./tool', ['x']).toString());
        console.log(fs.statSync('a').mode.toString(8), fs.readdirSync('a/b'), require.cache);
    """
    result = js(code, "--changes", "--in", f"a/b/helper.js={tmp_path / 'helper.js'}", "--in", tool)
    assert result["exit_code"] == 0
    assert result["changes"] == []


@pytest.mark.parametrize("size, start", [(20 << 20, "warm"), (40 << 20, "cold")])
def test_large_file(tmp_path, size, start):
    (tmp_path / "large").write_bytes(b"0123456789abcdef" * (size // 16))
    code = """
        const data = require('fs').readFileSync('large');
        console.log(data.length, require('crypto').createHash('sha256').update(data).digest('hex'));
    """
    result = js(code, "--in", tmp_path / "large", "--disk", "128M", start=start)
    assert result["exit_code"] == 0


def test_file_above_the_limit_of_files(tmp_path):
    (tmp_path / "large").write_bytes(bytes(100000))
    code = "console.log(require('fs').statSync('large').size)"
    js(code, "--in", tmp_path / "large", "--file-size", "50000", start="cold")


def test_does_not_fit_the_disk(tmp_path):
    (tmp_path / "small").write_text("x")
    files = [word for i in range(20) for word in ("--in", f"{i}={tmp_path / 'small'}")]
    result = js("1", *files, "--inodes", "16")
    assert "do not fit" in result["error"]["message"]


def test_input_that_is_fed():
    code = "let n = 0; process.stdin.on('data', (part) => n += part.length)" \
           ".on('end', () => console.log(n))"
    result = js(code, stdin=b"x" * 3000000)
    assert result["stdout"] == "3000000\n"


# --- other limits ---------------------------------------------------------------------------------

def test_timeout():
    result = js("console.log('begun'); setInterval(() => {}, 1000)", "--timeout", "2s")
    assert (result["status"], result["stdout"]) == ("timeout", "begun\n")


# Work that ends by another limit, however little of the processors the host has left for it.
ENOUGH = ("--timeout", "5m")


def test_cpu_time():
    result = js("console.log('begun'); for (;;) {}", "--cpu-time", "1s", *ENOUGH)
    assert result["status"] == "cpu_limit"


def test_memory_beside_the_heap():
    code = "const kept = []; for (;;) kept.push(Buffer.alloc(1 << 20, 1))"
    # Whether brig-init or the warden is the first to see the end is random.
    for way in ("cold", "warm"):
        result = ways.run(way, "--lang", "javascript", "-c", code, "--memory", "128M")
        assert result["start"] == way
        assert ways.ended_by_memory(result), result


def test_memory_of_the_heap():
    code = "const kept = []; for (;;) kept.push({ a: [1, 2, 3], b: String(kept.length) })"
    found = [ways.run(way, "--lang", "javascript", "-c", code, *ENOUGH)
             for way in ("cold", "warm")]
    assert [it["start"] for it in found] == ["cold", "warm"]
    assert found[0]["signal"] == found[1]["signal"]
    assert all("heap out of memory" in it["stderr"] for it in found)


@pytest.mark.parametrize("memory", ["100M", "1G"])
def test_heap_follows_memory(memory):
    js("console.log(process.execArgv, require('v8').getHeapStatistics().heap_size_limit)",
       "--memory", memory)


def test_output():
    result = js("for (;;) console.log('x'.repeat(1000))", "--stdout", "5000")
    assert (result["status"], len(result["stdout"])) == ("output_limit", 5000)


def test_open_files():
    code = """
        const fs = require('fs');
        let n = 0;
        try { for (;;) { fs.openSync('/etc/passwd'); n++; } } catch (e) { console.log(n, e.code); }
    """
    result = js(code, "--open-files", "64")
    assert "EMFILE" in result["stdout"]


def test_file_size():
    code = """
        try { require('fs').writeFileSync('a', 'x'.repeat(5000)); } catch (e) { console.log(e.code); }
    """
    js(code, "--file-size", "4096")


def test_processes():
    code = "console.log(require('fs').readFileSync('/proc/self/limits', 'utf8'))"
    found = [ways.run(way, "--lang", "javascript", "-c", code, "--processes", "20")["stdout"]
             for way in ("cold", "warm")]
    # A back-stop: the warden counts the time of the request.
    cold, warm = (re.sub(r"Max cpu time.*", "", it) for it in found)
    assert warm == cold


# --- input read before the assignment -------------------------------------------------------------

@pytest.mark.parametrize("variable, start", [
    ("NODE_OPTIONS=--stack-trace-limit=1", "cold"), ("NODE_PATH=/tmp", "cold"),
    ("NODE_NO_WARNINGS=1", "warm"), ("NO_COLOR=1", "warm"), ("LC_ALL=de_DE.UTF-8", "cold"),
    ("UV_THREADPOOL_SIZE=1", "cold"),
])
def test_early_environment(variable, start):
    code = """
        process.emitWarning('x');
        console.log(new Error('x').stack, require('module').globalPaths, (1234.5).toLocaleString());
    """
    js(code, "--env", variable, start=start)


# --- errors before the request --------------------------------------------------------------------

@pytest.mark.parametrize("warm", [
    # Other flags than those of a cold start: the driver detects them and gives up.
    {"driver": "node.js", "argv": ["{program}", "--stack-size=500", "-r", "{driver}", "{source}"]},
    # It never waits: it ends, is no program of ours, or stops.
    {"driver": "node.js", "argv": ["{program}", "--no-such-flag", "{driver}"]},
    {"driver": "node.js", "argv": ["{program}", "-e", "console.log('early')", "{driver}"]},
    {"driver": "node.js", "argv": ["{program}", "-e", "fs.writeSync(31, 'b')", "{driver}"]},
    {"driver": "no_such.js", "argv": ["{program}", "{driver}", "{source}"]},
])
def test_falls_back_to_cold(warm, tmp_path):
    text = (TREE / "data/runtimes/javascript.json").read_text()
    runtime = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))
    (tmp_path / "runtimes").mkdir()
    (tmp_path / "runtimes/javascript.json").write_text(json.dumps(dict(runtime, warm=warm)))
    result = ways.run("warm", "--config", tmp_path, "--lang", "javascript", "-c",
                      "console.log('once'); process.exitCode = 5")
    assert (result["start"], result["exit_code"]) in (("cold", 5), ("warm", 5))
    assert (result["stdout"], result["stderr"]) == ("once\n", "")


def test_every_cell_has_its_own_chance():
    code = "console.log(Math.random(), require('crypto').randomUUID())"
    found = {ways.run("warm", "--lang", "javascript", "-c", code)["stdout"] for _ in range(4)}
    assert len(found) == 4


def test_waiting_is_not_charged():
    cold, warm = (ways.run(way, "--lang", "javascript", "-c", "1") for way in ("cold", "warm"))
    assert warm["usage"]["cpu_ms"] < cold["usage"]["cpu_ms"]
    assert warm["usage"]["disk_bytes"] == cold["usage"]["disk_bytes"]
