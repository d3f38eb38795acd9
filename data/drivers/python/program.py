# SPDX-License-Identifier: Apache-2.0
# Running the program, with no frame of the driver below it.

held = []  # the program's code, its module, and where the value goes


def begin(_):
    # The program must not see objects of the driver's frames.
    trace = sys.last_traceback
    while trace:
        trace.tb_frame.clear()
        trace = trace.tb_next
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        sys.__dict__.pop(name, None)
    sys.excepthook = sys.__excepthook__
    parts, space = held.pop(0), vars(held[0])
    if native:
        return native.program(parts, space)
    # Called without arguments, a module's code has its globals for locals. An iterator that has
    # reached its sentinel releases the function, hence the globals: no reference of the driver
    # keeps the program's objects alive when the interpreter finalizes them.
    return iter(FunctionType(parts[0], space), None)


def end(stages):
    try:
        conclude(held.pop(0), held.pop())
    finally:
        if stages[1] and ending:
            ending.atexit.unregister(ending.function)
        sys.settrace(stages[1])


class Index(type):
    """The hook is `range`, which is called with an exception's type and asks that for its index: a
    list of the results of a chain of iterators, of which the first is the program.

    No link of it is a python function, and since python 3.9 none counts as a level of recursion.
    """

    __index__ = MethodType(
        list,
        map(
            end,
            zip(
                map(list, map(begin, [None])),
                # A tracer that the program leaves set must see the interpreter end, but not the
                # driver.
                iter(sys.gettrace, held),
                map(sys.settrace, [None]),
                map(sys.setprofile, [None]),
            ),
        ),
    )


class Program(BaseException, metaclass=Index):
    """The exception by which the driver leaves all its frames."""


def main_module(source):
    loader = sys.modules["_frozen_importlib_external"].SourceFileLoader
    module = type(sys)("__main__")
    module.__loader__ = loader("__main__", source)
    module.__annotations__ = {}
    module.__builtins__ = sys.modules["builtins"]
    module.__file__ = source
    module.__cached__ = None
    return module


def start(argv, options, own_path, pipe):
    """Makes this interpreter one that was started with argv, and runs the program."""
    source = argv[0]
    if sys.path and sys.path[0] == own_path:
        real = native and native.real_path(source) or os.path.realpath(source)
        sys.path[0] = real.rpartition("/")[0] or "/"
        sys.path_importer_cache.pop(sys.path[0], None)
    sys.argv[:] = argv
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = options + argv
    parts = load_guarded(source, pipe) if guarding else load_program(source, pipe)
    sys.modules["__main__"] = module = main_module(source)
    held[:] = [parts, module, pipe]
    sys.excepthook = range
    if guarding:
        guarding.begin(source, module)
    raise Program
