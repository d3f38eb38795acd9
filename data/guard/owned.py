# SPDX-License-Identifier: Apache-2.0
# What is the program's own, in `strict`: what its classes may derive from and define, and which
# objects it may change. The rest of python trusts its own classes: a program that changes one of
# them, or has python take another object for one, reaches attributes by names of its choice.

GuardFunction = type(lambda: 0)
# Of python's own modules: objects of these classes tell python which attributes to use.
GUARD_UNCHANGED = {"abc", "dataclasses", "enum", "functools", "types", "typing"}
GUARD_CHANGED = {"partial", "_lru_cache_wrapper", "SimpleNamespace"}


def guard_is_class(thing):
    return issubclass(type(thing), type)


def guard_check_change(thing, own, builtins):
    """Returns the thing, if the program may set and delete its attributes."""
    kind = type(thing)
    if guard_is_class(thing):
        if thing not in own:
            raise GuardAttributeError("class %s is not the program's own: it cannot be changed"
                                      % thing.__name__)
    elif kind is GuardFunction:
        if thing.__globals__.get("__builtins__") is not builtins:
            raise GuardAttributeError("functions of modules cannot be changed")
    elif kind.__module__ in GUARD_UNCHANGED and kind.__name__ not in GUARD_CHANGED:
        raise GuardAttributeError("objects of class %s cannot be changed" % kind.__name__)
    return thing


def guard_bind_init(thing, own):
    """X.__init__, for objects of the program's own classes alone."""
    if not guard_is_class(thing):
        if type(thing) not in own and not issubclass(type(thing), super):
            raise GuardAttributeError("__init__ is for objects of your own")
        return thing.__init__
    real = thing.__init__

    def init(it, *args, **named):
        if type(it) not in own:
            raise GuardAttributeError("__init__ is for objects of your own")
        return real(it, *args, **named)

    return init


# --- classes ---

def guard_check_bases(bases, own):
    """Classes alone. What is no class would be asked which class it stands for, or its own class
    would be called as a metaclass.
    """
    typing = sys.modules.get("typing")
    special = [it for it in (getattr(typing, "NamedTuple", None), getattr(typing, "TypedDict", None))
               if it is not None]
    real = []
    for base in bases:
        if guard_is_class(base):
            real.append(base)
        elif not any(base is it for it in special):
            real.extend(guard_entries(base, bases, own))
    for base in real:
        guard_check_base(base, typing)
    guard_check_fields(real, (), own)


def guard_entries(base, bases, own):
    kind = type(base)
    known = kind not in own and any("__mro_entries__" in it.__dict__ for it in kind.__mro__)
    inner = kind.__mro_entries__(base, bases) if known else ()
    if not known or not all(guard_is_class(it) for it in inner):
        raise GuardPermissionError("a class can only be derived from classes")
    return inner


def guard_check_base(base, typing):
    """Objects of these hand on questions for attributes to other objects; or make classes."""
    alias = getattr(typing, "_BaseGenericAlias", getattr(typing, "_GenericAlias", super))
    if issubclass(base, (super, type, type(list[int]) if sys.version_info >= (3, 9) else super, alias)):
        raise GuardPermissionError("nothing can be derived from %s in strict mode" % base.__name__)


class GuardMaking:
    """What a class statement calls for its metaclass: the real one, with a body that was looked at.
    Methods of the program's (__init_subclass__, __set_name__) have the class before the statement
    ends, so nothing is left to be mended then.
    """

    def __init__(self):
        self.made = []

    def __prepare__(self, name, bases, **named):
        self.meta = guard_meta(bases)
        return self.meta.__prepare__(name, bases, **named)

    def __call__(self, name, bases, space, **named):
        guard_check_slots(space)
        protocol = getattr(sys.modules.get("typing"), "Protocol", None)
        if "__match_args__" in space and any(it is protocol for it in bases):
            raise GuardAttributeError("a protocol has no __match_args__ in strict mode")
        for name_of, wrap in GUARD_ANSWERS.items():
            if name_of in space:
                space[name_of] = wrap(self.made, space[name_of])
        made = self.meta(name, bases, space, **named)
        self.made.append(made)
        return made


def guard_meta(bases):
    """The metaclass that python would choose."""
    winner = type
    for base in bases:
        kind = type(base)
        if issubclass(kind, winner):
            winner = kind
        elif not issubclass(winner, kind):
            raise TypeError("metaclass conflict: the bases have metaclasses of different kinds")
    return winner


def guard_check_slots(space):
    if "__slots__" not in space:
        return
    slots = space["__slots__"]
    if type(slots) is not dict:
        slots = space["__slots__"] = (slots,) if type(slots) is str else tuple(slots)
    for name in slots:
        if type(name) is not str or guard_is_dunder(name) and name not in ("__dict__", "__weakref__"):
            raise GuardAttributeError("a slot must have a plain name")


def guard_is_protocol(kind):
    """Is anything an instance that has the attributes?"""
    meta = getattr(sys.modules.get("typing"), "_ProtocolMeta", None)
    return meta is not None and issubclass(type(kind), meta) and kind.__dict__.get("_is_protocol")


def guard_annotations(cls):
    """The names that dataclass() makes fields of."""
    if sys.version_info >= (3, 14):
        import annotationlib

        return annotationlib.get_annotations(cls, format=annotationlib.Format.FORWARDREF)
    return type.__getattribute__(cls, "__dict__").get("__annotations__", {})


def guard_check_annotations(cls, check, own):
    """The names of fields become code. Those of a TypedDict are any text."""
    meta = getattr(sys.modules.get("typing"), "_TypedDictMeta", None)
    if meta is not None and issubclass(type(cls), meta):
        raise GuardPermissionError("dataclass() is not for a TypedDict")
    names = list(guard_annotations(cls))
    for name in names:
        if type(name) is not str or not name.isidentifier():
            raise GuardAttributeError("the name of a field must be a plain name")
        check(name)
    guard_check_fields((cls,), names, own)


# Bases that have no attributes which a field could stand for.
GUARD_PLAIN_BASES = {"object", "Generic", "Protocol", "ABC"}


def guard_check_fields(bases, names, own):
    """Fields of a data class, and of what is derived from it, are looked up by name: in patterns,
    by asdict() and by replace(). `names` are those that a class gets besides those of its bases.
    """
    fields = set(names).union(*(getattr(base, "__dataclass_fields__", ()) for base in bases))
    if not fields:
        return
    classes = {it for base in bases for it in type.__getattribute__(base, "__mro__")}
    if str in classes and fields & GUARD_FORMATS:
        raise GuardAttributeError("a field of a text cannot be called format")
    if all(it in own or it.__name__ in GUARD_PLAIN_BASES for it in classes):
        return
    for name in fields:
        if name[:1] == "_" or name in GUARD_NO_TABLE_ATTRIBUTES:
            raise GuardAttributeError("%s cannot be a field of a class that is derived from one of "
                                      "python's own" % name)


def guard_check_made(made):
    """What a pattern would take from whatever has the attributes of a protocol."""
    if "__match_args__" in made.__dict__ and guard_is_protocol(made):
        type.__setattr__(made, "__match_args__", ())


# What python asks an object about itself, by names with double underscores, is answered by its
# class: never by a method of the program's.
def guard_bound(function, thing):
    bind = getattr(type(function), "__get__", None)
    return bind(function, thing, type(thing)) if bind else function


def guard_getattribute(made, function):
    def __getattribute__(self, name):
        if not guard_is_dunder(name):
            return guard_bound(function, self)(name)
        if made and issubclass(type(self), made[0]):
            return super(made[0], self).__getattribute__(name)
        return object.__getattribute__(self, name)

    return __getattribute__


def guard_getattr(made, function):
    def __getattr__(self, name):
        if guard_is_dunder(name):
            raise AttributeError("%r object has no attribute %r" % (type(self).__name__, name))
        return guard_bound(function, self)(name)

    return __getattr__


GUARD_ANSWERS = {"__getattribute__": guard_getattribute, "__getattr__": guard_getattr}
