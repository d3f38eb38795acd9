#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds sentences that begin with Who, Whose, What or Whatever and are not questions.

Such a sentence has a clause as its subject; a noun is clearer. The script reads comments, strings
and pages, of the files that are named or of all files in git. Without arguments it also runs its
own examples, which are below.
"""

import doctest
import os
import re
import subprocess
import sys

SKIPPED = ("LICENSES/", "tests/fuzz/corpus/", "tests/fuzz/regressions/", "scripts/check-words.py")
C_PARTS = re.compile(r'/\*.*?\*/|//[^\n]*(?:\n\s*//[^\n]*)*|"(?:[^"\\\n]|\\.)*"', re.S)
PYTHON_PARTS = re.compile(r'"""(.*?)"""|\'\'\'(.*?)\'\'\'|#[^\n]*(?:\n\s*#[^\n]*)*'
                          r'|"(?:[^"\\\n]|\\.)*"', re.S)
HASH_PARTS = re.compile(r'(?:^|(?<=\s))#[^\n]*(?:\n\s*#[^\n]*)*|"(?:[^"\\\n]|\\.)*"')
C_KINDS = "c h cpp js mjs cjs ts mts go java rs php json map clang-format"
HASH_KINDS = "sh bash fish mk yml rb pl toml ini in rules service socket clang-tidy gitignore"
# A file of any other kind is read as a page.
PARTS = {"py": PYTHON_PARTS,
         **dict.fromkeys(C_KINDS.split(), C_PARTS), **dict.fromkeys(HASH_KINDS.split(), HASH_PARTS)}

# A block of code in a page is no prose. Its line breaks are kept for the line numbers.
FENCE = re.compile(r"^([ \t]*)(```+|~~~+)[^\n]*\n.*?^[ \t]*\2[ \t]*$", re.S | re.M)
PARAGRAPH = re.compile(r"(\n\s*\n|\n(?=\s*[-*|#.]|\s*\d+\.))")
# The marks at the beginning of a line: of comments, man pages, quotations and lists.
MARKS = re.compile(r'^\s*(?:/\*+|\*+/?|#+!?|//+|\.\\"|\.[A-Z]+|>+)?\s?')
SENTENCE = re.compile(r'(?:^|(?<=[.!?]\s)|(?<=[:;]\s))["\'(*_`-]*\s*'
                      r'((?:Who|Whom|Whose|Whoever|Whomever|Whatever|What)\b'
                      r'(?:[^.!?]|[.!?](?=[\w/(]))*[.!?]?)')


def kind_of(path, text):
    last = path.rsplit("/", 1)[-1]
    if last == "Makefile":
        return "mk"
    if "." in last:
        return last.rsplit(".", 1)[1]
    first = text.split("\n", 1)[0]
    return "py" if "python" in first else "sh" if first.startswith("#") else last


def parts_of(text, pattern):
    """(offset, part) of each part that people read."""
    if pattern:
        for match in pattern.finditer(text):
            yield match.start(), match.group(0)
        return
    text = FENCE.sub(lambda match: "\n" * match.group(0).count("\n"), text)
    at = 0
    for paragraph in PARAGRAPH.split(text):
        yield at, paragraph
        at += len(paragraph)


def paragraphs_of(part):
    """(line, words) of each paragraph, without the marks of a comment or a string."""
    words, first = [], 0
    for line, text in enumerate([*part.split("\n"), ""]):
        text = MARKS.sub("", text).replace("*/", " ").strip()
        if text and not text.startswith(("SPDX-", "/usr/bin/env", "/bin/")):
            first = first if words else line
            words.append(text)
        elif words:
            yield first, re.sub(r"\s+", " ", " ".join(words)).strip("\"' ")
            words = []


def findings(text, kind):
    r"""(line, sentence) of each sentence that this is about.

    >>> def found(text, kind): return [line for line, _ in findings(text, kind)]
    >>> found("/* What is left is freed. */", "c")
    [1]
    >>> found("/*\n * The head.\n *\n * Who waits is\n * told. */", "c")
    [4]
    >>> found("#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n# What it runs.\n", "sh")
    [3]
    >>> found("def f():\n    '''Ends. Whatever is left is closed.'''\n", "py")
    [2]
    >>> found('{"about": "What it runs."}', "json"), found("Who may call.", "any other")
    ([1], [1])
    >>> found("A page.\n\n- What a page lists.\n\n| What | Whose it is |\n", "md")
    [3, 5, 5]

    Questions, nouns, names and code are none:

    >>> found("/* What does brig.h declare? Whatsapp. Some of what is left. */", "c")
    []
    >>> found('WHAT = 1\nWhat = "so what"\n', "py")
    []
    >>> found("A page.\n\n```python\nWhat = 1\n```\n", "md")
    []
    """
    for at, part in parts_of(text, PARTS.get(kind)):
        start = text.count("\n", 0, at) + 1
        for line, words in paragraphs_of(part):
            for cell in words.split("|"):
                for match in SENTENCE.finditer(cell.strip()):
                    if not match.group(1).rstrip().endswith("?"):
                        yield start + line, match.group(1)[:80]


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
        return ""


def files_in_git():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=False)
    if listed.returncode:
        print("not a git tree: nothing to compare", file=sys.stderr)
    return listed.stdout.splitlines()


def main():
    paths = sys.argv[1:]
    if not paths:
        if doctest.testmod().failed:
            return 1
        paths = files_in_git()
    count = 0
    for path in paths:
        if not path.startswith(SKIPPED):
            text = read(path)
            for line, sentence in findings(text, kind_of(path, text)):
                print(f"{path}:{line}: {sentence}")
                count += 1
    if count:
        print(f"{count} sentences begin with Who or What and are not questions: "
              "give each a noun as its subject", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
