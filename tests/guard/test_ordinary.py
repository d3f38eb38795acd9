# SPDX-License-Identifier: Apache-2.0
"""Ordinary programs behave in every mode as without a guard; where strict refuses one, the reason
is known."""

import doctest
import importlib
import re

import corpus
import pytest

STDIN = "Ada\n21\n4\n"
PLACE = corpus.HERE / "ordinary"
EXPLAINED = corpus.read(PLACE / "explained.txt")
PLAIN = [it for file in sorted(PLACE.glob("*.txt")) if file.name != "explained.txt"
         for it in corpus.read(file)]
# The standard library's own examples, of modules that ordinary programs use.
LIBRARY = """abc ast base64 bisect calendar cmath collections colorsys contextlib copy csv dataclasses
    datetime decimal difflib enum fractions functools graphlib hashlib heapq html itertools json
    json.decoder json.encoder keyword math numbers operator pprint random re statistics string
    textwrap typing types secrets struct pathlib os sys shlex ipaddress""".split()


def outcome(result):
    return result["status"], result["exit_code"], result["stdout"], result["stderr"]


def in_all_modes(many, programs):
    modes = ("off", "imports", "strict")
    results = many.all([((text, mode), {}) for _, text in programs for mode in modes])
    return [(name, *results[3 * i:3 * i + 3]) for i, (name, _) in enumerate(programs)]


def test_there_are_enough():
    assert len(PLAIN) >= 150


@pytest.mark.parametrize("guard", ["imports", "strict"])
def test_ordinary_programs_run_as_ever(many, guard):
    plain = [it for it in PLAIN if "input()" not in it[1]]
    usual = many.all([((text, "off"), {}) for _, text in plain])
    guarded = many.all([((text, guard), {}) for _, text in plain])
    for (name, _), expected, got in zip(plain, usual, guarded):
        assert outcome(expected) == outcome(got), name
        assert expected["status"] in ("ok", "failed"), name


def test_a_new_interpreter_says_the_same(many):
    """A cold start, where almost nothing is imported ahead."""
    some = [it for it in PLAIN[::7] + corpus.read(PLACE / "library.txt") if "input()" not in it[1]]
    some += [it for it in PLAIN if "ormat" in it[0]]
    warm = many.all([((text, "strict"), {}) for _, text in some])
    cold = many.all([((text, "strict"), {"cold": True}) for _, text in some])
    for (name, _), expected, got in zip(some, warm, cold):
        assert outcome(expected) == outcome(got), name


def test_programs_with_input(brig):
    for name, text in PLAIN:
        if "input()" not in text:
            continue
        for guard in ("off", "imports", "strict"):
            result = brig("--guard", guard, "-c", text, stdin=STDIN.encode())
            assert result["stdout"] == "Name? Hi Ada\n42\n8\n", (name, guard, result)


def test_each_refusal_of_strict_is_explained(many):
    for name, expected, imports, strict in in_all_modes(many, EXPLAINED):
        assert " | " in name, name
        assert expected["status"] == "ok", (name, expected["stderr"])
        assert outcome(expected) == outcome(imports), name
        assert strict["status"] == "rejected" or strict["verdict"]["cause"] == "guard", (name, strict)
        assert strict["verdict"]["refusal"]["reason"] and strict["verdict"]["remedy"], name


def examples():
    """The programs of the standard library's docstrings."""
    finder, found = doctest.DocTestFinder(exclude_empty=True), []
    for name in LIBRARY:
        try:
            module = importlib.import_module(name)
            tests = finder.find(module, name, globs={})  # warns of deprecated modules
        except Exception:
            continue
        for test in tests:
            lines = [it.source for it in test.examples if not it.exc_msg]
            if lines:
                text = "".join(lines)
                words = set(re.findall(r"\w+", text)) & set(getattr(module, "__all__", ()))
                public = ", ".join(sorted(it for it in words if it[0] != "_"))
                head = f"from {name} import {public}\n" if public else ""
                found.append((test.name, f"{head}import {name}\n{text}"))
    return found


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_library_s_own_examples(many):
    found = examples()
    assert len(found) > 60
    refused = []
    for name, expected, imports, strict in in_all_modes(many, found):
        assert imports["status"] == expected["status"], (name, imports["verdict"])
        assert imports["verdict"]["refusal"] is None, name
        assert strict["status"] != "error", name
        if strict["status"] != expected["status"]:
            why = strict["verdict"]["refusal"]
            assert why, (name, strict["status"], strict["stderr"][-500:])
            refused.append((name, why["reason"]))
    for name, reason in refused:
        print(name, reason, sep="\t")
    print(len(refused), "of", len(found), "are refused in strict")
