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
    for base in bases:
        if guard_is_class(base):
            guard_check_base(base, typing)
        elif not any(base is it for it in special):
            for inner in guard_entries(base, bases, own):
                guard_check_base(inner, typing)


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


def guard_check_class(made):
    """A class that is new, before anybody has it."""
    space = type.__getattribute__(made, "__dict__")
    for name, value in list(space.items()):
        if guard_is_dunder(name) and type(value).__name__ == "member_descriptor":
            raise GuardAttributeError("a slot cannot be called %s" % name)
    for name, wrap in GUARD_ANSWERS.items():
        if name in space:
            type.__setattr__(made, name, wrap(made, space[name]))
    if "__match_args__" in space and guard_is_protocol(made):
        raise GuardAttributeError("a protocol has no __match_args__ in strict mode")


def guard_is_protocol(kind):
    """Is anything an instance that has the attributes?"""
    meta = getattr(sys.modules.get("typing"), "_ProtocolMeta", None)
    return meta is not None and issubclass(type(kind), meta) and kind.__dict__.get("_is_protocol")


def guard_check_fields(made, fields):
    """Fields of a data class are looked up by name, in patterns and by asdict()."""
    args = made.__dict__.get("__match_args__", ())
    names = {field.name for field in fields} | set(args)
    if issubclass(made, str) and names & GUARD_FORMATS:
        raise GuardAttributeError("a field of a text cannot be called format")
    if args and guard_is_protocol(made):
        type.__setattr__(made, "__match_args__", ())


# What python asks an object about itself, by names with double underscores, is answered by its
# class: never by a method of the program's.
def guard_bound(function, thing):
    bind = getattr(type(function), "__get__", None)
    return bind(function, thing, type(thing)) if bind else function


def guard_getattribute(made, function):
    def __getattribute__(self, name):
        if guard_is_dunder(name):
            return super(made, self).__getattribute__(name)
        return guard_bound(function, self)(name)

    return __getattribute__


def guard_getattr(made, function):
    def __getattr__(self, name):
        if guard_is_dunder(name):
            raise AttributeError("%r object has no attribute %r" % (type(self).__name__, name))
        return guard_bound(function, self)(name)

    return __getattr__


GUARD_ANSWERS = {"__getattribute__": guard_getattribute, "__getattr__": guard_getattr}
