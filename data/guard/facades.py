# SPDX-License-Identifier: Apache-2.0
# What an import gives in `strict`: an object with the public names of the table and nothing else.
# No attribute of it is a module, unless that is another facade.


class GuardFacade:
    """Stands for a module; it cannot be changed."""

    # A program may call __init__ of anything: what it fills would be the program's to choose.
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

    # Nothing that copies or pickles goes further than the object itself.
    def __reduce_ex__(self, protocol):
        raise GuardPermissionError("modules cannot be copied")

    def __deepcopy__(self, memo):
        return self

    def __copy__(self):
        return self


def guard_facade(name, exports):
    facade = object.__new__(GuardFacade)
    facade.__dict__.update(exports)
    facade.__dict__[".name"] = name  # no __name__: by that `from` would find the real module
    return facade


class GuardModule:
    """What type() says of a facade: nothing leads from it to the guard."""

    __slots__ = ()

    def __init_subclass__(cls, **named):
        raise GuardPermissionError("modules are no classes to derive from")


GuardModule.__name__ = GuardModule.__qualname__ = "module"
GuardModule.__module__ = "builtins"


class GuardLocal:
    """A file of the program's own, with its public names as they are now."""

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


# C code of python's own imports these in the name of the program that called it.
GUARD_INTERNAL = {"_strptime", "_io", "time", "datetime", "math", "re", "decimal", "copyreg",
                  "numpy.core._methods", "numpy.core._dtype", "numpy.core._internal",
                  "numpy.core._exceptions", "numpy.core.arrayprint", "numpy.core._ufunc_config",
                  "collections.abc", "_locale", "warnings", "unicodedata"}


GUARD_IMPORT_DEPTH = 1000


class GuardImporter:
    def __init__(self, guard):
        self.guard, self.rules = guard, guard.rules
        self.real = __import__
        self.made, self.locals, self.prepared = {}, {}, set()
        import gc

        self.gc = gc

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
        if name in self.guard.local_codes:
            return self.local(name)
        if name in GUARD_INTERNAL:
            return self.real(name, globals, locals, fromlist, level)
        raise GuardImportError(self.rules.why_not(name)[0])

    def facade(self, name):
        if name in self.made:
            return self.made[name]
        # Its own code, and no other: also no destructor of the program's.
        paused, self.guard.paused = self.guard.paused, True
        collects = self.gc.isenabled()
        self.gc.disable()
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, GUARD_IMPORT_DEPTH))
        try:
            module = self.real(name, None, None, ["*"], 0)
        finally:
            self.guard.paused = paused
            sys.setrecursionlimit(limit)
            if collects:
                self.gc.enable()
        self.prepare()
        exports = {}
        for key in self.names(name, module):
            value = getattr(module, key, self)
            if value is not self and type(value) is not type(sys):
                exports[key] = value
        exports.update(self.guard.replacements(name))
        inner = name + "."
        for other in self.rules.table:
            if other.startswith(inner) and "." not in other[len(inner):]:
                if self.rules.is_module(other):
                    exports[other[len(inner):]] = self.facade(other)
        self.made[name] = facade = guard_facade(name, exports)
        return facade

    def prepare(self):
        """Whatever has imported them: other modules use these as well."""
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
            space = {"__name__": name, "__builtins__": self.guard.builtins}
            self.locals[name] = GuardLocal(name, space)
            exec(self.guard.local_codes[name], space)
        return self.locals[name]


def guard_prepare_enum(enum):
    """Names of members can be given as text: then they must be names of members."""
    kind = type(enum.Enum)
    create = kind._create_

    def checked(cls, class_name, names, *args, **more):
        if type(names) is str:
            names = names.replace(",", " ").split()
        names = dict(names) if hasattr(names, "keys") else list(names)
        for item in names:
            name = item if type(names) is dict or isinstance(item, str) else item[0]
            if type(name) is not str or name[:1] == "_":
                raise GuardAttributeError("a member cannot be called %r" % (name,))
        return create(cls, class_name, names, *args, **more)

    kind._create_ = checked


def guard_prepare_typing(typing):
    make = typing._make_nmtuple

    def checked(name, types, *args, **more):
        types = list(types.items() if hasattr(types, "items") else types)
        for field, _ in types:
            if type(field) is not str or field in GUARD_NO_ATTRIBUTES:
                raise GuardAttributeError("a field cannot be called %r" % (field,))
        return make(name, types, *args, **more)

    typing._make_nmtuple = checked


def guard_prepare_abc(guard):
    """A class that others are registered with is what patterns take them for."""
    kind = sys.modules["abc"].ABCMeta
    real, getframe = kind.register, sys._getframe

    def register(cls, subclass):
        code = getframe(1).f_code
        # Modules of the library do it while they are imported, which can be at any time.
        imports = code.co_name in ("<module>", "_call_with_frames_removed")
        if not guard.paused and (not imports or code.co_filename in guard.own):
            raise GuardPermissionError("classes cannot be registered in strict mode: derive them")
        return real(cls, subclass)

    kind.register = register


def guard_prepare_dataclasses(dataclasses):
    """Names of fields become code: only the module itself sets them."""
    kind, space = dataclasses.Field, vars(dataclasses)
    getframe, real = sys._getframe, kind.__setattr__

    def set_attribute(self, name, value):
        if getframe(1).f_globals is not space:
            raise GuardAttributeError("fields of data classes cannot be changed")
        real(self, name, value)

    def no_subclass(cls, **more):
        raise GuardPermissionError("nothing can be derived from fields of data classes")

    kind.__setattr__, kind.__init_subclass__ = set_attribute, classmethod(no_subclass)


def guard_prepare_copy(copy):
    """copy builds objects by methods that it asks the object for. It gets those of the class: what
    the program has among the attributes of an object, or answers by __getattr__, does not count.
    """
    real, missing, none = setattr, object(), object()

    def get(thing, name, default=missing):
        kind = thing if issubclass(type(thing), type) else type(thing)
        for base in kind.__mro__:
            if name in base.__dict__:
                found = base.__dict__[name]
                bind = getattr(type(found), "__get__", None)
                if not bind:
                    return found
                return bind(found, None, kind) if kind is thing else bind(found, thing, kind)
        if default is missing:
            raise AttributeError(name)
        return default

    def set_attribute(thing, name, value):
        if type(name) is not str or guard_is_dunder(name):
            raise GuardAttributeError("copy sets no attribute %r in strict mode" % (name,))
        real(thing, name, value)

    vars(copy).update(getattr=get, setattr=set_attribute,
                      hasattr=lambda thing, name: get(thing, name, none) is not none)


GUARD_PREPARE = {"copy": guard_prepare_copy, "dataclasses": guard_prepare_dataclasses, "enum": guard_prepare_enum,
                 "typing": guard_prepare_typing}
