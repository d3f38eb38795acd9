# SPDX-License-Identifier: Apache-2.0
"""Each language runs a real program, and says what is wrong with a bad one."""

import pytest

from conftest import TREE

PROGRAMS = TREE / "tests" / "programs"
LANGUAGES = sorted(path.name for path in PROGRAMS.iterdir() if path.is_dir())
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

# What the compiler must complain of, and a word of its complaint.
BROKEN = {
    "c": ("int main(void) { return nothing; }", "nothing"),
    "cpp": ("int main() { return nothing; }", "nothing"),
    "go": ("package main\nfunc main() { nothing() }", "undefined: nothing"),
    "java": ("public class A { int f() { return nothing; } }", "cannot find symbol"),
    "rust": ("fn main() { nothing() }", "nothing"),
}
# What an interpreter says when it starts: a failure of the program, not of a compiler.
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
    # Some compilers complain on standard output.
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
    """The request's limits are the program's; a compiler that never ends is ended by its own."""
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


def test_unknown_language_lists_the_known(brig):
    error = brig.error("--lang", "cobol", "-c", "x")
    assert error["code"] == "runtime"
    assert "cobol" in error["message"]
    for language in LANGUAGES:
        assert language in error["remedy"]
