# SPDX-License-Identifier: Apache-2.0
"""Each language runs a real program, and reports the errors of a bad one."""

import subprocess

import pytest

from conftest import TREE

PROGRAMS = TREE / "tests" / "programs"
LANGUAGES = sorted(path.parent.name for path in PROGRAMS.glob("*/expected.txt"))
COMPILED = {"c", "cpp", "go", "java", "rust"}

# Prints its argument and its input in upper case, complains, and ends with 3.
ECHO = {
    "bash": 'read line; echo "$1 ${line^^}"; echo oops >&2; exit 3',
    "c": "#include <stdio.h>\n#include <ctype.h>\n"
         "int main(int n, char **a) { printf(\"%s \", n > 1 ? a[1] : \"\");\n"
         "for (int c; (c = getchar()) != EOF;) putchar(toupper(c));\n"
         "fprintf(stderr, \"oops\\n\"); return 3; }",
    "cpp": "#include <iostream>\n#include <string>\n"
           "int main(int, char **a) { std::string s; std::getline(std::cin, s);\n"
           "for (auto &c : s) c = toupper(c);\n"
           "std::cout << a[1] << ' ' << s << std::endl; std::cerr << \"oops\\n\"; return 3; }",
    "go": "package main\nimport (\"bufio\"; \"fmt\"; \"os\"; \"strings\")\n"
          "func main() { s, _ := bufio.NewReader(os.Stdin).ReadString('\\n')\n"
          "fmt.Print(os.Args[1], \" \", strings.ToUpper(s)); println(\"oops\"); os.Exit(3) }",
    "java": "import java.util.*; public class Echo { public static void main(String[] a) {\n"
            "System.out.println(a[0] + \" \" + new Scanner(System.in).nextLine().toUpperCase());\n"
            "System.err.println(\"oops\"); System.exit(3); } }",
    "javascript": "const s = require('fs').readFileSync(0, 'utf8');\n"
                  "process.stdout.write(process.argv[2] + ' ' + s.toUpperCase());\n"
                  "console.error('oops'); process.exitCode = 3;",
    "lua": "print(arg[1] .. ' ' .. io.read():upper()) io.stderr:write('oops\\n') os.exit(3)",
    "perl": "print \"$ARGV[0] \", uc(<STDIN>); print STDERR \"oops\\n\"; exit 3;",
    "php": "<?php echo $argv[1], ' ', strtoupper(fgets(STDIN));\n"
           "fwrite(STDERR, \"oops\\n\"); exit(3);",
    "python": "import sys\nprint(sys.argv[1], input().upper())\n"
              "print('oops', file=sys.stderr)\nsys.exit(3)",
    "ruby": "puts \"#{ARGV[0]} #{$stdin.gets.upcase}\"; warn 'oops'; exit 3",
    "rust": "use std::io::Read; fn main() { let mut s = String::new();\n"
            "std::io::stdin().read_to_string(&mut s).unwrap();\n"
            "print!(\"{} {}\", std::env::args().nth(1).unwrap(), s.to_uppercase());\n"
            "eprintln!(\"oops\"); std::process::exit(3) }",
}

# The compiler's error, and a word of its message.
BROKEN = {
    "c": ("int main(void) { return nothing; }", "nothing"),
    "cpp": ("int main() { return nothing; }", "nothing"),
    "go": ("package main\nfunc main() { nothing() }", "undefined: nothing"),
    "java": ("public class A { int f() { return nothing; } }", "cannot find symbol"),
    "rust": ("fn main() { nothing() }", "nothing"),
}
# The error of an interpreter at its start: a failure of the program, not of a compiler.
SYNTAX = {
    "bash": ("if", "syntax error"),
    "javascript": ("let let = ;", "SyntaxError"),
    "lua": ("x = = 1", "unexpected symbol"),
    "perl": ("my $x = ;", "syntax error"),
    "php": ("<?php $x = ;", "syntax error"),
    "python": ("x = = 1", "SyntaxError"),
    "ruby": ("def (", "syntax error"),
}


def test_every_language_is_here():
    wanted = {"python", "javascript", "bash", "c", "cpp", "go", "rust", "java", "perl", "lua",
              "ruby", "php"}
    assert set(LANGUAGES) == wanted == set(ECHO) == set(BROKEN) | set(SYNTAX)
    assert set(BROKEN) == COMPILED


@pytest.mark.parametrize("language", LANGUAGES)
def test_program(brig, language):
    """A program that uses the language: files, threads, children, its standard library."""
    source = next((PROGRAMS / language).glob("code.*"))
    # A comment of its own, so that no earlier run has compiled it.
    comment = f"\n// {brig.dir}\n" if language in COMPILED else ""
    copy = brig.dir / source.name
    copy.write_text(source.read_text() + comment)
    expected = (PROGRAMS / language / "expected.txt").read_text()
    first = brig.result(copy)
    assert (first["status"], first["exit_code"]) == ("ok", 0), first
    assert first["stdout"] == expected
    assert first["language"] == language
    assert first["runtime"].startswith(language)
    assert first["provider"] == "native" and "seccomp" in first["layers"]
    assert not first["build_cached"]
    if language in COMPILED:
        again = brig.result(copy)
        assert (again["status"], again["stdout"]) == ("ok", expected), again
        assert again["build_cached"]


@pytest.mark.root
@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - COMPILED))
def test_program_in_strict(brig, language):
    """The same under the smaller list of system calls; a user need not have all of its layers."""
    source = next((PROGRAMS / language).glob("code.*"))
    result = brig.result("--policy", "strict", source)
    assert (result["status"], result["verdict"]["denial"]) == ("ok", None), result
    assert result["stdout"] == (PROGRAMS / language / "expected.txt").read_text()


@pytest.mark.parametrize("language", LANGUAGES)
def test_input_arguments_and_status(brig, language):
    result = brig.result("--lang", language, "-c", ECHO[language], "--", "arg", stdin="hello\n")
    assert result["stdout"] == "arg HELLO\n", result
    assert result["stderr"] == "oops\n"
    assert (result["status"], result["exit_code"], result["brig_status"]) == ("failed", 3, 3)
    assert result["verdict"]["cause"] == "exit"


@pytest.mark.parametrize("language", sorted(BROKEN))
def test_compile_error(brig, language):
    code, words = BROKEN[language]
    result = brig.result("--lang", language, "-c", code)
    assert result["status"] == "compile_failed", result
    assert result["brig_status"] == 119
    assert result["exit_code"] != 0
    # Some compilers print errors on standard output.
    said = result["stderr"] + result["stdout"]
    assert words in said
    assert "code." in said or "A.java" in said, "the complaint does not name the file"
    assert result["verdict"]["remedy"]
    again = brig.result("--lang", language, "-c", code)
    assert again["status"] == "compile_failed" and not again["build_cached"]


@pytest.mark.parametrize("language", sorted(SYNTAX))
def test_syntax_error(brig, language):
    code, words = SYNTAX[language]
    result = brig.result("--lang", language, "-c", code)
    assert result["status"] == "failed", result
    assert result["exit_code"] > 0
    assert words in result["stderr"] + result["stdout"]


def test_compiler_has_limits_of_its_own(brig):
    """The limits of a request leave a compiler its minimum; one that never ends is ended."""
    result = brig.result("--timeout", "1ms", "--lang", "c", "-c", f"int main() {{}} // {brig.dir}")
    assert result["status"] in ("ok", "timeout"), result
    config = brig.dir / "config"
    (config / "policies").mkdir(parents=True)
    (config / "policies" / "hasty.json").write_text(
        '{"extends": "default", "compile": {"limits": {"wall": "1s"}}}')
    (config / "runtimes").mkdir()
    (config / "runtimes" / "slow.json").write_text(
        '{"extensions": ["slow"], "source": "code.slow", "program": ["/bin/bash"],'
        '"compile": {"argv": ["{program}", "-c", "echo compiling >&2; sleep 60"],'
        '"output": "program"}, "run": {"argv": ["{output}", "{args}"]},'
        '"closure": ["@libs", "@shell", "/usr/bin/sleep"]}')
    result = brig.result("--config", config, "--policy", "hasty", "--lang", "slow", "-c", "x")
    assert result["status"] == "compile_failed", result
    assert result["stderr"] == "compiling\n"
    assert result["verdict"]["cause"] == "wall"
    assert result["duration_ms"] < 5000


def test_request_tightens_the_compilers_limits(brig):
    """Down to the minimum in the runtime file, and never above the policy's."""
    config = brig.dir / "config"
    (config / "runtimes").mkdir(parents=True)
    (config / "runtimes" / "slow.json").write_text(
        '{"extensions": ["slow"], "source": "code.slow", "program": ["/bin/bash"],'
        '"compile": {"argv": ["{program}", "-c", "while :; do :; done"],'
        '"output": "program", "least": {"cpu_time": "300ms", "memory": "32M"}},'
        '"run": {"argv": ["{output}", "{args}"]}, "closure": ["@libs", "@shell"]}')
    for asked, got in (("600ms", 600), ("10ms", 300)):
        result = brig.result("--config", config, "--cpu-time", asked, "--memory", "16M",
                             "--lang", "slow", "-c", "x")
        assert (result["status"], result["verdict"]["cause"]) == ("compile_failed", "cpu_time"), result
        assert (result["limits"]["cpu_ms"], result["limits"]["memory_bytes"]) == (got, 32 << 20)
        assert result["usage"]["compile_cpu_ms"] >= got


@pytest.mark.parametrize("language", sorted(COMPILED))
def test_a_small_request_can_be_compiled(brig, language):
    """Limits that are enough for the program alone."""
    # Debian's go 1.19 reserves more than it uses, which counts where there is no group.
    small = {"java": "96M", "go": "64M", "rust": "32M"}.get(language, "8M")
    result = brig.result("--memory", small, "--disk", "16M", "--cpu-time", "2s", "--open-files", "32",
                         "--lang", language, "-c", ECHO[language], "--", "arg", stdin="hello\n")
    assert (result["status"], result["stdout"]) == ("failed", "arg HELLO\n"), result


PROCESSOR = """
import javax.annotation.processing.*; import javax.lang.model.element.TypeElement; import java.util.Set;
@SupportedAnnotationTypes("*")
public class P extends AbstractProcessor {
    @Override public boolean process(Set<? extends TypeElement> s, RoundEnvironment r) {
        System.out.println("code of the caller's in javac"); return false; }
}
"""
PLUGIN = """
import com.sun.source.util.*;
public class P implements Plugin {
    public String getName() { return "P"; }
    public boolean autoStart() { return true; }
    public void init(JavacTask task, String... args) {
        System.out.println("code of the caller's in javac"); }
}
"""


@pytest.mark.parametrize("service, source", [
    ("javax.annotation.processing.Processor", PROCESSOR), ("com.sun.source.util.Plugin", PLUGIN)])
def test_no_code_of_the_callers_in_javac(brig, service, source):
    """Neither an annotation processor nor a plugin that would start by itself."""
    (brig.dir / "P.java").write_text(source)
    subprocess.run(["javac", "-proc:none", "P.java"], cwd=brig.dir, check=True, timeout=120)
    (brig.dir / "service").write_text("P\n")
    (brig.dir / "Main.java").write_text(
        'public class Main { public static void main(String[] a) { System.out.println("ran"); } }')
    result = brig.result("--in", f"P.class={brig.dir}/P.class",
                         "--in", f"META-INF/services/{service}={brig.dir}/service",
                         brig.dir / "Main.java")
    assert result["stdout"] == "ran\n", result
    # Where it is allowed it prints, and the compiler's text is shown when it fails.
    (brig.dir / "Main.java").write_text("public class Main { int x = y; }")
    result = brig.result("--in", f"P.class={brig.dir}/P.class",
                         "--in", f"META-INF/services/{service}={brig.dir}/service",
                         brig.dir / "Main.java")
    assert result["status"] == "compile_failed"
    assert "code of the caller's" not in result["stdout"] + result["stderr"], result


def test_unknown_language_lists_the_known(brig):
    error = brig.error("--lang", "cobol", "-c", "x")
    assert error["code"] == "runtime"
    assert "cobol" in error["message"]
    for language in LANGUAGES:
        assert language in error["remedy"]


PLOT = """
import matplotlib
from matplotlib import pyplot
pyplot.plot([1, 4, 2])
pyplot.title("größer")
pyplot.savefig("out/plot.png")
print(pyplot.get_backend().lower())
"""


@pytest.mark.parametrize("start", ["cold", "warm"])
def test_python_plots(brig, start):
    """Debian's matplotlib: its data, settings and fonts are not beside its modules."""
    result = brig.result("--start", start, "--timeout", "120s", "--cpu-time", "60s", "--lang", "python", "-c", PLOT)
    assert (result["status"], result["stdout"]) == ("ok", "agg\n"), result
    picture, = (file for file in result["files"] if file["path"] == "out/plot.png")
    assert picture["size"] > 1000
