# SPDX-License-Identifier: Apache-2.0
"""The console blocks of a page: its commands, their output, and whether the page shows
that output."""

import os
import re
import signal
import subprocess

SEPARATOR = "\x1e"
# Processes that a page starts in the background end with its shell.
BEGINNING = "exec 2>&1\ntrap 'jobs=$(jobs -p); [ -z \"$jobs\" ] || kill $jobs; wait' EXIT\n"
# The next command sees the exit status of this one.
ENDING = "\n{ console_status=$?; printf '\\036'; (exit $console_status); }\n"


def commands(page):
    """Each command of a page, with the output shown below it, by blocks."""
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text(), re.S | re.M):
        found = []
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif (line == ">" or line.startswith("> ")) and not found[-1][1]:
                found[-1] = (f"{found[-1][0]}\n{line[2:]}", [])
            else:
                found[-1][1].append(line)
        yield found


def run(texts, directory, brig, timeout=600):
    """The output of each command, when one shell runs them all in order in the directory."""
    script = BEGINNING + "".join(text + ENDING for text in texts)
    env = {**os.environ, "PATH": f"{brig.parent}:{os.environ['PATH']}", "HOME": str(directory)}
    with subprocess.Popen(["bash", "-c", script], cwd=directory, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True, start_new_session=True) as shell:
        try:
            printed, _ = shell.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(shell.pid, signal.SIGKILL)
            printed, _ = shell.communicate()
    seen = printed.split(SEPARATOR)
    assert len(seen) == len(texts) + 1, printed[-2000:]
    return seen[:-1]


def matches(lines, printed):
    """Whether this was printed: "..." is any text within a line, and any lines where it is alone."""
    pattern = ""
    for line in lines:
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += r"[^\n]*".join(re.escape(part) for part in line.split("...")) + r"\n"
    if printed and not printed.endswith("\n"):
        printed += "\n"
    return re.fullmatch(pattern, printed) is not None
