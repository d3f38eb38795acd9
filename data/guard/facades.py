# SPDX-License-Identifier: Apache-2.0
# The result of an import in `strict`: an object with the public names of the table and nothing
# else. None of its attributes is a module, except other facades.


class GuardFacade:
    """Represents a module; it cannot be changed."""

    # A program may call __init__ of any object: it could choose the content.
    def __init__(self, *given, **named):
        raise GuardAttributeError("modules cannot be changed in strict mode")

    def __init_subclass__(cls, **named):
        raise GuardPermissionError("modules are no classes to derive from")

    def __setattr__(self, name, *value):
        raise GuardAttributeError("modules cannot be changed in strict mode")

    __delattr__ = __setattr__

    def __getattr__(self, name):
        if guard_is_dunder(name):
            raise AttributeError(name)
        raise GuardAttributeError("module %s has no attribute %s in strict mode"
                                  % (self.__dict__[".name"], name))

    def __repr__(self):
        return "<module '%s'>" % self.__dict__[".name"]

    # Copying and pickling stop at the object itself.
    def __reduce_ex__(self, protocol):
        raise GuardPermissionError("modules cannot be copied")

    def __deepcopy__(self, memo):
        return self

    def __copy__(self):
        return self


def guard_facade(name, exports):
    facade = object.__new__(GuardFacade)
    facade.__dict__.update(exports)
    facade.__dict__[".name"] = name  # no __name__: `from` would find the real module by it
    return facade


class GuardModule:
    """The result of type() for a facade: it has no reference to the guard."""

    __slots__ = ()

    def __init_subclass__(cls, **named):
        raise GuardPermissionError("modules are no classes to derive from")


GuardModule.__name__ = GuardModule.__qualname__ = "module"
GuardModule.__module__ = "builtins"


class GuardLocal:
    """A file of the program itself, with its current public names."""

    def __init__(self, name, space):
        try:
            object.__getattribute__(self, "_space")
        except AttributeError:
            object.__setattr__(self, "_space", space)
        else:
            raise GuardAttributeError("modules cannot be changed in strict mode")

    def __getattribute__(self, name):
        space = object.__getattribute__(self, "_space")
        if name == "__dict__":
            return {key: it for key, it in space.items() if key[:1] not in "_."}
        if type(name) is str and name[:1] not in "_." and name in space:
            return space[name]
        raise AttributeError(name)

    def __setattr__(self, name, *value):
        raise GuardAttributeError("modules cannot be changed in strict mode")

    __delattr__ = __setattr__


# C code of python imports these on behalf of the program that called it.
GUARD_INTERNAL = {"_strptime", "_io", "time", "datetime", "math", "re", "decimal", "copyreg",
                  "numpy.core._methods", "numpy.core._dtype", "numpy.core._internal",
                  "numpy.core._exceptions", "numpy.core.arrayprint", "numpy.core._ufunc_config",
                  "collections.abc", "_locale", "warnings", "unicodedata"}


GUARD_IMPORT_DEPTH = 1000
# Modules whose import needs operations that the hook refuses.
GUARD_AHEAD = ("numpy", "pandas")


class GuardImporter:
    """Has only the rules of the guard, because a program gets this object."""

    def __init__(self, rules, local_codes):
        self.rules, self.local_codes = rules, local_codes
        self.real = __import__
        self.made, self.locals, self.prepared = {}, {}, set()

    def begin(self, functions):
        self.builtins, self.replacements = functions.space, functions.replacements

    def __call__(self, name, globals=None, locals=None, fromlist=(), level=0):
        if type(name) is not str or level:
            raise GuardImportError("there is no package to import from")
        if self.rules.is_module(name):
            whole = name if fromlist else name.partition(".")[0]
            if not self.rules.is_module(whole):
                raise GuardImportError("module %s is not among the allowed ones" % whole)
            return self.facade(whole)
        if name == "__future__" and fromlist:
            return self.real(name, None, None, fromlist, 0)
        if name in self.local_codes:
            return self.local(name)
        if name in GUARD_INTERNAL:
            return self.real(name, globals, locals, fromlist, level)
        raise GuardImportError(self.rules.why_not(name)[0])

    def ahead(self, names):
        """Imports those of these modules that the hook would block: before the program begins,
        while the hook is disabled.
        """
        for name in sorted(names):
            if name.partition(".")[0] in GUARD_AHEAD and self.rules.is_module(name):
                try:
                    self.load(name)
                except Exception:
                    pass  # the program gets the error when it reaches its import

    def load(self, name):
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, GUARD_IMPORT_DEPTH))
        try:
            module = self.real(name, None, None, ["*"], 0)
        finally:
            sys.setrecursionlimit(limit)
        self.prepare()
        return module

    def facade(self, name):
        if name in self.made:
            return self.made[name]
        module = self.load(name)
        exports = {}
        for key in self.names(name, module):
            value = getattr(module, key, self)
            if value is not self and type(value) is not type(sys):
                exports[key] = value
        exports.update(self.replacements(name))
        inner = name + "."
        for other in self.rules.table:
            if other.startswith(inner) and "." not in other[len(inner):]:
                if self.rules.is_module(other):
                    exports[other[len(inner):]] = self.facade(other)
        self.made[name] = facade = guard_facade(name, exports)
        return facade

    def prepare(self):
        """Applies to every import of them: other modules use these as well."""
        for name, prepare in GUARD_PREPARE.items():
            if name in sys.modules and name not in self.prepared:
                self.prepared.add(name)
                prepare(sys.modules[name])

    def names(self, name, module):
        names = self.rules.exports(name)
        if names is not None:
            return names
        without = self.rules.table[name].get("without", [])
        return [key for key in dir(module) if key[:1] != "_" and key not in without]

    def local(self, name):
        if name not in self.locals:
            space = {"__name__": name, "__builtins__": self.builtins}
            self.locals[name] = GuardLocal(name, space)
            exec(self.local_codes[name], space)
        return self.locals[name]
