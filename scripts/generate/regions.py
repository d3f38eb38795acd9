# SPDX-License-Identifier: Apache-2.0
"""Regions of a file that are generated: everything between two marks."""

import re

MARK = "generated: "
# "; generated: options run --in", "<!-- generated: limits -->", "# generated: limits"
REGION = re.compile(r"^([ \t]*(?:;|<!--|#|//) generated: (\w+)([^\n]*?)(?: -->)?\n)"
                    r"(.*?)"
                    r"(^[ \t]*(?:;|<!--|#|//) generated: end(?: -->)?\n)", re.M | re.S)


def arguments_of(text, name):
    """The arguments of each region of this name."""
    return [m.group(3).split() for m in REGION.finditer(text) if m.group(2) == name]


def replace(path, text, tables, makers, used):
    """The text with the content of each region made anew. A maker gets the tables, the arguments of
    the mark, and the whole text; it returns the content."""
    def make(match):
        begin, name, arguments, _, end = match.groups()
        if name not in makers:
            raise SystemExit(f"{path}: an unknown region: generated: {name}")
        used.add(name)
        return begin + makers[name](tables, arguments.split(), text) + end

    count = text.count(MARK)
    result, found = REGION.subn(make, text)
    if count != 2 * found:
        raise SystemExit(f"{path}: a mark of a region has no partner")
    return result
