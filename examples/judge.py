# SPDX-License-Identifier: Apache-2.0
"""A judge: programs in any language, each with every input, compared with expected outputs.

    PYTHONPATH=clients/python python3 examples/judge.py

All runs are one batch: results arrive as the runs end, and a program that does not end, uses all
memory or does not compile affects only itself. (examples/judge.c does the same for C, with files.)
"""

import brig

TESTS = [("2 3", "5"), ("-1 1", "0"), ("1000000000000 1", "1000000000001")]

PROGRAMS = {
    "python": ("python", "print(sum(map(int, input().split())))"),
    "bash": ("bash", "read -r a b; echo $((a + b))"),
    "c, int": ("c", "#include <stdio.h>\n"
                    "int main(void) { int a, b; return scanf(\"%d%d\", &a, &b) != 2 ||\n"
                    "                 printf(\"%d\\n\", a + b) < 0; }"),
    "c, broken": ("c", "int main(void) { return a + b }"),
    "never ends": ("python", "while True: pass"),
    "eats all": ("python", "x = []\nwhile True: x.append('*' * 1000000)"),
}

VERDICTS = {
    "failed": "runtime error",
    "compile_failed": "compile error",
    "timeout": "time limit",
    "cpu_limit": "time limit",
    "memory_limit": "memory limit",
    "output_limit": "output limit",
}


def judge(item):
    if item.error:
        return f"judge error: {item.error.code}"
    if not item.result.ok:
        return VERDICTS.get(item.result.status, item.result.status)
    expected = TESTS[item.input][1]
    return "accepted" if item.result.stdout.split() == expected.split() else "wrong answer"


def main():
    limits = {"cpu_ms": 1000, "memory_bytes": 64 << 20}
    programs = [{"code": code, "language": language, "timeout": 10, "limits": limits}
                for language, code in PROGRAMS.values()]
    inputs = [{"stdin": given} for given, _ in TESTS]
    verdicts = {}
    for item in brig.Client().batch(programs, inputs):
        verdicts[item.program, item.input] = judge(item)
    for index, name in enumerate(PROGRAMS):
        row = [verdicts[index, test] for test in range(len(TESTS))]
        print(f"{name:12}" + "".join(f"{verdict:16}" for verdict in row).rstrip())


if __name__ == "__main__":
    main()
