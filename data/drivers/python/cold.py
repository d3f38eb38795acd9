# SPDX-License-Identifier: Apache-2.0
# A clone that must become a new interpreter, and takes the guard along.

# Runs the driver's text, which comes by a descriptor, in a new interpreter.
AGAIN = (
    "import sys; t = open(int(sys.argv.pop(1)), 'rb').read(); "
    "exec(compile(t, '<brig>', 'exec'), {'__name__': 'brig.driver', 'text': t})"
)


def exec_guarded(program, words, entries, value_fd, session):
    """Starts a new interpreter with the same driver in it: guarded code never runs without it."""
    if value_fd != SCRIPT_VALUE_FD:
        os.dup2(value_fd, SCRIPT_VALUE_FD)
    else:
        os.set_inheritable(value_fd, True)
    text = globals()["text"]
    try:
        fd = os.memfd_create("driver")
    except OSError:
        fd = os.open("/tmp", os.O_TMPFILE | os.O_RDWR, 0o600)
    view = memoryview(text)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    os.set_inheritable(fd, True)
    alone = ["-I", "-u", "-B"] if '"mode":"strict"' in words[-1 if session else 1] else ["-s"]
    os.execve(program, [program, *alone, "-c", AGAIN, str(fd), *words], entries)
