#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds sentences that begin with Who, Whom, Whose, What or Whatever and ask nothing.

Their subject is a riddle; a noun is clear. Comments, strings and pages are looked at, of the files
that are named or of all that git knows.
"""

import re
import subprocess
import sys

SKIPPED = ("LICENSES/", "docs/openapi.json", "tests/fuzz/corpus/", "scripts/check-words.py")
C_PARTS = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"', re.S)
PYTHON_PARTS = re.compile(r'"""(.*?)"""|\'\'\'(.*?)\'\'\'|#[^\n]*(?:\n\s*#[^\n]*)*'
                          r'|"(?:[^"\\\n]|\\.)*"', re.S)
HASH_PARTS = re.compile(r'(?:^|(?<=\s))#[^\n]*(?:\n\s*#[^\n]*)*')
SENTENCE = re.compile(r'(?:^|(?<=[.!?]\s)|(?<=[:;]\s))["\'(*_`-]*\s*'
                      r'((?:Who|Whom|Whose|Whoever|Whatever|What)\b[^.!?]*[.!?]?)')
PARTS = {"c": C_PARTS, "h": C_PARTS, "js": C_PARTS, "mjs": C_PARTS, "ts": C_PARTS,
         "py": PYTHON_PARTS, "sh": HASH_PARTS, "mk": HASH_PARTS, "yml": HASH_PARTS,
         "md": None, "1": None, "5": None, "7": None, "txt": None}


def kind_of(path, text):
    if path.rsplit("/", 1)[-1] == "Makefile":
        return "mk"
    last = path.rsplit("/", 1)[-1]
    if "." in last:
        return last.rsplit(".", 1)[1]
    first = text.split("\n", 1)[0]
    return "py" if "python" in first else "sh" if first.startswith("#!") else None


def plain(part):
    """One line of words, without the marks of a comment or a string."""
    lines = (re.sub(r'^\s*(?:/\*+|\*+/?|#+|//+|\.\\"|\.[A-Z]+|>+)?\s?', "", line)
             for line in part.split("\n"))
    text = " ".join(lines).replace("*/", " ")
    return re.sub(r"\s+", " ", text).strip().strip("\"'").strip()


def parts_of(text, pattern):
    """(offset, words) of each part that people read."""
    if pattern is None:
        at = 0
        for paragraph in re.split(r"(\n\s*\n|\n(?=\s*[-*|#.]|\s*\d+\.))", text):
            yield at, paragraph
            at += len(paragraph)
        return
    for match in pattern.finditer(text):
        yield match.start(), match.group(0)


def findings(path):
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
        return
    kind = kind_of(path, text)
    if kind not in PARTS:
        return
    for at, part in parts_of(text, PARTS[kind]):
        for cell in plain(part).split("|"):
            for match in SENTENCE.finditer(cell.strip()):
                if not match.group(1).rstrip().endswith("?"):
                    yield text.count("\n", 0, at) + 1, match.group(1)[:80]


def main():
    paths = sys.argv[1:] or subprocess.run(["git", "ls-files"], capture_output=True, text=True,
                                           check=True).stdout.split("\n")
    count = 0
    for path in paths:
        if path and not path.startswith(SKIPPED):
            for line, sentence in findings(path):
                print(f"{path}:{line}: {sentence}")
                count += 1
    if count:
        print(f"{count} sentences begin with Who or What and ask nothing: "
              "give each a noun as its subject", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
