# SPDX-License-Identifier: Apache-2.0
# Runs a program in an existing interpreter, as `python3 SOURCE ARGUMENTS` would.
#
# It is used in three ways:
#  - In a template the text is executed with `serve` and `preload` among its globals. The modules
#    are imported, the heap is frozen, serve() is called. It returns only in clones, one for each
#    run, with a function that waits for the run's arguments, environment and value descriptor; and
#    in a few children before, which rehearse.
#  - As a script, `python3 python.py SOURCE ARGUMENTS`, for a cold run that wants a value: the value
#    goes to descriptor 3.
#  - In a held cell of the agent's, with WAITING among its globals: see waiting.py.
#
# The program must not find the driver below it: not in tracebacks, not in inspect.stack(), not by
# the stack levels of warnings, not in the depth at which recursion ends. When an interpreter
# reports an uncaught exception, it calls the hook with no frame left. So the driver ends with an
# exception, and the hook is made to run the program: see Index. That way the interpreter also ends
# as usual: threads are joined, atexit's functions run, objects are finalized, files are flushed.
#
# The value is that of the last statement, if that is an expression and not None, or else that of
# the global `result`. It must be possible to write it as JSON.
#
# Where the code is guarded, the texts of data/guard come before this one, and an assignment for
# them before the source's path. Then nothing of the program runs before the guard has checked it.
#
# Its parts are joined to one text when brig is built, in the order of the Makefile's list: each but
# the last only defines. One text, because a program must not find a module of the driver, and
# because a starting cell then opens fewer files.
#
# Cases that a running interpreter cannot imitate (a source that does not compile, PYTHON*
# variables, another character set) are left to a new interpreter, which replaces it by exec: see
# Cold.
import io
import os
import sys

SCRIPT_VALUE_FD = 3
HIGH_FD = 255  # above the program's own files, below any reasonable limit
GUARD_WORD = "/etc/brig/guard"

# Names in the program's globals that no source text can spell.
VALUE, ERROR, CAUGHT = ".value", ".error", ".caught"

FunctionType = type(lambda: 0)
MethodType = type(os.environ.get)

native = None  # in a template: the extension
ending = None  # in a template: an Ending
kept = []  # what clones need not take apart
skipped = []  # what could not be imported, for who started the template
guarding = None  # the program's Guard, if it has one: see data/guard/program.py
reporting = None  # and where that reports to


class Cold(Exception):
    """A new interpreter has to do it."""
