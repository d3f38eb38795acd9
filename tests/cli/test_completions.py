# SPDX-License-Identifier: Apache-2.0
"""Completions: that of bash is asked as bash asks it, those of other shells are read."""

import json
import pathlib
import re
import shlex
import shutil
import subprocess

import pytest
from conftest import BRIG, run_brig

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DIRECTORY = ROOT / "completions"
OPTION = re.compile(r"^  (-[-a-z]+)", re.M)
ASK = r"""
. "$1"
brig() { "$BRIG" "$@"; }
shift
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_brig
printf '%s\n' "${COMPREPLY[@]}"
"""


def help_of(*words):
    return run_brig(*words, "--help").stdout.decode()


def commands():
    return re.findall(r"^  ([a-z]+) ", help_of(), re.M)


def lines():
    """Each command with options, and each action that has its own."""
    for command in commands():
        if command in ("help", "version"):
            continue
        yield (command,)
        text = help_of(command)
        if "ACTION --help" in text:
            for action in dict.fromkeys(re.findall(rf"brig {command} \[?([a-z]+)", text)):
                yield command, action


def options_of(line):
    return set(OPTION.findall(help_of(*line)))


def ask(*words, where=None):
    """The words that bash would offer after these; the last one is being typed."""
    done = subprocess.run(["bash", "--norc", "-c", ASK, "bash", str(DIRECTORY / "brig.bash"), "brig", *words],
                          capture_output=True, text=True, check=True, cwd=where,
                          env={"PATH": "/usr/bin:/bin", "BRIG": str(pathlib.Path(BRIG).resolve())})
    assert not done.stderr
    return set(done.stdout.split())


def test_lines_are_found():
    found = list(lines())
    assert ("run",) in found and ("policy", "learn") in found and len(found) > 15


@pytest.mark.parametrize("line", list(lines()), ids=" ".join)
def test_bash_offers_the_options_of_a_command(line):
    assert ask(*line, "-") == options_of(line)


def test_bash_offers_commands_and_actions():
    assert ask("") == {*commands(), "--help", "--version"}
    assert ask("he") == {"help"}
    assert ask("policy", "l") == {"list", "learn"}
    assert ask("policy", "--json", "sh") == {"show"}
    assert ask("token", "re") == {"revoke"}
    assert ask("audit", "ar") == {"archive"}
    assert ask("queue", "") > {"show", "release", "drop"}
    assert ask("help", "au") == {"audit"}


def test_bash_completes_values(tmp_path):
    (tmp_path / "code.py").touch()
    (tmp_path / "data").mkdir()
    languages = {r["name"] for r in json.loads(run_brig("runtimes", "--json").stdout)["runtimes"]}
    policies = {line.split()[0] for line in run_brig("policy", "list").stdout.decode().splitlines()}

    assert ask("run", "--lang", "") >= languages and "python" in languages
    assert ask("policy", "check", "--language", "pyth") == {"python"}
    for command in ("run", "explain", "bench", "doctor", "mcp", "token"):
        assert ask(command, "--policy", "") == policies
    assert ask("policy", "show", "st") == {"strict"}
    assert ask("run", "--guard", "") == {"off", "imports", "strict"}
    assert ask("run", "--guard", "=", "im") == {"imports"}
    assert ask("run", "--start", "") == {"auto", "cold", "warm"}
    assert ask("serve", "--log-level", "") == {"error", "warning", "notice", "info", "debug"}
    for option in ("--ro", "--rw", "--out-dir", "--config"):
        assert ask("run", option, "", where=tmp_path) == {"data"}
    for line in (("run", "--in"), ("run", "--audit"), ("policy", "learn", "--extend"),
                 ("policy", "learn", "--stdin"), ("serve", "--tokens"), ("audit", "--file"),
                 ("audit", "--key"), ("audit", "--archive"), ("ps", "--socket"),
                 ("policy", "learn", "--out")):
        assert ask(*line, "", where=tmp_path) == {"code.py", "data"}
    for option in ("-c", "--timeout", "--memory", "--net", "--env", "--out", "--tenant"):
        assert ask("run", option, "", where=tmp_path) == set()


def test_bash_completes_operands(tmp_path):
    (tmp_path / "code.py").touch()
    for line in (("run",), ("explain",), ("bench",), ("policy", "check"), ("policy", "learn")):
        assert ask(*line, "co", where=tmp_path) == {"code.py"}
    assert ask("run", "--", "bas") >= {"bash"}
    assert ask("serve", "co", where=tmp_path) == set()


def zsh_options():
    """The options of each command and action, by the functions of the file."""
    text = (DIRECTORY / "_brig").read_text()
    found = {}
    for name, body in re.findall(r"^_brig_([a-z]+)\(\) \{\n(.*?)^\}", text, re.M | re.S):
        parts = re.split(r"^\t\t([a-z]+)\)\n", body, flags=re.M)
        found[(name,)] = parts[0]
        found.update({(name, action): part for action, part in zip(parts[1::2], parts[2::2])})
    return {line: {m.group(1) for spec in shlex.split(body)
                   if (m := re.match(r"\*?(--?[a-z][-a-z]*)=?\[", spec))}
            for line, body in found.items()}


def fish_options():
    found = {}
    for text in (DIRECTORY / "brig.fish").read_text().splitlines():
        # fish escapes a quote within quotes as \', unlike sh.
        words = shlex.split(text.replace("\\'", "'\\''")) if text.startswith("complete") else []
        if "-n" not in words or "__fish_use_subcommand" in words:
            continue
        line = tuple(re.findall(r"(?<!not )__fish_seen_subcommand_from ([a-z]+)", words[words.index("-n") + 1]))
        for flag, dashes in (("-l", "--"), ("-s", "-"), ("-o", "-")):
            if flag in words:
                found.setdefault(line, set()).add(dashes + words[words.index(flag) + 1])
    return found


@pytest.mark.parametrize("line", list(lines()), ids=" ".join)
def test_zsh_and_fish_have_the_options_of_a_command(line):
    assert zsh_options()[line] == options_of(line)
    assert fish_options()[line] == options_of(line)


def test_shells_that_are_here_can_read_their_files():
    for shell, option, name in (("bash", "-n", "brig.bash"), ("zsh", "-n", "_brig"),
                                ("fish", "--no-execute", "brig.fish")):
        if shutil.which(shell):
            done = subprocess.run([shell, option, str(DIRECTORY / name)], capture_output=True, check=False)
            assert done.returncode == 0, done.stderr
