# SPDX-License-Identifier: Apache-2.0
# After the program's last line: output and actions of an interpreter at its end.


class DieOfInterrupt:
    """In sys this is one of the last objects to be deleted. The interpreter ends a little later."""

    def __init__(self, guard):
        self.rest = guard and guard.rest

    def __del__(self, kill=os.kill, pid=os.getpid):
        if self.rest:
            self.rest(True)  # not before: destructors of the program come first
        kill(pid(), 2)


def flush_streams():
    for name in ("stderr", "stdout"):
        try:
            getattr(sys, name).flush()
        except BaseException:
            pass  # a failed write is repeated, and reported, at the very end


def report(error):
    """Handles an uncaught exception as the interpreter does."""
    kind, trace = type(error), error.__traceback__
    sys.last_type, sys.last_value, sys.last_traceback = kind, error, trace
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    if not hasattr(sys, "excepthook"):
        sys.stderr.write("sys.excepthook is missing\n")
        sys.__excepthook__(kind, error, trace)
        return
    try:
        sys.excepthook(kind, error, trace)
        return
    except SystemExit:
        raise
    except BaseException as other:
        second = other.with_traceback(other.__traceback__.tb_next)
    sys.stderr.write("Error in sys.excepthook:\n")
    sys.__excepthook__(type(second), second, second.__traceback__)
    sys.stderr.write("\nOriginal exception was:\n")
    sys.__excepthook__(kind, error, trace)


def conclude(module, pipe):
    """After the program's last line. Raises the SystemExit that ends the interpreter."""
    space = vars(module)
    error, value = space.pop(ERROR, None), space.pop(VALUE, None)
    flush_streams()
    if ending:
        ending.take(error)
    if guarding:
        conclude_guarded(error)
    if error is None:
        if pipe and (not guarding or guarding.order["value"]):
            try:
                pipe.send(space.get("result") if value is None else value)
            except BaseException:
                pass  # then there is none
        raise SystemExit
    if issubclass(type(error), SystemExit):
        raise error
    try:
        report(error)
    except SystemExit as other:
        if ending:
            ending.take(other)
        raise
    if type(error) is KeyboardInterrupt:
        if ending:
            ending.status = None
        sys.__dict__[".interrupt"] = DieOfInterrupt(guarding)
        raise SystemExit(130)
    raise SystemExit(1)
