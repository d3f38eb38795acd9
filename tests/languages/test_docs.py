"""What README.md and docs/usage.md show is what one sees: the commands are run, in their order."""

import os
import re
import subprocess
from pathlib import Path

import pytest

BRIG = Path(os.environ.get("BRIG", "build/brig")).resolve()
TREE = Path(os.environ.get("BRIG_TREE", Path(__file__).parents[2]))
# What needs a place of the host's for itself, or takes its figures from the clock.
APART = ("http.server", "brig serve", "brig bench", "brig doctor", "execute python")
# What differs from host to host, and from one version of brig to the next.
FIGURES = [(r"\b[0-9a-f]{64}\b", "HASH"), (r"memory [\d.]+[KM]", "memory N"), (r"\b\d+\.\d+\.\d+\b", "VERSION"),
           (r"\b(line|steps?) \d+(, \d+)*", r"\1 N"), (r"cgroup[12]|systemd-scope", "GROUP"), (r"ABI \d+", "ABI N"),
           (r"(?m)^libx?32\n", ""), (r" +", " ")]


def commands(page):
    """Each command of a page, with what is printed behind it, by blocks."""
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text(), re.S | re.M):
        found = []
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif line.startswith("> ") and not found[-1][1]:
                found[-1] = (f"{found[-1][0]}\n{line[2:]}", [])
            else:
                found[-1][1].append(line)
        yield found


def plain(text):
    for pattern, word in FIGURES:
        text = re.sub(pattern, word, text)
    return text.rstrip("\n")


@pytest.mark.root
@pytest.mark.parametrize("name", ["README.md", "docs/usage.md"])
def test_pages_show_what_is_printed(name, tmp_path):
    shown = [command for block in commands(TREE / name) for command in block
             if not any(word in text for text, _ in block for word in APART)]
    assert len(shown) > 5
    script = "exec 2>&1\n" + "".join(f"{text}\nprintf '\\036'\n" for text, _ in shown)
    path = f"{BRIG.parent}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "HOME": str(tmp_path)}
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True, timeout=600, check=False)
    seen = done.stdout.split("\x1e")
    assert len(seen) == len(shown) + 1, done.stdout[-2000:]
    wrong = [(text, plain("\n".join(lines)), plain(printed))
             for (text, lines), printed in zip(shown, seen)
             if plain("\n".join(lines)) != plain(printed)]
    assert not wrong
