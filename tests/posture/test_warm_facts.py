# SPDX-License-Identifier: Apache-2.0
"""A cell that was made ahead and one that was made on request, compared from inside.

The same program prints everything that it can see of itself and its cell (`posture.c`), once in
each: it is an input file, which code in a language executes. Every line must be the same, except
for those that DIFFERENT lists with its reason; and a listed line that does not differ is an error
too. The layers that each result reports are compared as well.
"""

import difflib
import json
import os
import re
import shutil
import subprocess

import pytest
from test_posture import BRIG, ROOT, normal, program  # noqa: F401

# Allowed differences, by language: a pattern of lines, and why.
DIFFERENT = {
    "javascript": {
        r"[-+]rlimit cpu: .*": "the interpreter runs before its request's limit is known: the"
                               " ceiling; the limit itself is the warden's to watch",
        r"\+(file|content) /etc/brig.*": "the driver, with which it was started",
        r"[-+]mount: .* tmpfs .*": "room for the driver's file",
        r"[-+]space .*": "the same",
    },
}

# How code of each language becomes the program, without remains of its interpreter.
BECOME = {
    "python": ("python3", """\
import os, signal, sys
for number in (signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(number, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""),
    "bash": ("bash", 'exec "$@"\n'),
    "perl": ("perl", "exec { $ARGV[0] } @ARGV;\n"),
    "ruby": ("ruby", "exec [ARGV[0], ARGV[0]], *ARGV[1..]\n"),
    # It cannot; a child of it has the same walls.
    "javascript": ("node", "require('child_process').spawnSync(process.argv[2],"
                           " process.argv.slice(3), {stdio: 'inherit'})\n"),
}
KINDS = {"python": "cloned", "bash": "held", "perl": "held", "ruby": "held",
         "javascript": "pre-started"}


def facts(program, language, start, *options):
    env = dict(os.environ) if ROOT else {**os.environ, "BRIG_NO_CGROUP": "1"}
    words = [BRIG, "run", "--json", "--start", start, "--in", program, "--lang", language, *options,
             "-c", BECOME[language][1], "--", "/sandbox/posture", "one", "two words"]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=env,
                          timeout=60, stdin=subprocess.DEVNULL)
    result = json.loads(done.stdout)
    assert (result.get("status"), result.get("start")) == ("ok", start), done
    return result


def differences(cold, warm):
    """Lines of one that are not in the other, in order."""
    lines = difflib.unified_diff(normal(cold["stdout"]), normal(warm["stdout"]), "cold", "warm",
                                 lineterm="", n=0)
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def unexpected(lines, language):
    """Lines that are not listed, and patterns that no line matches."""
    patterns = DIFFERENT.get(language, {})
    unseen = [pattern for pattern in patterns
              if not any(re.fullmatch(pattern, line) for line in lines)]
    return unseen + [line for line in lines
                     if not any(re.fullmatch(pattern, line) for pattern in patterns)]


@pytest.mark.parametrize("language", BECOME, ids=[f"{name}-{KINDS[name]}" for name in BECOME])
@pytest.mark.parametrize("options", [[], ["--memory", "200M", "--processes", "40", "--timeout", "7s",
                                          "--file-size", "3M", "--disk", "9M", "--open-files", "77",
                                          "--env", "MINE=yes", "--env", "HOME=/tmp"]],
                         ids=["default", "limited"])
def test_the_same_walls(program, language, options):
    if not shutil.which(BECOME[language][0], path="/usr/bin:/bin"):
        pytest.skip(f"this host has no {language}")
    cold = facts(program, language, "cold", *options)
    warm = facts(program, language, "warm", *options)
    assert len(normal(warm["stdout"])) > 100
    assert unexpected(differences(cold, warm), language) == []
    for name in ("layers", "limits", "means", "policy", "runtime"):
        assert warm[name] == cold[name], name


def test_walls_can_differ(program):
    """The control: another limit, another variable, another directory are detected."""
    cold = facts(program, "python", "cold", "--file-size", "3M", "--env", "MINE=no")
    warm = facts(program, "python", "warm", "--file-size", "2M", "--env", "MINE=yes")
    found = "\n".join(differences(cold, warm))
    assert "-rlimit fsize: 3145728 3145728" in found and "+rlimit fsize: 2097152 2097152" in found
    assert "-env: MINE=no" in found and "+env: MINE=yes" in found
