# SPDX-License-Identifier: Apache-2.0
# Ownership in `strict`: which bases and definitions the program's classes may have, and which
# objects it may change. The rest of python trusts its own classes: a program that changes one of
# them, or makes python mistake another object for one, reaches attributes by names of its choice.

GuardFunction = type(lambda: 0)
# Classes of python's own modules whose objects determine which attributes python uses.
GUARD_UNCHANGED = {"abc", "dataclasses", "enum", "functools", "types", "typing"}
GUARD_CHANGED = {"partial", "_lru_cache_wrapper", "SimpleNamespace"}


def guard_is_class(thing):
    return issubclass(type(thing), type)


def guard_is_own(kind, own):
    """Is it a class of the program, or one that python has derived from it, as Enum and dataclass()
    do?
    """
    return kind in own or not own.isdisjoint(kind.__mro__)


def guard_check_change(thing, own, builtins, name=""):
    """Returns the object, if the program may set and delete its attributes."""
    kind = type(thing)
    if guard_is_class(thing):
        if thing not in own:
            raise GuardAttributeError("class %s is not the program's own: it cannot be changed"
                                      % thing.__name__)
    elif kind is GuardFunction:
        if thing.__globals__.get("__builtins__") is not builtins:
            raise GuardAttributeError("functions of modules cannot be changed")
    elif guard_is_own(kind, own):
        return thing
    elif kind.__module__ in GUARD_UNCHANGED and kind.__name__ not in GUARD_CHANGED:
        raise GuardAttributeError("objects of class %s cannot be changed" % kind.__name__)
    elif kind.__name__[:5] == "Guard" and not issubclass(kind, BaseException):
        raise GuardAttributeError("it cannot be changed")
    elif name[:1] == "_":
        raise GuardAttributeError("%s is private to python's own classes" % name)
    return thing


def guard_bind_init(thing, own):
    """X.__init__, only for objects of the program's own classes."""
    it = thing.__self__ if issubclass(type(thing), super) else thing
    real = thing.__init__
    if not guard_is_class(it):
        if not guard_is_own(type(it), own):
            raise GuardAttributeError("__init__ is for objects of your own")
        return real

    def init(it, *args, **named):
        if not guard_is_own(type(it), own):
            raise GuardAttributeError("__init__ is for objects of your own")
        return real(it, *args, **named)

    return init


# --- classes ---

def guard_check_bases(bases, own):
    """Only classes. Python would ask any other object which class it represents, or call its class
    as a metaclass.
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
        guard_check_base(base)


def guard_entries(base, bases, own):
    kind = type(base)
    known = kind not in own and any("__mro_entries__" in it.__dict__ for it in kind.__mro__)
    inner = kind.__mro_entries__(base, bases) if known else ()
    if not known or not all(guard_is_class(it) for it in inner):
        raise GuardPermissionError("a class can only be derived from classes")
    return inner


def guard_check_base(base):
    """Objects of these forward attribute lookups to other objects; make classes; or have an
    attribute that determines which attribute of another object they set.
    """
    typing, functools = sys.modules.get("typing"), sys.modules.get("functools")
    alias = getattr(typing, "_BaseGenericAlias", getattr(typing, "_GenericAlias", super))
    if issubclass(base, (super, type, type(list[int]) if sys.version_info >= (3, 9) else super, alias,
                         getattr(functools, "cached_property", super))):
        raise GuardPermissionError("nothing can be derived from %s in strict mode" % base.__name__)


class GuardMade:
    """The first entry of a class's body: python notifies it of the class before others."""

    def __init__(self, own):
        self.own = own

    def __set_name__(self, made, name):
        self.own.add(made)
        type.__delattr__(made, name)


GUARD_MADE = "__guard_made__"


class GuardMaking:
    """Called by a class statement as its metaclass: calls the real one, with a checked body.
    Methods of the program (__init_subclass__, __set_name__) get the class before the statement
    ends, so later corrections would be too late. Python has resolved the bases by now: they can
    differ from those in the checked statement.
    """

    def __init__(self, own, builtins):
        self.made, self.own, self.builtins = [], own, builtins

    def __prepare__(self, name, bases, **named):
        for base in bases:
            if not guard_is_class(base):
                raise GuardPermissionError("a class can only be derived from classes")
            guard_check_base(base)
        self.bases = bases
        self.meta = guard_meta(bases)
        space = self.meta.__prepare__(name, bases, **named)
        if not self.makes_another(bases):
            space[GUARD_MADE] = GuardMade(self.own)
        return space

    def makes_another(self, bases):
        """The class of a named tuple is not made of the body."""
        named = getattr(sys.modules.get("typing"), "NamedTupleMeta", None)
        return named is not None and self.meta is named

    def __call__(self, name, bases, space, **named):
        if bases is not self.bases:
            raise GuardPermissionError("a class has the bases that it was begun with")
        guard_check_fields(bases, (), self.own)
        guard_check_slots(space)
        protocol = getattr(sys.modules.get("typing"), "Protocol", None)
        if "__match_args__" in space and any(it is protocol for it in bases):
            raise GuardAttributeError("a protocol has no __match_args__ in strict mode")
        for name_of in list(space):
            if guard_is_dunder(name_of) and name_of in GUARD_DEFINED:
                value = space[name_of]
                wrap = GUARD_ANSWERS.get(name_of)
                if wrap:
                    space[name_of] = wrap(self.made, value, self.own)
                elif guard_is_foreign(name_of, value, self.builtins):
                    space[name_of] = guard_stand_for(value)
        if "__del__" not in space and any(guard_is_stream(it) for it in bases):
            space["__del__"] = guard_stand_for(lambda self: self.close())
        made = self.meta(name, bases, space, **named)
        self.made.append(made)
        return made


# --- methods that python itself calls: they have a frame that identifies the program ---

GUARD_NO_METHODS = {"__init_subclass__", "__class_getitem__", "__hash__"}


def guard_is_foreign(name, value, builtins):
    """Is it anything but a function of the program?"""
    if type(value) is GuardFunction:
        return value.__globals__.get("__builtins__") is not builtins
    plain = type(value) in (type(None), type(object.__init__), type(str.join))
    return not plain and not (name in GUARD_NO_METHODS and type(value) in (classmethod, type(None)))


def guard_stand_for(function):
    def method(self, *args, **named):
        return guard_bound(function, self)(*args, **named)

    if not any(method.__code__ is it for it in GUARD_STANDING):
        GUARD_STANDING.append(method.__code__)
    return method


def guard_is_stream(kind):
    """Is it one of those that call close() when they are destroyed?"""
    streams = sys.modules.get("_io")
    return streams is not None and issubclass(kind, streams._IOBase)


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
    """Is every object with these attributes an instance?"""
    meta = getattr(sys.modules.get("typing"), "_ProtocolMeta", None)
    return meta is not None and issubclass(type(kind), meta) and kind.__dict__.get("_is_protocol")


def guard_annotations(cls):
    """The names that dataclass() turns into fields."""
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


# Bases without attributes that a field could refer to.
GUARD_PLAIN_BASES = {"object", "Generic", "Protocol", "ABC"}


def guard_fields(kind):
    found = getattr(kind, "__dataclass_fields__", {})
    real = getattr(sys.modules.get("dataclasses"), "Field", None)
    if type(found) is not dict or any(type(it) is not real for it in found.values()):
        raise GuardAttributeError("the fields of a data class cannot be changed")
    return found


def guard_check_fields(bases, names, own):
    """Fields of a data class, and of what is derived from it, are looked up by name: in patterns,
    by asdict() and by replace(). `names` are those that a class gets besides those of its bases.
    """
    fields = set(names).union(*(guard_fields(base) for base in bases))
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
    """Attributes that a pattern would read from any object that matches a protocol."""
    if "__match_args__" in made.__dict__ and guard_is_protocol(made):
        type.__setattr__(made, "__match_args__", ())


# Python's own lookups of names with double underscores are answered by the object's class, never by
# a method of the program.
def guard_bound(function, thing):
    bind = getattr(type(function), "__get__", None)
    return bind(function, thing, type(thing)) if bind else function


def guard_getattribute(made, function, own):
    def __getattribute__(self, name):
        if not guard_is_dunder(name):
            return guard_bound(function, self)(name)
        if made and issubclass(type(self), made[0]):
            return super(made[0], self).__getattribute__(name)
        return object.__getattribute__(self, name)

    return __getattribute__


def guard_getattr(made, function, own):
    def __getattr__(self, name):
        if guard_is_dunder(name):
            raise AttributeError("%r object has no attribute %r" % (type(self).__name__, name))
        return guard_bound(function, self)(name)

    return __getattr__


# A class makes only objects of its own, or plain data. Python and its modules set attributes of
# objects that a class has made, and call their __init__.
GUARD_DATA = (int, float, complex, bool, str, bytes, tuple, frozenset, type(None))


def guard_new(made, function, own):
    def __new__(cls, *args, **named):
        bind = getattr(type(function), "__get__", None)
        it = (bind(function, None, cls) if bind else function)(cls, *args, **named)
        kind = type(it)
        if kind not in GUARD_DATA and not guard_is_own(kind, own):
            raise GuardPermissionError("__new__ must make an object of a class of your own")
        return it

    return __new__


GUARD_ANSWERS = {"__getattribute__": guard_getattribute, "__getattr__": guard_getattr,
                 "__new__": guard_new}
