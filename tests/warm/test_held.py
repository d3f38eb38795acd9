# SPDX-License-Identifier: Apache-2.0
"""Languages whose interpreter starts with the assignment, in a cell that was made ahead."""

import pathlib

import pytest

import ways

PROGRAMS = pathlib.Path(__file__).parents[1] / "programs"

# One program each that shows arguments, a variable, the input, an input file, its limit of
# descriptors and of the size of files, and leaves a file and an exit code.
SHOW = {
    "bash": r"""
        printf '%s|' "$0" "$@" "$GREETING" "$(cat)" "$(cat sub/data.txt)"
        ulimit -n; ulimit -f
        ls -l sub/tool | cut -c1-10; ./sub/tool; env | sort; pwd; umask
        echo made > out/made.txt; echo problem >&2; exit 7""",
    "lua": r"""
        print(arg[0], #arg, arg[1], arg[2], os.getenv("GREETING"), io.read("a"))
        print(io.open("sub/data.txt"):read("a"), io.open("/proc/self/limits"):read("a"))
        io.open("out/made.txt", "w"):write("made"):close()
        io.stderr:write("problem\n") os.exit(7)""",
    "perl": r"""
        use Cwd; local $/; my $in = <STDIN>; open my $f, "<", "sub/data.txt"; my $data = <$f>;
        open my $l, "<", "/proc/self/limits";
        print join("|", $0, @ARGV, $ENV{GREETING}, $in, $data, <$l>, getcwd());
        print join("|", map { "$_=$ENV{$_}" } sort keys %ENV), `./sub/tool`;
        open my $o, ">", "out/made.txt"; print $o "made"; close $o;
        print STDERR "problem\n"; exit 7""",
    "ruby": r"""
        p $0, ARGV, ENV.to_h, STDIN.read, File.read("sub/data.txt"), Process.getrlimit(:NOFILE),
          Process.getrlimit(:FSIZE), Dir.pwd, File.umask, `./sub/tool`
        File.write("out/made.txt", "made"); warn "problem"; exit 7""",
    "php": r"""<?php
        var_dump($argv, getenv("GREETING"), stream_get_contents(STDIN), getcwd(),
            file_get_contents("sub/data.txt"), file_get_contents("/proc/self/limits"),
            shell_exec("./sub/tool"), ini_get("memory_limit"));
        file_put_contents("out/made.txt", "made"); fwrite(STDERR, "problem\n"); exit(7);""",
}

FOREVER = {
    "bash": "echo begun; while :; do :; done",
    "lua": "print('begun') io.stdout:flush() while true do end",
    "perl": "$| = 1; print qq(begun\n); 1 while 1",
    "ruby": "$stdout.sync = true; puts 'begun'; loop {}",
    "php": "<?php echo \"begun\\n\"; while (true) {}",
}

SLEEP = {
    "bash": "echo begun; sleep 100",
    "lua": "print('begun') io.stdout:flush() os.execute('kill -STOP $$')",
    "perl": "$| = 1; print qq(begun\n); sleep 100",
    "ruby": "$stdout.sync = true; puts 'begun'; sleep",
    "php": "<?php echo \"begun\\n\"; sleep(100);",
}

GREEDY = {
    "bash": "a=x; while :; do a=$a$a; done",
    "lua": "local t = {} while true do t[#t + 1] = ('x'):rep(1000000) .. #t end",
    "perl": "my @kept; push @kept, 'x' x 1000000 . @kept while 1",
    "ruby": "kept = []; loop { kept << 'x' * 1000000 }",
    # Its own limit is below the cell's, but not for memory that it does not count.
    "php": "<?php ini_set('memory_limit', -1); while (true) { $all[] = str_repeat('x', 1000000); }",
}

CHATTY = {
    "bash": "while :; do echo 0123456789; done",
    "lua": "while true do print('0123456789') end",
    "perl": "print qq(0123456789\n) while 1",
    "ruby": "loop { puts '0123456789' }",
    "php": "<?php while (true) { echo \"0123456789\\n\"; }",
}

WRONG = {
    "bash": "echo before\nif then",
    "lua": "local a = = 1",
    "perl": "use strict; my $a = ; print 1",
    "ruby": "def a(\nputs 1",
    "php": "<?php $a = ;",
}

LANGUAGES = sorted(SHOW)
each_language = pytest.mark.parametrize("language", LANGUAGES)


def same(language, code, *options, **more):
    return ways.same("--lang", language, "-c", code, *options, **more)


def both(language, code, *options):
    """Both results, of programs whose last output is random."""
    found = [ways.run(way, "--lang", language, "-c", code, *options) for way in ("cold", "warm")]
    assert [it["start"] for it in found] == ["cold", "warm"]
    return found


@each_language
def test_program(language):
    source = next((PROGRAMS / language).glob("code.*"))
    result = ways.same("--timeout", "60s", source)
    assert result["stdout"] == (PROGRAMS / language / "expected.txt").read_text()


@each_language
def test_shows_the_same(language, tmp_path):
    (tmp_path / "data.txt").write_text("data\n")
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho tool\n")
    tool.chmod(0o755)
    result = same(language, SHOW[language], "--changes", "--env", "GREETING=hallo welt",
                  "--in", f"sub/data.txt={tmp_path / 'data.txt'}", "--in", f"sub/tool={tool}",
                  "--open-files", "100", "--file-size", "1M", "--memory", "100M",
                  "--cpu-time", "7s", "--processes", "30", args=["one", "two words"], stdin=b"input")
    assert result["exit_code"] == 7
    assert result["stderr"].endswith("problem\n")
    assert "two words" in result["stdout"] and "hallo welt" in result["stdout"]
    assert [it["path"] for it in result["files"]] == ["out/made.txt"]


@each_language
def test_error(language):
    result = same(language, WRONG[language])
    assert result["status"] == "failed"


@each_language
def test_timeout(language):
    result = same(language, SLEEP[language], "--timeout", "1s")
    assert (result["status"], result["stdout"]) == ("timeout", "begun\n")


@each_language
def test_cpu_time(language):
    result = same(language, FOREVER[language], "--cpu-time", "500ms", "--timeout", "5m")
    assert (result["status"], result["stdout"]) == ("cpu_limit", "begun\n")


@each_language
def test_memory(language):
    for result in both(language, GREEDY[language], "--memory", "64M"):
        assert ways.ended_by_memory(result), result


@each_language
def test_output(language):
    cold, warm = both(language, CHATTY[language], "--stdout", "5000")
    assert warm["status"] == cold["status"] == "output_limit"
    assert warm["stdout"] == cold["stdout"] and len(warm["stdout"]) == 5000


@each_language
def test_waiting_is_not_charged(language):
    cold, warm = both(language, {"php": "<?php", "lua": "return"}.get(language, "#"))
    assert warm["usage"]["disk_bytes"] == cold["usage"]["disk_bytes"] == 0
    assert warm["usage"]["cpu_ms"] <= cold["usage"]["cpu_ms"] * 3 + 20
