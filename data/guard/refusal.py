# SPDX-License-Identifier: Apache-2.0
# Refusals of the guard: before the program runs, and while it runs.


class GuardRefusal(Exception):
    """Found before the program's first instruction."""

    def __init__(self, rule, reason, remedy="", operator="", node=None, **more):
        Exception.__init__(self, reason)
        self.record = {
            "rule": rule,
            "reason": reason,
            "remedy": remedy,
            "operator_remedy": operator,
            "line": getattr(node, "lineno", 0) or 0,
            "column": getattr(node, "col_offset", -1) + 1,
        }
        self.record.update(more)


# At run time, as subclasses of standard exceptions; an uncaught one becomes part of the verdict.
class GuardImportError(ModuleNotFoundError):
    pass


class GuardAttributeError(AttributeError):
    pass


class GuardPermissionError(PermissionError):
    pass


# For programs they belong to no module.
for _kind in (GuardImportError, GuardAttributeError, GuardPermissionError):
    _kind.__module__ = "builtins"


class GuardOperations(BaseException):
    """Every loop and call from here on raises it again, so catching it does not help."""


GUARD_ERRORS = {
    GuardImportError: "import",
    GuardAttributeError: "attribute",
    GuardPermissionError: "call",
}


def guard_trim(error):
    """Removes the guard's own frames from a traceback."""
    own, first = guard_trim.__code__.co_filename, error.__traceback__
    while first and first.tb_frame.f_code.co_filename == own:
        first = first.tb_next
    trace = first
    while trace:
        later = trace.tb_next
        while later and later.tb_frame.f_code.co_filename == own:
            later = later.tb_next
        trace.tb_next = later
        trace = later
    error.__traceback__ = first


def guard_line_of(error, own):
    """Returns the place in the program's own text where it was raised."""
    line, trace = 0, error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename in own:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def guard_cut(text, size):
    return text if len(text) <= size else text[: size - 3] + "..."
