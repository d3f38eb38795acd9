# SPDX-License-Identifier: Apache-2.0
"""Makes checked-in files from the tables that brig itself uses.

usage: python3 scripts/generate BRIG-TABLES [--check]

BRIG-TABLES prints the tables as JSON (src/tables). Completions are whole files. In pages, manuals and
clients a region between two marks is replaced:

    <!-- generated: limits -->      in Markdown; "; generated:" in manuals, "#" or "//" in sources
    <!-- generated: end -->

With --check nothing is written: the status is 1 if a file differs from what its tables make of it.
"""

import difflib
import json
import pathlib
import subprocess
import sys

import bash
import fish
import keys
import manual
import pages
import regions
import schemas
import zsh

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WHOLE = {
    "completions/brig.bash": bash.completion,
    "completions/_brig": zsh.completion,
    "completions/brig.fish": fish.completion,
}
MARKED = ("README.md", "docs/*.md", "man/*.scd", "clients/python/brig/*.py",
          "clients/javascript/lib/*.js", "clients/javascript/index.d.ts")


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def generated(tables):
    """Each path of a generated file, with its text."""
    for path, make in WHOLE.items():
        yield path, make(tables)
    tables["result_schema"] = schemas.result_schema(tables, read(schemas.RESULT))
    yield schemas.RESULT, schemas.written(tables["result_schema"]) + "\n"
    yield schemas.API, schemas.api_schema(tables, read(schemas.API))
    makers = {**pages.MAKERS, **manual.makers(tables, read("man/details.txt"))}
    used = set()
    for pattern in MARKED:
        for file in sorted(ROOT.glob(pattern)):
            path = str(file.relative_to(ROOT))
            text = read(path)
            if regions.MARK in text:
                yield path, regions.replace(path, text, tables, makers, used)
    unused = sorted(set(makers) - used)
    if unused:
        raise SystemExit(f"generate: no page has a region {', '.join(unused)}")


def differences(path, text):
    old = read(path).splitlines(keepends=True)
    return difflib.unified_diff(old, text.splitlines(keepends=True), path, f"{path} (generated)")


def main():
    check = "--check" in sys.argv[2:]
    tables = json.loads(subprocess.run([sys.argv[1]], check=True, capture_output=True).stdout)
    wrong = keys.errors(tables, read)
    for path, text in generated(tables):
        if text == read(path):
            continue
        if check:
            wrong.append(f"{path} is not what the program's tables make; run make generate\n"
                         + "".join(differences(path, text)))
        else:
            (ROOT / path).write_text(text, encoding="utf-8")
            print(f"  {path}")
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main())
