# SPDX-License-Identifier: Apache-2.0
"""A python that has waited in a held cell: the same results, and the same walls, as one that is new."""

import re

import pytest

STARTS = ("cold", "warm")


def both(held, code, *options, **more):
    """The same program in a new cell and in one that was made ahead."""
    seen = [held.python(code, *options, "--start", how, **more) for how in STARTS]
    assert [it["start"] for it in seen] == list(STARTS), seen
    return [[it[key] for key in ("status", "exit_code", "stdout", "stderr")] for it in seen]


@pytest.mark.parametrize("code, options", [
    ("import sys; print(sys.argv, sys.orig_argv, sys.path, sys.flags, __name__, __file__, __spec__, "
     "sorted(globals()), sys.modules['__main__'].__file__)", ()),
    ("import os\nprint(sorted(os.environ.items()), os.getcwd(), os.listdir('.'), "
     "os.system('echo $A $B; export -p'))", ("--env", "A=b c", "--env", "B=")),
    ("print(open('/proc/self/cmdline').read(), sorted(__import__('os').listdir('/proc/self/fd')))", ()),
    ("def f(x):\n    return 1 / x\n\nf(0)\n", ()),
    ("print(1\n", ()),  # another interpreter has to report it
    ("import sys; sys.exit('a message')", ()),
    ("import atexit; atexit.register(print, 'end'); print(input())", ()),
    ("import time, locale, os; print(time.tzname, locale.getpreferredencoding(), os.environ['LC_ALL'])",
     ("--env", "TZ=UTC-3", "--env", "LC_ALL=C")),
    ("import os, sys; print(hash('a'), sys.flags.hash_randomization)", ("--env", "PYTHONHASHSEED=3")),
], ids=lambda it: None if isinstance(it, tuple) else re.sub(r"\W+", "-", it)[:30])
def test_the_same(held, code, options):
    cold, warm = both(held, code, *options, stdin=b"line\n")
    cold, warm = ([re.sub(r"0x[0-9a-f]+", "0x", text) if isinstance(text, str) else text for text in it]
                  for it in (cold, warm))
    assert cold == warm


def test_a_file_with_arguments(held, tmp_path):
    path = tmp_path / "named.py"
    path.write_text("import sys\nprint(__file__, sys.argv, sys.path[0])\n1 / 0\n")
    seen = [held.result("--start", how, path, "--", "a", "") for how in STARTS]
    assert seen[1]["start"] == "warm"
    cold, warm = ([it[key] for key in ("exit_code", "stdout", "stderr")] for it in seen)
    assert cold == warm and "['/sandbox/code.py', 'a', '']" in warm[1]


def test_no_trace_of_its_script(held):
    """The program finds neither the script that waited nor an object of it."""
    code = """
import gc, os, sys, types
def text_of(it):
    return isinstance(it, types.FunctionType) and it.__globals__.get("WAITING") is not None
frames = [it for it in gc.get_objects() if isinstance(it, types.FrameType)]
print(sorted(os.listdir(".")), "WAITING" in globals(), hasattr(sys, "last_value"),
      sys._getframe().f_back, open("code.py").read().startswith("\\nimport gc"),
      [sorted(it.f_locals) for it in frames if it.f_code.co_name in ("be_waiting", "receive_order")
       and it.f_locals],
      sys.excepthook is sys.__excepthook__)
"""
    cold, warm = both(held, code)
    assert cold == warm


def test_nothing_is_shared(held):
    code = ("import random, uuid, tempfile, os; print(hash('a'), random.random(), uuid.uuid4(), "
            "next(tempfile._get_candidate_names()), os.urandom(4))")
    first, second = (held.python(code, "--start", "warm")["stdout"].split(" ", 4) for _ in range(2))
    assert len(first) == 5 and not set(first) & set(second), (first, second)


def test_the_agent_is_out_of_reach(held):
    """It is the parent of a process that ran before the program did; that gives the program nothing."""
    code = """
import os
def tries(what, *words):
    try:
        return bool(what(*words))
    except OSError as error:
        return error.errno
print(tries(os.listdir, "/proc/1/fd"), tries(open, "/proc/1/mem", "rb"), tries(os.kill, 1, 9),
      sorted(os.listdir("/proc/self/fd")), tries(os.write, 3, b"w"), tries(os.fstat, 4))
"""
    if held.emulated:
        code = code.replace("tries(os.kill, 1, 9)", "0")  # the sentry lets it: the run ends as an error
    cold, warm = both(held, code)
    assert cold == warm and cold[0] == "ok", (cold, warm)


def test_limits_of_processes_and_files(held):
    code = """
import os, resource
made = 0
try:
    for _ in range(50):
        if os.fork() == 0:
            import time
            time.sleep(100)
        made += 1
except OSError:
    pass
try:
    open("big", "wb").write(bytes(1 << 20))
except OSError as error:
    print(error.errno)
print(made < 20, [resource.getrlimit(it) for it in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE,
                                                    resource.RLIMIT_CORE)])
"""
    limits = ("--processes", "9", "--open-files", "50", "--file-size", "64K")
    cold, warm = both(held, code, *limits)
    assert cold == warm and "27\nTrue [(50, 50), (65536, 65536)" in warm[2], (cold, warm)


def test_time_before_the_program_is_free(held):
    """The start of the interpreter took longer than all of this program, and is not in its figures."""
    result = held.python("import time; print(time.process_time() * 1000)", "--start", "warm")
    assert result["start"] == "warm" and result["status"] == "ok"
    if not held.emulated:  # there the sentry's own time counts
        assert result["usage"]["cpu_ms"] < float(result["stdout"]), result


def test_a_policy_that_watches(held, of):
    """The record includes the start of the interpreter, so that does not wait."""
    if held.emulated or held.kind == "vm":
        return  # watches nothing
    from conftest import POLICIES
    watching = of(f"waiting-{held.name}", {**POLICIES[held.name], "monitor": {"calls": ["execve"]}})
    seen = [watching.python("import os; os.system('true')", "--start", how) for how in STARTS]
    assert seen[1]["start"] == "warm" and seen[1]["event_counts"]["call.watched"]
    assert seen[0]["event_counts"] == seen[1]["event_counts"], seen
