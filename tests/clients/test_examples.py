# SPDX-License-Identifier: Apache-2.0
"""The examples for Python and Node work as described (those in C: tests/lib/test_examples.py)."""

import os
import subprocess
import sys

from conftest import BRIG, PACKAGE, TREE

EXAMPLES = TREE / "examples"


def run(place, *words):
    env = dict(os.environ, PYTHONPATH=str(PACKAGE), BRIG=BRIG, PYTHONDONTWRITEBYTECODE="1",
               XDG_CACHE_HOME=str(place / "cache"), HOME=str(place), XDG_STATE_HOME=str(place),
               XDG_RUNTIME_DIR=str(place))
    done = subprocess.run([str(word) for word in words], cwd=place, env=env, text=True,
                          capture_output=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


def test_all_are_tested_and_listed():
    names = {path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".mjs", ".c")}
    assert names - {"event_loop.c", "execute.c", "judge.c", "plugin_host.c"} == {
        "agent_loop.py", "data_session.py", "judge.py", "node_agent.mjs"}
    page = (EXAMPLES / "README.md").read_text()
    assert all(f"[{name}]({name})" in page for name in names)


def test_agent_loop(tmp_path):
    lines = run(tmp_path, sys.executable, EXAMPLES / "agent_loop.py").splitlines()
    text = "\n".join(lines)
    assert lines[0].startswith("Read numbers")
    assert "[failed, exit 1; refused: socket(AF_PACKET, SOCK_RAW, 0); The program" in text
    assert "attempt 2: [cpu_limit; " in text
    assert "attempt 3: for '4 1 3 2' it printed '3.0', which is wrong" in text
    assert lines[-1] == "attempt 4: passes all 3 cases"


def test_judge(tmp_path, services, monkeypatch):
    monkeypatch.setenv("BRIG_URL", services.doors["unix"]["url"])
    rows = {line[:12].strip(): line[12:].split("  ") for line in
            run(tmp_path, sys.executable, EXAMPLES / "judge.py").splitlines()}
    rows = {name: [cell.strip() for cell in row if cell.strip()] for name, row in rows.items()}
    # Without control groups memory is limited for each process, which may handle the error itself.
    assert set(rows.pop("eats all")) <= {"memory limit", "runtime error"}
    assert rows == {
        "python": ["accepted"] * 3,
        "bash": ["accepted"] * 3,
        "c, int": ["accepted", "accepted", "wrong answer"],
        "c, broken": ["compile error"] * 3,
        "never ends": ["time limit"] * 3,
    }


def test_data_session(tmp_path):
    script = EXAMPLES / "data_session.py"
    lines = run(tmp_path, sys.executable, script, tmp_path / "made").splitlines()
    assert lines == ["rows: 365", "warmest day: 177", "mean: 10.0", "days with frost: 68",
                     f"saved {tmp_path}/made/out/plot.png"]
    assert (tmp_path / "made/out/plot.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_node_agent(tmp_path):
    lines = run(tmp_path, "node", EXAMPLES / "node_agent.mjs").splitlines()
    assert lines == ["stored 2", "call 1: ok", "thinking", "call 2: cancelled: KeyboardInterrupt",
                     "call 3: failed: OSError: [Errno 101] Network is unreachable",
                     "call 4: ok, value 7"]
