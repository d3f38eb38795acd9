# SPDX-License-Identifier: Apache-2.0
# A function has a reference to the globals that it was defined with. Those of the driver contain
# the guard of the program, and its channel for reports. So functions that a program can reach have
# globals of their own, with only the guard's functions and tables.

GUARD_KEPT = {"Guard", "GuardReport", "GuardChecker", "guard_part", "guard_hide", "guard_detach"}
guard_detached = []


def guard_detach():
    """Called once, before a program gets any of the functions."""
    if guard_detached:
        return
    here = globals()
    space = {name: it for name, it in here.items()
             if name.lower().startswith(("guard_", "_guard")) and name not in GUARD_KEPT}
    classes = {name: it for name, it in here.items()
               if name[:5] == "Guard" and name not in GUARD_KEPT and isinstance(it, type)}
    space.update(classes, os=os, sys=sys, _ast=_ast, _string=_string, GuardFunction=GuardFunction,
                 __name__="guard", __builtins__=_guard_builtins)

    def copy(function):
        made = GuardFunction(function.__code__, space, function.__name__, function.__defaults__,
                             function.__closure__)
        made.__kwdefaults__, made.__qualname__ = function.__kwdefaults__, function.__qualname__
        return made

    for name, it in list(space.items()):
        if type(it) is GuardFunction:
            space[name] = here[name] = copy(it)
        elif type(it) is dict:
            for key, value in it.items():
                if type(value) is GuardFunction:
                    it[key] = copy(value)
    for kind in classes.values():
        for key, value in list(vars(kind).items()):
            if type(value) is GuardFunction:
                type.__setattr__(kind, key, copy(value))
            elif type(value) in (classmethod, staticmethod):
                type.__setattr__(kind, key, type(value)(copy(value.__func__)))
    guard_detached.append(space)
