# SPDX-License-Identifier: Apache-2.0
"""The provider wasm: WASI programs by an engine in a native cell, and attacks on both."""

import ctypes
import json
import os
import pathlib
import random
import re
import subprocess

import pytest

from conftest import BRIG, ROOT, Provider

WASI = '(import "wasi_snapshot_preview1" '
MEMORY = '(memory (export "memory") 1)'


@pytest.fixture(scope="module")
def wasm(config, schema):
    """Its engine must be installed: scripts/get-wasmtime.sh"""
    policy = config / "policies" / "wasm.json"
    policy.write_text(json.dumps({"extends": "default", "provider": "wasm"}))
    policy.chmod(0o600)
    return Provider("wasm", config, schema)


def module(body, *imports):
    """A program in the text form, whose _start has this body."""
    return f'(module {" ".join(imports)} {MEMORY} (func $start (export "_start") {body}))'


def wat(wasm, text, *args, **options):
    return wasm.result(*args, "--lang", "wasm", "-c", text, **options)


def c(wasm, code, *args, words=(), **options):
    return wasm.result(*args, "--lang", "c", "-c", code, "--", *words, **options)


def exits(status):
    return module(f"(call $exit (i32.const {status}))",
                  WASI + '"proc_exit" (func $exit (param i32)))')


# --- programs


@pytest.mark.parametrize("status", [0, 1, 42, 125])
def test_exit_status(wasm, status):
    result = wat(wasm, exits(status))
    assert result["exit_code"] == status and result["verdict"]["cause"] == "exit"
    assert result["status"] == ("ok" if status == 0 else "failed")


def test_hello(wasm):
    result = c(wasm, r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
    char line[100];
    FILE *out;
    printf("%d %s %s\n", argc, argv[1], getenv("COLOUR"));
    fputs("apart\n", stderr);
    if (fgets(line, sizeof(line), stdin)) printf("read %s", line);
    out = fopen("out/made.txt", "w");
    fputs("a file", out);
    fclose(out);
    out = fopen("/sandbox/given.txt", "r");
    if (out && fgets(line, sizeof(line), out)) printf("%s\n", line);
    return 3;
}""", "--env", "COLOUR=blue", "--in", f"given.txt={pathlib.Path(__file__).parent / 'README.md'}",
               words=["word"], stdin=b"a line\n")
    assert result["exit_code"] == 3, result
    assert result["stdout"].startswith("2 word blue\nread a line\n# The conformance suite")
    assert result["stderr"] == "apart\n"
    assert [one["path"] for one in result["files"]] == ["out/made.txt"]
    assert result["language"] == "c" and result["start"] == "cold"


def test_cpp(wasm):
    result = wasm.result("--lang", "cpp", "-c", """
#include <cstdio>
#include <string>
#include <vector>
int main() { std::vector<std::string> v{"a", "b"}; std::puts((v[0] + v[1]).c_str()); }""")
    assert (result["status"], result["stdout"]) == ("ok", "ab\n"), result


def test_file_in_both_forms(wasm, tmp_path):
    text = tmp_path / "program.wat"
    text.write_text(exits(7))
    assert wasm.result(text)["exit_code"] == 7
    binary = tmp_path / "program.wasm"
    # (module (memory (export "memory") 1) (func (export "_start")))
    binary.write_bytes(bytes.fromhex(
        "0061736d01000000010401600000030201000503010001"
        "0713020" "66d656d6f72790200065f73746172740000" "0a040102000b"))
    assert wasm.result(binary)["status"] == "ok"


def test_compile_error(wasm):
    result = c(wasm, "int main( {")
    assert result["status"] == "compile_failed" and "error:" in result["stderr"]


def test_directory_of_the_host(wasm, tmp_path):
    (tmp_path / "fact.txt").write_text("of the host")
    code = r"""
#include <stdio.h>
int main(void) {
    char line[100] = "";
    FILE *in = fopen("/mnt/data/fact.txt", "r");
    if (in) fgets(line, sizeof(line), in);
    printf("%s %s\n", line, fopen("/mnt/data/new", "w") ? "written" : "refused");
}"""
    assert c(wasm, code, "--ro", f"data={tmp_path}")["stdout"] == "of the host refused\n"


def test_facts_about_directories(wasm):
    """The given ones too, by each of their names."""
    code = r"""
#include <stdio.h>
#include <sys/stat.h>
int main(void) {
    static const char *const paths[] = { ".", "/sandbox", "/tmp", "/tmp/.", "out", "out/..", "none" };
    struct stat info;
    for (unsigned i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (stat(paths[i], &info) == 0 && S_ISDIR(info.st_mode)) printf("%s ", paths[i]);
}"""
    assert c(wasm, code)["stdout"] == ". /sandbox /tmp /tmp/. out out/.. "


# --- what it has not


@pytest.mark.parametrize("args, words", [
    (["--lang", "bash", "-c", "ls"], "unknown language"),
    (["--", "/bin/ls"], "runs no programs of the host"),
    (["--net", "example.com", "--lang", "wasm", "-c", "(module)"], "has no network"),
    (["--guard", "strict", "--lang", "wasm", "-c", "(module)"], "guard"),
])
def test_refused(wasm, args, words):
    assert words in wasm.refused(*args)["message"]


@pytest.mark.parametrize("key, value, words", [
    ("network", {"allow": ["example.com"]}, "network"),
    ("guard", "strict", "guard"),
    ("monitor", {"calls": ["openat"]}, "watch"),
    ("wasm", {"engine": "libwasmtime.so"}, "absolute path"),
    ("wasm", {"motor": "/x"}, "motor"),
])
def test_policies(of, key, value, words):
    wrong = of(f"wasm-wrong-{key}", {"extends": "default", "provider": "wasm", key: value})
    assert words in wrong.refused("--lang", "wasm", "-c", "(module)")["message"]


@pytest.mark.parametrize("policy, words", [
    ({"extends": "default"}, "provider native cannot count instructions"),
    ({"extends": "default", "provider": "oci"}, "provider oci cannot count instructions"),
])
def test_others_count_no_instructions(of, policy, words):
    other = of("counts", policy)
    assert words in other.refused("--instructions", "1000", "-c", "1")["message"]
    of("counts", {**policy, "limits": {"instructions": 1000}})
    assert "cannot count instructions" in other.refused("-c", "1")["message"]


def test_other_engines(of, tmp_path):
    fake = tmp_path / "libwasmtime.so"
    fake.write_bytes(b"\177ELF another version")
    policy = {"extends": "default", "provider": "wasm", "wasm": {"engine": str(fake)}}
    error = of("fake-engine", policy).refused("--lang", "wasm", "-c", exits(0))
    assert re.search(r"supports: wasmtime \d+\.\d+", error["message"]), error
    fake.chmod(0o666)
    error = of("fake-engine", policy).refused("--lang", "wasm", "-c", exits(0))
    assert "only root or you" in error["message"]
    fake.unlink()
    error = of("fake-engine", policy).refused("--lang", "wasm", "-c", exits(0))
    assert str(fake) in error["message"] and "get-wasmtime.sh" in error["remedy"]


def test_a_directory_that_others_can_write_to(of, tmp_path):
    """Its writers could put another engine there."""
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    fake = inner / "libwasmtime.so"
    fake.write_bytes(b"an engine")
    fake.chmod(0o644)
    inner.parent.chmod(0o777)
    policy = {"extends": "default", "provider": "wasm", "wasm": {"engine": str(fake)}}
    error = of("open-directory", policy).refused("--lang", "wasm", "-c", exits(0))
    assert error["message"].endswith(f"other users can write to: {inner.parent}"), error
    assert "chmod go-w" in error["remedy"]
    inner.parent.chmod(0o1777)
    error = of("open-directory", policy).refused("--lang", "wasm", "-c", exits(0))
    assert "is not the engine" in error["message"]


RUST = r"""
use std::io::Read;
fn main() {
    let mut s = String::new();
    std::io::stdin().read_to_string(&mut s).unwrap();
    std::fs::write("out/a.txt", &s).unwrap();
    let word = std::env::args().nth(1).unwrap();
    println!("{} {} {}", word, s, std::env::var("COLOUR").unwrap());
    println!("{:?}", std::fs::read("/etc/passwd").is_ok());
    println!("{:?}", std::thread::Builder::new().spawn(|| 1).is_ok());
    println!("{:?}", std::process::Command::new("/bin/true").status().is_ok());
    println!("{:?}", std::net::UdpSocket::bind("127.0.0.1:0").is_ok());
    if word == "panic" { panic!("no {}", s); }
    std::process::exit(3)
}"""


def test_rust(wasm, tmp_path):
    def run(word):
        return wasm.result("--lang", "rust", "-c", RUST, "--out", "out/**", "--env", "COLOUR=blue",
                           "--", word, stdin=b"you")
    result = run("hello")
    assert (result["exit_code"], result["stdout"]) == (3, "hello you blue\n" + "false\n" * 4), result
    assert [one["path"] for one in result["files"]] == ["out/a.txt"]
    result = run("panic")
    assert result["verdict"]["cause"] == "trap" and "panicked at 'no you'" in result["stderr"]
    bare = tmp_path / "bare"
    (tmp_path / "out").mkdir()
    subprocess.run(["/usr/bin/rustc", "-o", bare, "-"], input=RUST.encode(), check=True, timeout=300)
    done = subprocess.run([bare, "hello"], input=b"you", cwd=tmp_path, env={"COLOUR": "blue"},
                          capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (3, b"hello you blue\n" + b"true\n" * 4)


def test_listed(wasm):
    done = subprocess.run([BRIG, "providers", "--json"], capture_output=True, timeout=120,
                          check=True)
    one = next(one for one in json.loads(done.stdout)["providers"] if one["name"] == "wasm")
    assert one["state"] in ("ok", "degraded"), one
    assert "instructions" in one["abilities"] and "network" not in one["abilities"]


def test_layers(wasm):
    """Those of a native cell."""
    native = Provider("native", wasm.config, wasm.schema)
    assert wat(wasm, exits(0))["layers"] == native.python("1")["layers"]


# --- limits and ends


LOOP = module("(loop (br 0))")


def test_instructions(wasm):
    result = wat(wasm, LOOP, "--instructions", "100000")
    assert (result["status"], result["verdict"]["cause"]) == ("cpu_limit", "instructions")
    assert result["verdict"]["limit"] == result["usage"]["instructions"] == 100000
    assert result["means"]["instructions"] == "engine"


def test_instructions_are_the_same_each_time(wasm):
    code = "int main(void) { volatile int n = 0; for (int i = 0; i < 1000; i++) n += i; }"
    counts = {c(wasm, code, "--instructions", "1000000")["usage"]["instructions"]
              for _ in range(2)}
    assert len(counts) == 1 and min(counts) > 1000


def test_wall(wasm):
    result = wat(wasm, LOOP, "--timeout", "1s")
    assert (result["status"], result["verdict"]["cause"]) == ("timeout", "wall")


def test_cpu_time(wasm):
    result = wat(wasm, LOOP, "--cpu-time", "100ms", "--timeout", "300s", timeout=400)
    assert result["status"] == "cpu_limit"


def test_wall_in_a_host_call(wasm):
    """A wait outside of the program's own code."""
    result = c(wasm, "#include <unistd.h>\nint main(void) { sleep(100); }", "--timeout", "1s")
    assert result["status"] == "timeout"


@pytest.mark.parametrize("body, words", [
    ("unreachable", "unreachable"),
    ("(drop (i32.load (i32.const 0x7fffffff)))", "out of bounds"),
    ("(drop (i32.div_s (i32.const 1) (i32.const 0)))", "divided by zero"),
    ("(call $start)", "stack overflowed"),
])
def test_traps(wasm, body, words):
    result = wat(wasm, module(body))
    assert (result["status"], result["verdict"]["cause"]) == ("failed", "trap"), result
    assert words in result["verdict"]["remedy"] and result["exit_code"] == 134


def test_abort(wasm):
    result = c(wasm, "#include <stdlib.h>\nint main(void) { abort(); }")
    assert result["verdict"]["cause"] == "trap"


def test_memory_is_limited(wasm):
    """The engine refuses to grow it: malloc() fails."""
    code = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
    size_t mib = 0;
    for (volatile char *p; (p = malloc(1 << 20)) && mib < 4000; mib++) *p = 1;
    printf("%zu\n", mib);
}"""
    result = c(wasm, code, "--memory", "128M")
    assert result["status"] == "ok" and 60 <= int(result["stdout"]) <= 96, result


def test_memory_of_the_cell(wasm):
    """All pages are used: there is room for the engine."""
    code = r"""
#include <stdlib.h>
#include <string.h>
int main(void) {
    char *volatile p;
    while ((p = malloc(1 << 20))) memset(p, 1, 1 << 20);
    return 9;
}"""
    result = c(wasm, code, "--memory", "128M")
    # Where no group counts, the pages of the engine's file are in the figure.
    assert result["usage"]["memory_peak_bytes"] <= (128 if ROOT else 192) << 20
    assert (result["status"], result["exit_code"]) == ("failed", 9), result


def test_disk(wasm):
    code = r"""
#include <stdio.h>
int main(void) {
    static char block[1 << 16];
    FILE *out = fopen("big", "w");
    for (int i = 0; i < 1000; i++) if (fwrite(block, sizeof(block), 1, out) != 1) return 1;
}"""
    result = c(wasm, code, "--disk", "4M")
    assert result["status"] == "disk_limit", result


def test_output(wasm):
    code = '#include <stdio.h>\nint main(void) { for (;;) puts("again and again"); }'
    assert c(wasm, code, "--stdout", "64K")["status"] == "output_limit"


def test_few_processes(wasm):
    """The engine's threads are not the program's."""
    assert c(wasm, '#include <stdio.h>\nint main(void) { fclose(fopen("a", "w")); }',
             "--processes", "1")["status"] == "ok"


# --- attacks


def test_paths_outside(wasm):
    """Neither by names, nor by parents, nor by a link, and also not in the cell."""
    code = r"""
#include <dirent.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
    static const char *const paths[] = {
        "/etc/passwd", "../etc/passwd", "/sandbox/../etc/passwd", "/proc/self/maps",
        "/brig/engine.so", "/tmp/../brig/wasm-host", "/sandbox/link/passwd", "link/passwd",
        "/dev/null", "/mnt/../etc/passwd",
    };
    symlink("/etc", "link");
    symlink("../etc", "/sandbox/link");
    for (unsigned i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (fopen(paths[i], "r")) printf("opened %s\n", paths[i]);
    puts(opendir("..") || opendir("/sandbox/..") ? "listed" : "done");
}"""
    result = c(wasm, code)
    assert (result["status"], result["stdout"]) == ("ok", "done\n"), result


def test_module_is_read_before_it_runs(wasm):
    """A program that overwrites its own module changes nothing."""
    result = c(wasm, r"""
#include <stdio.h>
int main(void) {
    FILE *out = fopen("/sandbox/program.wasm", "r+");
    for (int i = 0; out && i < 1000; i++) fwrite("garbage!", 8, 1, out);
    if (out) fclose(out);
    puts("still here");
}""")
    assert (result["status"], result["stdout"]) == ("ok", "still here\n")


def test_native_code_is_no_module(wasm, tmp_path):
    """A module that somebody else has translated would be native code."""
    code = tmp_path / "evil.wasm"
    code.write_bytes(pathlib.Path("/bin/true").read_bytes()[:4096])
    result = wasm.result(code)
    assert (result["status"], result["verdict"]["cause"]) == ("failed", "module"), result


@pytest.mark.parametrize("text, words", [
    ("(module (memory 65536) (func (export \"_start\")))", "memory"),
    ("(module (table 100000000 funcref) (func (export \"_start\")))", "table"),
    ("(module (import \"env\" \"f\" (func)) (func (export \"_start\")))", "unknown import"),
    ("(module (memory 1 2 shared) (func (export \"_start\")))", "valid"),
    ("(module)", "_start"),
    ("no module", "valid"),
])
def test_modules_that_do_not_start(wasm, text, words):
    result = wat(wasm, text)
    assert (result["status"], result["verdict"]["cause"]) == ("failed", "module"), result
    assert words in result["verdict"]["remedy"]


def test_damaged_modules(wasm, tmp_path):
    """Each ends with a verdict; none ends the engine by a crash."""
    chance = random.Random(7)
    head = bytes.fromhex("0061736d01000000")
    whole = bytes.fromhex("0061736d010000000104016000000302010005030100010713020"
                          "66d656d6f72790200065f737461727400000a040102000b")
    for i in range(8):
        data = bytearray(whole)
        for _ in range(1 + i):
            data[chance.randrange(8, len(data))] = chance.randrange(256)
        bad = tmp_path / f"{i}.wasm"
        bad.write_bytes(bytes(data) if i else head + bytes([0, 0xff, 0xff, 0xff, 0xff, 0x7f]))
        result = wasm.result(bad, "--timeout", "100s", "--instructions", "100000",
                             timeout=200)
        assert result["signal"] is None and result["status"] in ("ok", "failed", "cpu_limit")


def test_compile_bomb(wasm, tmp_path):
    """A translation has the time and memory of the run, and no more."""
    bomb = tmp_path / "bomb.wat"
    bomb.write_text(module("".join(
        f"(if (i32.load (i32.const {i % 65000})) (then (i32.store (i32.const {i % 65000}) "
        f"(i32.mul (i32.load (i32.const {i % 997})) (i32.const {i})))))" for i in range(60000))))
    result = wasm.result(bomb, "--timeout", "3s", "--memory", "128M")
    # By rlimit, the allocation fails, and the engine gives up.
    assert result["status"] in ("timeout", "memory_limit", "ok") or \
        (not ROOT and result["signal"] == 6), result
    assert result["usage"]["wall_ms"] < 60000
    assert result["usage"]["memory_peak_bytes"] <= (128 if ROOT else 192) << 20


def test_names_are_no_orders(wasm):
    """Texts of a module reach people without control characters."""
    result = wat(wasm, '(module (import "\\1b[2J\\0aline" "f" (func)) (func (export "_start")))')
    assert result["verdict"]["cause"] == "module"
    assert not re.search(r"[\x00-\x1f\x7f]", result["verdict"]["remedy"])


def test_no_process_is_left(wasm):
    word = f"word-{os.getpid()}"
    wasm.result("--timeout", "1s", "--lang", "wasm", "-c", LOOP, "--", word)
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = pathlib.Path(f"/proc/{name}/cmdline").read_bytes()
        except OSError:
            continue
        assert word.encode() not in words or b"wasm-host" not in words


def test_functions_of_the_engine():
    """The helper's own declarations name functions that the supported library has."""
    root = pathlib.Path(__file__).parent.parent.parent
    header = (root / "src" / "wasm_host" / "wasmtime_abi.h").read_text()
    names = re.findall(r"X\([^,]*[\s*]?,\s*(?:\\\s*)?(was[mi]\w+),", header)
    assert len(names) >= 30
    places = [os.environ.get("BRIG_WASM_ENGINE"), "/usr/local/lib/brig/wasm/libwasmtime.so",
              "/usr/lib/brig/wasm/libwasmtime.so",
              os.path.expanduser("~/.local/share/brig/wasm/libwasmtime.so")]
    engine = ctypes.CDLL(next(one for one in places if one and os.path.exists(one)))
    assert [name for name in names if not hasattr(engine, name)] == []
