# SPDX-License-Identifier: Apache-2.0
# Patches of python's own modules, in `strict`, where they would trust data from a program: names of
# attributes, and objects of others.


def guard_no_attribute(what, name):
    return GuardAttributeError("%s %s" % (what, repr(name) if type(name) is str else "so"))


def guard_prepare_enum(enum):
    """Names of members can be given as text: then they must be names of members. They are read
    once, and passed on as plain texts and pairs.
    """
    kind = type(enum.Enum)
    create = kind._create_

    def member(name):
        if type(name) is not str or name[:1] == "_":
            raise guard_no_attribute("a member cannot be called", name)
        return name

    def pair(item):
        name, value = item
        return member(name), value

    def checked(cls, class_name, names, *args, type=None, **more):
        guard_text(class_name)
        if isinstance(names, str):
            names = str.__str__(names).replace(",", " ").split()
        if hasattr(names, "keys"):
            names = [(member(name), names[name]) for name in names.keys()]
        else:
            names = list(names)
            if names and isinstance(names[0], str):
                names = [member(name) for name in names]
            else:
                names = [pair(item) for item in names]
        if type is not None:
            if not guard_is_class(type):
                raise GuardPermissionError("a class can only be derived from classes")
            guard_check_base(type)
            guard_check_fields((type, cls), (), ())
        return create(cls, class_name, names, *args, type=type, **more)

    kind._create_ = checked


def guard_prepare_typing(typing):
    make = typing._make_nmtuple

    def field(name):
        if type(name) is not str or guard_is_dunder(name) or name in GUARD_NO_ATTRIBUTES:
            raise guard_no_attribute("a field cannot be called", name)
        return name

    def pair(item):
        if type(item) is str:
            return field(item)
        name, kind = item
        return field(name), kind

    def checked(name, types, *args, **more):
        types = types.items() if hasattr(types, "items") else types
        return make(guard_text(name), [pair(item) for item in types], *args, **more)

    typing._make_nmtuple = checked
    alias = getattr(typing, "_BaseGenericAlias", None) or typing._GenericAlias
    call = alias.__call__

    def called(self, *args, **named):
        # For Type[int] that would be the real type().
        if guard_is_class(self.__origin__) and issubclass(self.__origin__, type):
            raise TypeError("%r cannot be called in strict mode" % (self,))
        return call(self, *args, **named)

    alias.__call__ = called


def guard_prepare_abc(ahead, own):
    """Patterns treat registered classes as subclasses of the class."""
    kind = sys.modules["abc"].ABCMeta
    real, getframe = kind.register, sys._getframe

    def register(cls, subclass):
        frame = getframe(1)
        # Modules of the library do it while they are imported, which can be at any time.
        imports = frame.f_code.co_name in ("<module>", "_call_with_frames_removed") \
            and frame.f_code.co_filename not in own
        if not imports and guard_is_called(frame, own, ahead) is not False:
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


# Attributes of objects that have such names, and are set by python itself.
GUARD_COPIED = {"__orig_class__", "__notes__"}


def guard_prepare_copy(copy):
    """copy builds objects by methods that it looks up on the object. Here it gets those of the
    class: attributes of the object itself, and results of __getattr__, are ignored.
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
        if type(name) is not str or guard_is_dunder(name) and name not in GUARD_COPIED:
            raise guard_no_attribute("copy sets no attribute", name)
        real(thing, name, value)

    def has(thing, name):
        return get(thing, name, none) is not none

    def part(thing, memo):
        """A class is never copied, whatever copy the program has put into `memo`."""
        return thing if memo is None or guard_is_class(thing) else copy.deepcopy(thing, memo)

    def parts(state, memo):
        """The state's own copy methods are not used either."""
        if type(state) is tuple:
            return tuple([parts(it, memo) if type(it) is dict else part(it, memo) for it in state])
        if type(state) is not dict:
            return part(state, memo)
        made = {part(key, memo): part(value, memo) for key, value in state.items()}
        for name in made:
            if type(name) is str and guard_is_dunder(name) and name not in GUARD_COPIED:
                raise guard_no_attribute("copy sets no attribute", name)
        return made

    def apply(made, state):
        if has(made, "__setstate__"):
            get(made, "__setstate__")(state)
            return
        slots = None
        if type(state) is tuple and len(state) == 2:
            state, slots = state
        if state is not None:
            made.__dict__.update(state)
        for name, value in (slots or {}).items():
            set_attribute(made, name, value)

    def reconstruct(thing, memo, function, args, state=None, items=None, pairs=None, **more):
        """The library's own function would apply the state to any object of the program."""
        made = function(*[part(it, memo) for it in args])
        applies = not (state is None and items is None and pairs is None)
        if applies and type(made) is not type(thing):
            raise GuardPermissionError("a copy must be of the class of what was copied")
        if memo is not None:
            memo[id(thing)] = made
        if state is not None:
            apply(made, parts(state, memo))
        for item in items or ():
            made.append(part(item, memo))
        for key, value in pairs or ():
            made[part(key, memo)] = part(value, memo)
        return made

    deep = copy.deepcopy

    def deepcopy(x, memo=None, _nil=()):
        if memo is not None and type(memo) is not dict:
            raise GuardPermissionError("what deepcopy() remembers must be a dict")
        return x if guard_is_class(x) else deep(x, memo)

    vars(copy).update(getattr=get, setattr=set_attribute, hasattr=has, _reconstruct=reconstruct,
                      deepcopy=deepcopy)


GUARD_PREPARE = {"copy": guard_prepare_copy, "dataclasses": guard_prepare_dataclasses,
                 "enum": guard_prepare_enum, "typing": guard_prepare_typing,
                 "pandas": guard_prepare_pandas}
