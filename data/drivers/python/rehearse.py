# SPDX-License-Identifier: Apache-2.0
# Work that is done ahead, so that a clone need not: a first compilation, a whole run, a guarded
# one.

REHEARSALS = 16  # python specializes code that has run about eight times

WARM_UP = """
def squares(n):
    return [i * i for i in range(n)]

class Point:
    def __init__(self, x=0):
        self.x = x

try:
    raise ValueError(f"{Point(1).x!r} {3.5:.2f}")
except ValueError as error:
    print(error, {"a": (1, 2.5, None)}, sorted(squares(20), key=lambda x: -x), *map(str, [1]))
{"a": [1, 2.5, True, None, "x"]}
"""


def warm_up():
    """Pays the cost of an interpreter's first compilation, calls and output in advance."""
    before = set(sys.modules)
    stdout, sys.stdout = sys.stdout, io.TextIOWrapper(io.BytesIO())
    try:
        space = {"__builtins__": sys.modules["builtins"]}
        FunctionType(compile_program(WARM_UP, "<warm-up>", True), space)()
        encode(space[VALUE], [], VALUE_BYTES)
    finally:
        sys.stdout = stdout
    for name in set(sys.modules) - before:
        del sys.modules[name]


SHORT = b"""
def squares(n):
    return [i * i for i in range(n)]

x = squares(2)
print(f"{x}"[:0], end="")
x
"""


def rehearse(environment):
    """Does what every run does, and no more: in a clone, each page written to must be copied.

    It is done in the template, often enough for python to have specialized the code and bound its
    symbols, so that a clone need not write that; and in a clone before there is a request for it,
    unless the template's pages are pinned.
    """
    environment.replace(dict(environment.before))
    native.real_path(os.getcwd())
    ValuePipe(0)
    space = vars(main_module(""))
    list(native.program(compile_parts(SHORT, "", True), space))
    encode(space[VALUE], [], VALUE_BYTES)
    flush_streams()
    try:
        apply(BEGIN)
    except Cold:
        pass  # a run may have another environment
    ending.collect()


ORDER = '{"mode":"strict","operations":0,"recursion":0,"ask":0,"refuse":0,"score":0,"check":0,"value":0}'


def rehearse_guard(text):
    guard = Guard(ORDER, "/nowhere")
    code = guard.compile(graft(guard.look(text, ""), "", True), "")
    guard.make_builtins()
    space = vars(main_module(""))
    space["__builtins__"] = guard.builtins
    guard.record()
    list(native.program((code,), space))


def warm_guard():
    """Pays the cost of the guard's first use in advance."""
    if "Guard" not in globals():
        return  # the driver by itself
    import fcntl

    guard_detach()
    kept.append((guard_modules(), fcntl))
    for _ in range(REHEARSALS):
        rehearse_guard(SHORT)
