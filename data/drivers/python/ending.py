# SPDX-License-Identifier: Apache-2.0
# The end of a clone's interpreter.


class Ending:
    """Ends the interpreter of a clone without destroying the template's objects.

    An interpreter that ends destroys every module and type that it has. In a clone that writes to
    nearly every page of the heap, which takes longer than most programs. The end is visible only
    for the program's own objects: its modules, and the objects that it has put into other modules.
    So these are destroyed, in the order in which an interpreter does it, and the rest is left to
    the kernel.

    It is the first function that is registered with atexit, hence the last that it calls: threads
    have been joined by then, and the program's own functions have run.
    """

    # Attributes of sys that an interpreter clears first, so that no traceback keeps objects alive.
    FORGOTTEN = (
        "path argv ps1 ps2 last_type last_value last_traceback last_exc path_hooks "
        "path_importer_cache meta_path __interactivehook__"
    ).split()

    def __init__(self, leave):
        import _weakref
        import gc

        known = set(sys.modules)
        import atexit

        if "atexit" not in known:
            del sys.modules["atexit"]  # the program may not have imported it

        self.leave, self.status, self.atexit = leave, None, atexit
        self.ref, self.collect = _weakref.ref, gc.collect
        self.function = self.end  # kept: it has to outlive its own registration
        if leave:
            atexit.register(self.function)

    def remember(self):
        """Records the current modules and names: they belong to the template."""
        self.spaces = {
            name: (vars(module), set(vars(module)))
            for name, module in sys.modules.items()
            if isinstance(module, type(sys))
        }
        self.functions = self.atexit._ncallbacks()

    def forget_functions(self):
        """All functions have run. Those of the program keep its module alive, with its open files.

        False: they stay, because atexit is still iterating over its list.
        """
        if self.atexit._ncallbacks() == self.functions:
            return True
        self.atexit._clear()
        return sys.version_info < (3, 14)

    def take(self, error):
        """Records how the program ended; rare cases end like a plain interpreter."""
        try:
            code = error.code if isinstance(error, SystemExit) else None if error is None else 1
        except BaseException:
            return  # a subclass with another meaning of `code`
        if code is None or type(code) is int and -(2**31) <= code < 2**31:
            self.status = (code or 0) & 0xFF
        elif isinstance(error, SystemExit) and type(code) is str:
            self.status = 1

    def modules_of_program(self):
        """Takes them out of sys.modules; returns weak references, in the order of their import."""
        left = []
        for name in ["__main__", *native.additions(sys.modules, self.spaces)]:
            module = sys.modules.pop(name, None)
            if isinstance(module, type(sys)):
                left.append(self.ref(module))
        return left

    def forget_additions(self):
        """Removes names that the program has added to the template's modules."""
        for space, names in native.changed(self.spaces):
            for name in native.additions(space, names):
                del space[name]

    @staticmethod
    def clear(space):
        """As an interpreter clears a module: names with one underscore first."""
        for early in (True, False):
            for name in list(space):
                if type(name) is str and name != "__builtins__" and space[name] is not None:
                    if not early or name[:1] == "_" and name[1:2] != "_":
                        space[name] = None

    def end(self):
        if self.status is None or not hasattr(self, "spaces"):
            return
        if not self.forget_functions():
            return
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except BaseException:
            return  # to be reported as an interpreter does, with its own status
        for name in self.FORGOTTEN:
            if name in sys.__dict__:
                sys.__dict__[name] = None
        for name in ("stdin", "stdout", "stderr"):
            sys.__dict__[name] = sys.__dict__["__" + name + "__"]
        self.collect()
        if sys.version_info >= (3, 10):
            sys.modules["io"] = None  # errors that are reported from here on cannot read the source
        left = self.modules_of_program()
        self.forget_additions()
        self.collect()
        for ref in reversed(left):
            if ref() is not None:
                self.clear(vars(ref()))
        self.collect()
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BaseException:
                self.status = 120
        self.leave(self.status)
