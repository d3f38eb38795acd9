# SPDX-License-Identifier: Apache-2.0
# Functions and classes of modules in the form that programs get in `strict`.


def guard_wrappers(own):
    """wraps() copies the usual attributes, and no others that a caller could name. Caches accept
    only functions: they copy all attributes of other objects.
    """
    import functools

    def update_wrapper(wrapper, wrapped):
        if type(wrapper).__name__ != "function":
            return wrapper
        return functools.update_wrapper(wrapper, wrapped, ("__name__", "__qualname__", "__doc__"),
                                        ())

    def wraps(wrapped):
        return lambda wrapper: update_wrapper(wrapper, wrapped)

    def plain(function):
        if type(function) in (GuardFunction, type(len)) or not callable(function):
            return function
        return lambda *args, **named: function(*args, **named)

    def lru_cache(maxsize=128, typed=False):
        if callable(maxsize):
            return functools.lru_cache(128, typed)(plain(maxsize))
        decorate = functools.lru_cache(maxsize, typed)
        return lambda function: decorate(plain(function))

    def cache(function):
        return functools.lru_cache(None)(plain(function))

    def total_ordering(cls):
        if cls not in own:
            raise GuardPermissionError("total_ordering() is for classes of your own")
        return functools.total_ordering(cls)

    found = {"update_wrapper": update_wrapper, "wraps": wraps, "lru_cache": lru_cache,
             "total_ordering": total_ordering}
    return {**found, "cache": cache} if hasattr(functools, "cache") else found


def guard_typing(stand_in):
    """Programs do not get the real type() or other metaclasses; and nothing is stored on objects of
    others.
    """
    import typing

    def safe(thing):
        if guard_is_class(thing):
            return stand_in if issubclass(thing, type) else thing
        if type(thing) in (tuple, list):
            return type(thing)([safe(it) for it in thing])
        return thing

    def same(thing):
        return thing

    def making(name):
        real = getattr(typing, name)
        return lambda tp: safe(real(tp))

    found = {name: making(name) for name in ("get_origin", "get_args") if hasattr(typing, name)}
    for name in ("final", "no_type_check", "override"):
        if hasattr(typing, name):
            found[name] = same
    return found


class GuardNamespace:
    """types.SimpleNamespace, which refuses names that python itself looks up."""

    def __init__(self, *given, **named):
        if given and sys.version_info < (3, 13):
            raise TypeError("no positional arguments expected")
        if len(given) > 1:
            raise TypeError("SimpleNamespace expected at most 1 argument, got %d" % len(given))
        named = {**dict(*given), **named}
        for name in named:
            if type(name) is not str or guard_is_dunder(name):
                raise GuardAttributeError("an attribute must have a plain name")
        self.__dict__.update(named)

    def __repr__(self):
        name = "namespace" if type(self) is GuardNamespace else type(self).__name__
        if any(it is self for it in guard_shown):
            return name + "(...)"
        guard_shown.append(self)
        try:
            items = list(self.__dict__.items())
            if sys.version_info < (3, 9):
                items.sort()
            return "%s(%s)" % (name, ", ".join(["%s=%r" % it for it in items]))
        finally:
            guard_shown.pop()

    def __eq__(self, other):
        if not isinstance(other, GuardNamespace):
            return NotImplemented
        return self.__dict__ == other.__dict__


guard_shown = []
GuardNamespace.__name__ = GuardNamespace.__qualname__ = "SimpleNamespace"
GuardNamespace.__module__ = "types"


def guard_dataclass(check, own):
    """With slots a new class is made: it still belongs to the program."""
    import dataclasses

    def dataclass(cls=None, **options):
        def make(cls):
            if cls not in own:
                raise GuardPermissionError("dataclass() is for classes of your own")
            guard_check_annotations(cls, check, own)
            made = dataclasses.dataclass(cls, **options)
            guard_check_made(made)
            own.add(made)
            return made

        return make if cls is None else make(cls)

    return dataclass


def guard_namedtuple(check, own):
    """The fields become code: so they must be plain text."""
    import collections

    def namedtuple(typename, field_names, *, rename=False, defaults=None):
        if type(field_names) is str:
            field_names = field_names.replace(",", " ").split()
        field_names = list(field_names)
        guard_text(typename)
        for name in field_names:
            if not rename:
                check(name)
            guard_text(name)
        made = collections.namedtuple(typename, field_names, rename=rename, defaults=defaults,
                                      module="__main__")
        own.add(made)
        return made

    return namedtuple
