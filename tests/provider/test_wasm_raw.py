# SPDX-License-Identifier: Apache-2.0
"""Raw calls of WASI by a hostile program in a clone: any pointer, any count, in any state (raw_calls.c).

A program in an interpreter's heap can come that far. brig itself answers some calls there
(src/wasm_template); the engine answers the rest.
"""

import pathlib
import re
import subprocess

import pytest

from test_wasm_prepared import TINY, here, prepare, write  # noqa: F401 # a fixture

OK, BADF, FAULT, INVAL = 0, 8, 21, 28
# Before it has its order: see before_the_order() and wait_for_order() in raw_calls.c.
EARLY = [("early", FAULT), ("early", OK), ("early", BADF), ("early", BADF), ("early", BADF), ("early", BADF),
         ("late", FAULT), ("late", OK), ("late", FAULT)]
LONG = ("--timeout", "100s")


@pytest.fixture(scope="module")
def raw(here, place, tmp_path_factory):  # noqa: F811
    """raw(PROGRAM): the result of a clone, and what each of its lines has returned."""
    made = tmp_path_factory.mktemp("raw") / "raw.wasm"
    subprocess.run(["clang", "--target=wasm32-wasi", "-O2", "-Wl,--strip-all", "-o", made,
                    pathlib.Path(__file__).with_name("raw_calls.c")], check=True, timeout=120)
    (place / "raw.wasm").write_bytes(made.read_bytes())
    (place / "raw.wasm").chmod(0o755)
    write(here.config / "runtimes" / "wasm" / "raw.json", {
        **TINY, "extensions": ["raw"], "source": "code.raw", "program": ["/nowhere/raw.wasm"],
        "warm": {"template": True}})
    prepare(here, "raw")

    def run(program, *args):
        result = here.result("--lang", "raw", "-c", program, "--start", "warm", *LONG, *args)
        assert result["start"] == "warm", result
        said = [(word, int(number)) for word, number in re.findall(r"^(\w+) (\d+)$", result["stderr"], re.MULTILINE)]
        assert said[:len(EARLY)] == EARLY or not said, result
        return result, said[len(EARLY):]

    return run


# One part at A: 5 bytes of A+64.
PART = "fill A+64 5 120\nparts A 1 A+64 5\n"
# Programs, with the error of their last call. Nothing is written.
REFUSED = {
    "parts-beyond": ("write 1 E+0 1 A", FAULT),
    "parts-cut": ("write 1 E-7 1 A", FAULT),
    "parts-at-the-top": ("write 1 0xffffffff 1 A", FAULT),
    "a-product-of-2-to-32": ("write 1 E-8 0x20000000 A", FAULT),
    "a-product-above-it": ("write 1 E-8 0x20000001 A", FAULT),
    "all-parts-there-are": ("write 1 E-16 0xffffffff A", FAULT),
    "no-parts-beyond": ("write 1 0xfffffff8 0 A", FAULT),
    "data-beyond": ("parts A 1 E+0 1\nwrite 1 A 1 A", FAULT),
    "data-cut": ("parts A 1 E-4 5\nwrite 1 A 1 A", FAULT),
    "data-around": ("parts A 1 0xffffffff 2\nwrite 1 A 1 A", FAULT),
    "data-of-all": ("parts A 1 0 0xffffffff\nwrite 1 A 1 A", FAULT),
    "data-around-twice": ("parts A 1 0xffffffff 0xffffffff\nwrite 1 A 1 A", FAULT),
    "a-later-part": (PART + "parts A+8 1 0xfffffff0 8\nwrite 1 A 2 A+32", FAULT),
    "a-sum-above-2-to-31": ("parts A 1024 0 0x200000\nwrite 1 A 1024 A+0x8000", INVAL),
    "a-sum-above-2-to-32": ("grow 64\nparts A 1024 0 0x400001\nwrite 1 A 1024 A+0x8000", INVAL),
    "the-count-beyond": (PART + "write 1 A 1 E-3", FAULT),
    "the-count-at-the-top": (PART + "write 1 A 1 0xfffffffe", FAULT),
    "no-such-stream": (PART + "write 77 A 1 A+32", BADF),
    "the-last-stream": (PART + "write 0xffffffff A 1 A+32", BADF),
    "the-first-negative": (PART + "write 0x80000001 A 1 A+32", BADF),
    "a-closed-one": (PART + "close 1\nwrite 1 A 1 A+32", BADF),
    "random-beyond": ("random E-16 17", FAULT),
    "random-around": ("random 0xffffffff 19", FAULT),
    "random-of-all": ("random 1 0xffffffff", FAULT),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(raw, name):
    program, error = REFUSED[name]
    result, said = raw(program)
    assert (result["status"], said[-1][1], result["stdout"]) == ("ok", error, ""), result


# Programs, with what they write and the results of their last calls.
DONE = {
    "one": (PART + "write 1 A 1 A+33\nload A+33", "xxxxx", [OK, 5]),  # the place of the count is odd
    "none": (PART + "write 1 A 0 A+32\nload A+32", "", [OK, 0]),
    "none-at-the-end": ("write 1 E+0 0 A+32\nload A+32", "", [OK, 0]),
    "empty-at-the-end": (PART + "parts A 2 E+0 0\nparts A+8 1 A+64 5\nwrite 1 A 2 A+32\nload A+32",
                         "xxxxx", [OK, 5]),
    "odd": ("fill A+64 3 120\nparts A+1 3 A+64 1\nwrite 1 A+1 3 A+32\nload A+32", "xxx", [OK, 3]),
    "the-end": ("fill E-3 3 120\nparts E-16 1 E-3 3\nwrite 1 E-16 1 A", "xxx", [OK]),
    # Written before the count is stored: that of a part, that of its data.
    "over-itself": (PART + "parts A+8 1 A+64 2\nwrite 1 A 2 A+12\nload A+12", "xxxxxxx", [OK, 7]),
    "over-its-data": (PART + "write 1 A 1 A+64\nload A+64", "xxxxx", [OK, 5]),
    # Only the first 1024 are taken, as by the kernel.
    "many": ("fill A+0x8000 1 120\nparts A 2000 A+0x8000 1\nwrite 1 A 0xffff A+0x8010\nload A+0x8010",
             "x" * 1024, [OK, 1024]),
    "much": ("fill A+0x8000 0x40000 120\nparts A 9 A+0x8000 0x40000\nwrite 1 A 9 A+0x100\nload A+0x100",
             "x" * (9 << 18), [OK, 9 << 18]),
    "in-new-memory": ("grow 16\nfill E-9 9 120\nparts A 1 E-9 9\nwrite 1 A 1 A+32", "x" * 9, [OK]),
    # The engine's part in it: the numbers change their meaning at once.
    "moved": (PART + "renumber 1 6\nwrite 6 A 1 A+32\nwrite 1 A 1 A+32", "xxxxx", [OK, BADF]),
    "to-itself": (PART + "renumber 1 1\nwrite 1 A 1 A+32", "xxxxx", [OK]),
    "not-moved": (PART + "renumber 99 1\nwrite 1 A 1 A+32", "xxxxx", [OK]),
    "moved-far": (PART + "renumber 1 0xfffffff0\nwrite 1 A 1 A+32", "xxxxx", [OK]),
    "close-what-is-none": (PART + "close 0xffffffff\nclose 0x80000001\nwrite 1 A 1 A+32", "xxxxx",
                           [BADF, BADF, OK]),
}


@pytest.mark.parametrize("name", DONE)
def test_done(raw, name):
    program, output, last = DONE[name]
    result, said = raw(program, "--stdout", "4M")
    assert result["status"] == "ok" and result["stdout"] == output, result
    assert [number for _, number in said][-len(last):] == last, said


def test_a_directory_is_no_output(raw):
    """In the place of standard output: what is written to it is not written to the stream."""
    result, said = raw(PART + "renumber 4 1\nwrite 1 A 1 A+32")
    assert (result["status"], result["stdout"], said[-2][1]) == ("ok", "", OK) and said[-1][1] != OK, result


def test_the_order_is_no_more(raw):
    """Neither of the two sizes has a meaning, at any place."""
    _, said = raw("random A 17\nload A\nrandom A 19\nload A+16\nrandom A+1 17\nload A+14")
    assert [number for word, number in said if word == "random"] == [OK] * 3
    assert len({number for word, number in said if word == "load"} - {0}) == 3


@pytest.mark.parametrize("program, options, status", [
    ("parts A 1024 A 0x100000\nwrite 1 A 1024 A+0x8000\nagain 1000", ("--stdout", "64K"), "output_limit"),
    ("parts A 1024 A 0\nwrite 1 A 1024 A+0x8000\nagain 0xffffffff", ("--cpu-time", "200ms"), "cpu_limit"),
    ("random A 0x100000\nagain 0xffffffff", ("--cpu-time", "200ms"), "cpu_limit"),
])
def test_limits(raw, program, options, status):
    """Calls without an end are those of any program."""
    result, _ = raw(program, *options)
    assert result["status"] == status, result


def test_memory_does_not_grow(raw):
    """Each call looks at two thousand places: the engine keeps nothing of four million."""
    few, many = (raw(f"parts A 1024 A 0\nwrite 1 A 1024 A+0x8000\nagain {count}", "--cpu-time", "100s")
                 [0]["usage"]["memory_peak_bytes"] for count in (10, 2000))
    assert many < few + (4 << 20), (few, many)


def test_the_deepest_call(raw):
    """A call of brig's own at each depth of the stack, up to its end: a trap, and no signal."""
    result, said = raw("fill A 8 0\nsink 1 A 1000")
    assert result["status"] == "ok" and said[-1][0] == "sink", result
    result, _ = raw("fill A 8 0\nsink 1 A 0x7fffffff")
    assert (result["verdict"]["cause"], result["exit_code"]) == ("trap", 134), result
    assert "stack" in result["stderr"], result
