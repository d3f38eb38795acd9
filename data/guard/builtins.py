# SPDX-License-Identifier: Apache-2.0
# The builtins of `strict`, and the functions of modules that accept names of attributes as text.
import builtins as _guard_builtins

GUARD_PLAIN = """
    abs all any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod
    enumerate filter float format frozenset hash hex id input int isinstance issubclass iter len
    list map max memoryview min next object oct ord pow print property range repr reversed round
    set slice sorted staticmethod str sum super tuple zip aiter anext
    NotImplemented Ellipsis True False None __build_class__ __debug__
""".split()


class GuardType:
    """type() with one argument. In place of a metaclass it returns this object itself."""

    def __call__(self, *things):
        if len(things) != 1:
            raise GuardPermissionError("type() takes one argument in strict mode")
        thing = things[0]
        kind = type(thing)
        if kind is GuardFacade or kind is GuardLocal:
            return GuardModule
        return self if issubclass(kind, type) or kind is GuardType else kind

    def __instancecheck__(self, thing):
        return isinstance(thing, type)

    def __subclasscheck__(self, kind):
        return issubclass(kind, type)

    def __repr__(self):
        return "<class 'type'>"

    def __getitem__(self, item):
        return self  # type[int], in annotations

    def __or__(self, other):
        return object

    __ror__ = __or__
    __name__ = __qualname__ = "type"
    __slots__ = ()


class GuardExit:
    def __init__(self, name):
        self.text = "Use %s() to exit" % name

    def __repr__(self):
        return self.text

    def __call__(self, code=None):
        raise SystemExit(code)


def guard_text(name):
    if type(name) is not str:
        raise TypeError("attribute name must be string, not '%s'" % type(name).__name__)
    return name


def guard_formatter():
    from string import Formatter

    class Safe(Formatter):
        def __init__(self, functions):
            self.check, self.fetch = functions.check, functions.fetch

        def get_field(self, field_name, args, kwargs):
            import _string

            first, rest = _string.formatter_field_name_split(field_name)
            thing = self.get_value(first, args, kwargs)
            for is_attribute, key in rest:
                if is_attribute:
                    self.check(key)
                    thing = self.fetch(thing, key)
                else:
                    thing = thing[key]
            return thing, first

    return Safe


class GuardBuiltins:
    """Functions that close over the rules; the program can only call them."""

    def __init__(self, rules, declared, importer):
        self.rules, self.declared, self.own = rules, declared, set()
        self.formatter = None
        self.space = {name: getattr(_guard_builtins, name) for name in GUARD_PLAIN
                      if hasattr(_guard_builtins, name)}
        for name, value in vars(_guard_builtins).items():
            if isinstance(value, type) and issubclass(value, BaseException):
                self.space[name] = value
        self.space.update({
            "__import__": importer, "__name__": "builtins", "type": GuardType(),
            "getattr": self.make_getattr(), "hasattr": self.make_hasattr(),
            "setattr": self.make_setattr(), "delattr": self.make_delattr(),
            "vars": self.make_vars(), "dir": self.make_dir(),
            "exit": GuardExit("exit"), "quit": GuardExit("quit"),
        })
        self.space[GUARD_TYPE] = self.space["type"]
        self.space[GUARD_FETCH] = self.make_fetch()
        self.change = self.space[GUARD_OWN] = self.make_own()
        self.space["__build_class__"] = self.make_build_class()

    def check(self, name):
        reason = self.rules.attribute(guard_text(name), self.declared)
        if reason and name not in GUARD_READ:
            raise GuardAttributeError(reason[0])

    def make_build_class(self):
        """Records the program's own classes: it may use their private attributes."""
        build, own, space = _guard_builtins.__build_class__, self.own, self.space

        def build_class(body, name, *bases, **named):
            guard_check_bases(bases, own)
            made = build(body, name, *bases, metaclass=GuardMaking(own, space), **named)
            own.add(made)
            return made

        return build_class

    def make_own(self):
        """Returns the object if the program may change it; otherwise raises a refusal."""
        own, slow, space = self.own, guard_check_change, self.space

        def check(thing, name=""):
            return thing if type(thing) in own else slow(thing, own, space, name)

        return check

    def make_fetch(self):
        """fetch() with a cache for attributes of the program's classes: only if none of their other
        base classes has it, so that it cannot come from another class later.
        """
        good, real, slow, own = set(), getattr, self.fetch, self.own

        def fetch(thing, name):
            key = type(thing), name
            if key in good:
                return real(thing, name)
            value = slow(thing, name)
            if key[0] in own and name[0] == "_" and name != "__init__":
                if all(it in own or name not in it.__dict__ for it in key[0].__mro__):
                    good.add(key)
            return value

        return fetch

    def owned(self, thing, name):
        """Does the attribute belong to the program, and not to one of python's own classes?"""
        kind = type(thing)
        bases = kind.__mro__
        if issubclass(kind, super):
            kind, bases = thing.__self_class__, thing.__self_class__.__mro__
            bases = bases[bases.index(thing.__thisclass__) + 1 :]
        elif issubclass(kind, type):
            # Attributes of its metaclass are found last.
            kind, bases = thing, (*thing.__mro__, *bases)
        for base in bases:
            if name in base.__dict__:
                return base in self.own
        return kind in self.own

    def fetch(self, thing, name):
        """Returns a checked attribute: private ones only of the program's own classes, and
        str.format in its safe form.
        """
        if name == "__init__":
            return guard_bind_init(thing, self.own)
        if name[0] == "_" and name not in GUARD_PRIVATE and name not in GUARD_READ:
            if not self.owned(thing, name):
                raise GuardAttributeError("%s is private to python's own classes" % name)
            return getattr(thing, name)
        value = getattr(thing, name)
        return self.soften(name, value) if name in GUARD_FORMATS else value

    def soften(self, name, value):
        kind = type(value).__name__
        if kind == "builtin_function_or_method" and isinstance(value.__self__, str):
            return self.bind_format(name, str.__str__(value.__self__))
        if kind == "method_descriptor" and value.__objclass__ is str:
            return lambda text, *args, **named: self.bind_format(name, text)(*args, **named)
        return value

    def bind_format(self, name, text):
        if self.formatter is None:
            self.formatter = guard_formatter()(self)
        formatter = self.formatter
        if not isinstance(text, str):
            raise TypeError("format() needs a text")

        def format(*args, **named):
            return formatter.vformat(text, args, named)

        def format_map(mapping):
            return formatter.vformat(text, (), mapping)

        return format if name == "format" else format_map

    def make_getattr(self):
        def getattr(thing, name, *default):
            self.check(name)
            try:
                return self.fetch(thing, name)
            except AttributeError:
                if default:
                    return default[0]
                raise
        return getattr

    def make_hasattr(self):
        def hasattr(thing, name):
            if self.rules.attribute(guard_text(name), self.declared) and name not in GUARD_CALLED:
                return False
            return _guard_builtins.hasattr(thing, name)
        return hasattr

    def make_setattr(self):
        def setattr(thing, name, value):
            self.check(name)
            if name in GUARD_READ:
                raise GuardAttributeError("%s cannot be set" % name)
            _guard_builtins.setattr(self.change(thing, name), name, value)
        return setattr

    def make_delattr(self):
        def delattr(thing, name):
            self.check(name)
            if name in GUARD_READ:
                raise GuardAttributeError("%s cannot be deleted" % name)
            _guard_builtins.delattr(self.change(thing, name), name)
        return delattr

    def make_vars(self):
        def vars(*things):
            if len(things) != 1:
                raise GuardAttributeError("vars() needs an object in strict mode")
            thing = things[0]
            if isinstance(thing, (type, type(_guard_builtins), GuardFacade, GuardLocal)):
                raise GuardAttributeError("vars() is for objects of your own")
            if not isinstance(_guard_builtins.getattr(type(thing), "__flags__", 0), int) \
                    or not type(thing).__flags__ & (1 << 9):
                raise TypeError("vars() argument must have __dict__ attribute")
            private, found = type(thing) in self.own, {}
            for key, value in _guard_builtins.vars(thing).items():
                if type(key) is not str or guard_is_dunder(key):
                    continue
                if private:
                    found[key] = self.soften(key, value) if key in GUARD_FORMATS else value
                elif key[:1] != "_" and key not in GUARD_FORMATS \
                        and not self.rules.attribute(key, self.declared):
                    found[key] = value
            return found
        return vars

    def make_dir(self):
        def dir(*things):
            if len(things) != 1:
                raise GuardAttributeError("dir() needs an object in strict mode")
            thing = things[0]
            return [name for name in _guard_builtins.dir(thing) if name[:1] != "_"]
        return dir

    # --- of modules ---

    def make_attrgetter(self):
        def attrgetter(*names):
            paths = [guard_text(name).split(".") for name in names]
            for path in paths:
                for name in path:
                    self.check(name)

            def get(thing):
                found = []
                for path in paths:
                    at = thing
                    for name in path:
                        at = self.fetch(at, name)
                    found.append(at)
                return found[0] if len(found) == 1 else tuple(found)

            return get
        return attrgetter

    def make_methodcaller(self):
        def methodcaller(name, *args, **named):
            self.check(name)
            return lambda thing: self.fetch(thing, name)(*args, **named)
        return methodcaller

    def replacements(self, module):
        return {
            "operator": lambda: {"attrgetter": self.make_attrgetter(),
                                 "methodcaller": self.make_methodcaller()},
            "functools": lambda: guard_wrappers(self.own),
            "types": lambda: {"SimpleNamespace": GuardNamespace},
            "typing": lambda: guard_typing(self.space["type"]),
            "collections": lambda: {"namedtuple": guard_namedtuple(self.check, self.own)},
            "dataclasses": lambda: {"dataclass": guard_dataclass(self.check, self.own)},
        }.get(module, dict)()
