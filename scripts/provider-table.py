#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/design/provider-tests.md from results of tests/provider. usage: provider-table.py [--note TEXT] JUNIT...

Of several results of one test the last file's counts. The columns are the providers with which the
acceptance example has run, so a new provider needs no change here, and those with a module of tests
of their own. A test belongs to the provider in its parameters, else to that of its module.
"""

import argparse
import collections
import doctest
import re
import sys
import textwrap
import xml.etree.ElementTree

FIRST = "test_the_acceptance_example"
# The row of a test: the first line that matches MODULE.TEST.
ROWS = (
    ("the acceptance example, the shape of results", r"runs\.test_(the_acceptance|one_shape)"),
    ("files and directories", r"runs\.test_(files|mounts)|held\.test_(files|bytes)"),
    ("exit statuses, signals", r"runs\.test_(exit_status|signal|abort)"),
    ("programs, streams", r"runs\."),
    ("limits, and their verdicts", r"limits\."),
    ("system calls: denied, watched, filtered", r"calls\.|refused\.test_(filter|killing)"),
    ("attacks", r"walls\."),
    ("values, the guard", r"sessions\.test_(value|no_value|guard)"),
    ("sessions", r"sessions\."),
    ("cells made ahead", r"held\."),
    ("kills: brig, the holder, the agent", r"bad_days\.test_(brig_|holder_|agent_|launcher_|interrupted|nothing)"),
    ("runtimes that are missing, fail, hang or lie", r"bad_days\."),
    ("virtualenvs", r"venv\."),
    ("what is refused, and how it is explained", r"refused\."),
    ("lists of providers", r"choice\."),
)
OWN = "of its own: settings, layers, bad days"
HEAD = """# Tests of providers

Each cell has the number of tests that passed with the provider of its column. "refused" are those of them that assert a
refusal where another provider does the same thing; a dash means that no test of the row is made for this provider.
Numbers differ where a test has other parameters, or where a thing cannot exist: a machine has no holder's agent on the
host to be killed, a native cell is not made by a runtime. `make test-providers` runs all of them;
`scripts/provider-table.py` makes this page from the junit files of pytest. The attacks are listed one by one in
[provider-attacks.md](provider-attacks.md).
"""


class Result:
    """One test case of a junit file."""

    def __init__(self, case):
        self.module = case.get("classname").split(".")[-1].removeprefix("test_")
        self.name, _, rest = case.get("name").partition("[")
        self.words = rest.rstrip("]")
        self.state = "passed"
        for state in ("skipped", "failure", "error"):
            if case.find(state) is not None:
                self.state = state
        names = {one.get("name") for one in case.iter("property")}
        self.refused = "refused" in names
        self.column = ""

    def is_of(self, provider):
        """Is the provider among the parameters?

        >>> case = xml.etree.ElementTree.Element("testcase", classname="p.test_m", name="test_a[b-oci-crun]")
        >>> Result(case).is_of("oci-crun"), Result(case).is_of("crun-b")
        (True, False)
        """
        return re.search(rf"(^|-){re.escape(provider)}(-|$)", self.words) is not None

    def twin(self):
        """The same test with any provider."""
        return self.module, self.name, re.sub(rf"(^|-){re.escape(self.column)}(?=-|$)", "", self.words)


def read(paths):
    """The last result of each test."""
    found = {}
    for path in paths:
        for case in xml.etree.ElementTree.parse(path).iter("testcase"):
            if case.get("classname"):
                result = Result(case)
                found[result.module, case.get("name")] = result
    return list(found.values())


def general(result):
    return any(re.match(pattern, f"{result.module}.{result.name}") for _, pattern in ROWS)


def place(results):
    """Gives each result its column; returns all columns, in order."""
    columns = [one.words for one in results if one.name == FIRST]
    for result in results:
        of = [name for name in columns if result.is_of(name)]
        if general(result):
            result.column = max(of, key=len, default="")
            continue
        # A module of a provider's own: test_vm.py, test_wasm_prepared.py.
        name = result.module.split("_")[0]
        result.column = next((one for one in columns if one.split("-")[0] == name), name)
        if result.column not in columns:
            columns.append(result.column)
    return columns


def row_of(result):
    for row, pattern in ROWS:
        if re.match(pattern, f"{result.module}.{result.name}"):
            return row
    return OWN


def cell(results, done):
    """
    >>> cell([], set())
    '–'
    """
    if not results:
        return "–"
    states = collections.Counter(one.state for one in results)
    refused = sum(one.state == "passed" and one.refused and one.twin() in done for one in results)
    words = [f"{states['passed']}" + (f", {refused} refused" if refused else "")]
    words += [f"**{count} {state}**" for state, count in sorted(states.items()) if state != "passed"]
    return "; ".join(words)


def table(results):
    columns = place(results)
    done = {one.twin() for one in results if one.column and one.state == "passed" and not one.refused}
    yield "| | " + " | ".join(f"`{name}`" for name in columns) + " | with none |"
    yield "|---|" + "---|" * (len(columns) + 1)
    for row in [name for name, _ in ROWS] + [OWN]:
        of = [one for one in results if row_of(one) == row]
        cells = [cell([one for one in of if one.column == name], done) for name in [*columns, ""]]
        if of:
            yield f"| {row} | " + " | ".join(cells) + " |"
    cells = [cell([one for one in results if one.column == name], done) for name in [*columns, ""]]
    yield "| **all** | " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description="Prints a page with the results of tests/provider.")
    parser.add_argument("--note", help="of this run, such as tests that were left out")
    parser.add_argument("junit", nargs="+", help="a file of pytest's --junitxml")
    words = parser.parse_args()
    if doctest.testmod().failed:
        sys.exit(1)
    print(HEAD)
    if words.note:
        print(textwrap.fill(words.note, 120) + "\n")
    print("\n".join(table(read(words.junit))))


main()
