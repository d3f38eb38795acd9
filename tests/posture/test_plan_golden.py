# SPDX-License-Identifier: Apache-2.0
"""The plan, pinned: every step of every kind of run, in order, with its action.

The contents of a runtime's closure depend on the host's packages; they are one line here.
BRIG_GOLDEN=write writes the files anew.
"""

import difflib
import json
import os
import pathlib
import re
import subprocess

import pytest

BRIG = os.path.abspath(os.environ.get("BRIG", "build/brig"))
HERE = pathlib.Path(__file__).parent
ROOT = os.geteuid() == 0
MADE_UP = re.compile(r"/(etc(?!/alternatives)|dev|proc|sys|mnt|sandbox|tmp)\b")
CLOSURE_STEPS = {"mount.overlay", "dir", "link", "file", "mount.bind"}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("plan")
    (place / "empty.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-static", "-o", place / "program", place / "empty.c"], check=True)
    (place / "shared").mkdir()
    (place / "data").write_text("12345")
    return place


CASES = {
    "program": lambda place: ["--", place / "program", "word"],
    "python": lambda place: ["--lang", "python", "-c", "print(1)"],
    "files": lambda place: ["--in", f"in/data={place}/data", "--ro", place / "shared",
                            "--", place / "program"],
    "strict": lambda place: ["--policy", "strict", "--lang", "python", "-c", "print(1)"],
    "local": lambda place: ["--policy", "open", "--yes", "--", place / "program"],
    "network": lambda place: ["--net", "example.org", "--net", "local:10.0.0.0/8:22", "--",
                              place / "program"],
    "compile": lambda place: ["--lang", "c", "-c", "int main(void) { return 0; }"],
}

RULES = [
    (r"brig-run-\w+", "brig-run-X"),
    (r"\(\d{4,} bytes\)", "(N bytes)"),
    (r"(/cpu/\w+) \(\d+ bytes\)", r"\1 (N bytes)"),
    (r"\d+K, \d+ inodes", "N bytes, N inodes"),
    (r"\d+ instructions", "N instructions"),
    (r"ABI \d+", "ABI N"),
]


def normal(place, steps):
    lines = []
    for step in steps:
        # With BLAS on the host the closure makes this directory, and earlier.
        if (step["step"], step["what"]) == ("dir", "/etc 0755"):
            continue
        what = (step["what"] or "").replace(str(place), "PLACE")
        for pattern, replacement in RULES:
            what = re.sub(pattern, replacement, what)
        line = f"{step['actor']} {step['step']} {what}".rstrip()
        if step["step"] in CLOSURE_STEPS and not MADE_UP.match(step["what"] or ""):
            line = "init (closure)"
        if lines[-1:] != ["init (closure)"] or line != "init (closure)":
            lines.append(line)
    return lines


# An ordinary user's host need not have all layers that the strict policy requires.
@pytest.mark.parametrize("case", [
    pytest.param(case, marks=pytest.mark.root if case == "strict" else []) for case in CASES
])
def test_plan(place, case):
    env = dict(os.environ) if ROOT else {**os.environ, "BRIG_NO_CGROUP": "1"}
    words = [BRIG, "explain", "--json", *CASES[case](place)]
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, env=env,
                          timeout=60, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done
    plan = json.loads(done.stdout)
    lines = []
    for part in ("compile", "program"):
        if plan[part]:
            lines += [f"[{part}]", *normal(place, plan[part]["steps"])]
    golden = HERE / f"plan-{case}-{'root' if ROOT else 'user'}.txt"
    if os.environ.get("BRIG_GOLDEN") == "write":
        golden.write_text("\n".join(lines) + "\n")
    diff = list(difflib.unified_diff(golden.read_text().splitlines(), lines, golden.name, "seen",
                                     lineterm="", n=2))
    assert not diff, "\n".join(diff)
