# SPDX-License-Identifier: Apache-2.0
"""Ruby of the provider wasm: an interpreter of the operator's, with its library inside."""

import pathlib
import subprocess

import pytest

from test_wasm_prepared import here, prepare  # noqa: F401 # a fixture

README = pathlib.Path(__file__).parent / "README.md"
LONG = ("--timeout", "100s")


@pytest.fixture(scope="module")
def wasm(here):  # noqa: F811
    prepare(here, "ruby")
    return here


def ruby(wasm, code, *args, words=(), **options):
    return wasm.result(*LONG, *args, "--lang", "ruby", "-c", code, "--", *words, **options)


def test_refused_until_it_is_prepared(here):  # noqa: F811
    error = here.refused("--lang", "ruby", "--instructions", "1000", "-c", "1")
    assert "ruby of provider wasm is not prepared" in error["message"], error
    assert "brig wasm prepare ruby --policy here --counted" in error["remedy"]


def test_streams_and_files(wasm):
    result = ruby(wasm, """
p ARGV, ENV['COLOUR'], $stdin.gets, $stdin.read, __FILE__, RUBY_PLATFORM
warn 'apart'
puts 'ö'.upcase, 'ö'.encoding, File.read('given.txt').lines.first, Dir.children('.').sort.inspect
File.write('out/made.txt', 'a file')
File.write('/tmp/a', 'b')
p File.size('/tmp/a'), File.read('/sandbox/out/made.txt')
exit 3
""", "--env", "COLOUR=blue", "--in", f"given.txt={README}", words=["word", "ö"], stdin=b"a line\nmore")
    assert result["stdout"].splitlines() == [
        '["word", "ö"]', '"blue"', '"a line\\n"', '"more"', '"/sandbox/code.rb"', '"wasm32-wasi"',
        "Ö", "UTF-8", README.read_text().splitlines()[0], '["code.rb", "given.txt", "out"]',
        "1", '"a file"'], result
    assert (result["exit_code"], result["stderr"], result["language"]) == (3, "apart\n", "ruby")
    assert [one["path"] for one in result["files"]] == ["out/made.txt"]
    assert result["provider"] == "wasm" and result["start"] == "cold"


def test_writes_of_several_parts(wasm):
    """A buffer and what does not fit in it: see src/wasm_host/whole_writes.c."""
    result = ruby(wasm, """
2000.times { |i| print i, "\n" }
File.open('out/big', 'w') { |f| 4.times { f.print 'x' * 5000; f.puts 'y' * 20000, 'z' } }
puts File.read('out/big').count('z'), File.size('out/big')
puts 'end' * 20000
""")
    assert result["stdout"] == "".join(f"{i}\n" for i in range(2000)) + "4\n100012\n" + "end" * 20000 + "\n", result


def test_library(wasm, tmp_path):
    """It is inside of the module; and a file of the program's own is found beside it."""
    path = tmp_path / "program.rb"
    path.write_text("%w[json set time erb strscan stringio date digest securerandom].each { |it| require it }\n"
                    "require_relative 'own'\n"
                    "puts JSON.parse('{\"a\": [1, 2.5]}')['a'].sum, Digest::SHA256.hexdigest(''), Own,\n"
                    "  [3, 1].to_set.size, ERB.new('<%= 1 + 1 %>').result, Time.at(0).utc.iso8601,\n"
                    "  SecureRandom.hex(4).size\n")
    (tmp_path / "own.rb").write_text("Own = 'own'\n")
    result = wasm.result(*LONG, "--in", f"own.rb={tmp_path / 'own.rb'}", path)
    assert result["status"] == "ok", result
    assert result["stdout"].splitlines() == [
        "3.5", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "own", "2", "2",
        "1970-01-01T00:00:00Z", "8"]


@pytest.mark.parametrize("code, status, words", [
    ("def f = raise(ArgumentError, 'no')\nf", 1, "in `f': no (ArgumentError)"),
    ("puts 1\n)", 1, "syntax error"),
    ("abort 'over'", 1, "over\n"),
    ("begin; Integer('x'); rescue => e; warn e.message; exit! 7; end", 7, "invalid value"),
    ("def f = f\nf", 1, "SystemStackError"),
])
def test_ends(wasm, code, status, words):
    result = ruby(wasm, code)
    assert (result["exit_code"], result["status"]) == (status, "failed"), result
    assert words in result["stderr"], result


@pytest.mark.parametrize("code, options, status", [
    ("loop {}", ("--timeout", "1s"), "timeout"),
    ("sleep", ("--timeout", "1s"), "timeout"),
    ("loop {}", ("--cpu-time", "200ms"), "cpu_limit"),
    ("loop { puts 'again and again' }", ("--stdout", "10K"), "output_limit"),
    ("File.open('big', 'w') { |f| loop { f.write('x' * 65536) } }", ("--disk", "4M"), "disk_limit"),
])
def test_limits(wasm, code, options, status):
    assert ruby(wasm, code, *options)["status"] == status


def test_memory(wasm):
    """The engine refuses to grow it: the program can go on."""
    code = ("kept = []\nbegin\n loop { kept << 'x' * (1 << 20) }\nrescue NoMemoryError\nend\n"
            "size = kept.size; kept = nil\nputs size")
    few, many = (int(ruby(wasm, code, "--memory", size)["stdout"]) for size in ("160M", "256M"))
    assert 20 < few < 128 and few + 64 < many < 224, (few, many)


OUTSIDE = {
    "passwd": "File.read('/etc/passwd')",
    "parents": "File.read('../' * 20 + 'etc/passwd')",
    "link": "File.symlink('/etc', 'link'); File.read('link/passwd')",
    "list": "Dir.children('/proc')",
    "fork": "fork { exit! }",
    "spawn": "Process.wait(spawn('touch', 'made')); File.delete('made')",
    "system": "system('touch', 'made'); File.delete('made')",
    "command": "`/bin/true`",
    "exec": "exec('/bin/true') if fork.nil?",
    "signal": "Process.kill(0, Process.ppid)",
    "socket": "require 'socket'; UDPSocket.new.close",
}


def test_nothing_of_the_host(wasm, tmp_path):
    """Files, processes, signals and sockets: a Ruby of the host has all of them."""
    code = "".join(f"begin; {what}; puts '{name}'; rescue ScriptError, StandardError; end\n"
                   for name, what in OUTSIDE.items()) + "puts 'end'"
    bare = subprocess.run(["/usr/bin/ruby", "-e", code], cwd=tmp_path, capture_output=True, timeout=60,
                          check=True)
    assert set(bare.stdout.decode().split()) == {*OUTSIDE, "end"}, bare
    assert ruby(wasm, code)["stdout"] == "end\n"
