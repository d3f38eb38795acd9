# SPDX-License-Identifier: Apache-2.0
# Data frames, in `strict`. pandas accepts methods by their names in many places (agg, apply,
# transform, pivot_table), evaluates text as code, and returns columns as attributes.

# Modules in which it looks up methods by name.
GUARD_TABLE_MODULES = ("pandas.core.apply", "pandas.core.base", "pandas.core.frame",
                       "pandas.core.generic", "pandas.core.series", "pandas.core.resample",
                       "pandas.core.groupby.", "pandas.core.window.", "pandas.core.reshape.")


def guard_prepare_pandas(pandas):
    modules = {name: it for name, it in list(sys.modules.items())
               if name.startswith("pandas.") and type(it) is type(sys)}
    numpy = sys.modules.get("numpy")
    without = guard_modules()["modules"]["numpy"]["without"]
    for name, module in modules.items():
        if name.startswith(GUARD_TABLE_MODULES):
            get, has = guard_table_getters(guard_constants(module), numpy, without)
            vars(module).update(getattr=get, hasattr=has)
    guard_prepare_evaluation(pandas, modules)
    guard_prepare_columns(pandas)
    if "pandas.core.apply" not in modules or "pandas.core.generic" not in modules:
        # Another version of pandas: it does not have it.
        for kind in (pandas.DataFrame, pandas.Series):
            for name in ("agg", "aggregate", "apply", "transform", "groupby", "resample", "rolling",
                         "expanding", "ewm", "pivot_table"):
                guard_take_out(kind, name)
        guard_take_out(pandas, "pivot_table")
        guard_take_out(pandas, "crosstab")


def guard_refused(name):
    def refused(*args, **named):
        raise GuardPermissionError("%s is refused in strict mode" % name)

    return refused


def guard_take_out(where, name):
    if hasattr(where, name):
        setattr(where, name, guard_refused(name))


def guard_constants(module):
    """All texts in a module's own code: they include the attributes that it uses itself."""
    left, seen, found = [], set(), set()
    for value in list(vars(module).values()):
        if type(value) is GuardFunction and value.__module__ == module.__name__:
            left.append(value.__code__)
        elif guard_is_class(value) and value.__module__ == module.__name__:
            for it in list(vars(value).values()):
                for inner in (it, getattr(it, "__func__", None), getattr(it, "fget", None),
                              getattr(it, "__wrapped__", None)):
                    if type(inner) is GuardFunction:
                        left.append(inner.__code__)
    while left:
        code = left.pop()
        if id(code) in seen:
            continue
        seen.add(id(code))
        for it in code.co_consts:
            if type(it) is str and it.isidentifier():
                found.add(it)
            elif type(it) is tuple:
                found.update(word for word in it if type(word) is str and word.isidentifier())
            elif type(it) is type(code):
                left.append(it)
    return found - {"__dict__", "__class__", "__globals__", "__reduce__", "__reduce_ex__"}


def guard_table_getters(constants, numpy, without):
    """getattr() and hasattr() of a module that accepts names from programs."""
    real, missing = getattr, object()
    never = {*GUARD_NO_TABLE_ATTRIBUTES, *GUARD_NO_ATTRIBUTES, *GUARD_FORMATS} - {"obj"}

    def check(thing, name):
        if type(name) is not str:
            raise GuardAttributeError("a method must be named by plain text")
        if name in never or name[:1] == "_" and name not in constants \
                or thing is numpy and name in without:
            raise GuardAttributeError("%s cannot be taken by its name" % name)

    def get(thing, name, *default):
        check(thing, name)
        return real(thing, name, *default)

    def has(thing, name):
        check(thing, name)
        return real(thing, name, missing) is not missing

    return get, has


def guard_prepare_evaluation(pandas, modules):
    """eval() and query() of frames, in every way to call them; and plots by names of modules."""
    known = modules.get("pandas.core.computation.eval")
    real = getattr(known, "eval", None) or getattr(pandas, "eval", None)
    for module in [pandas, *modules.values()]:
        for name, value in list(vars(module).items()):
            if value is real and real is not None:
                setattr(module, name, guard_refused("eval"))
    for name in ("eval", "query"):
        guard_take_out(pandas.DataFrame, name)
    # It renders templates.
    pandas.DataFrame.style = property(guard_refused("style"))
    plots = modules.get("pandas.plotting._core")
    for name in ("_get_plot_backend", "_load_backend"):
        if plots is not None:
            guard_take_out(plots, name)


def guard_prepare_columns(pandas):
    """numpy reads attributes that contain memory addresses: a column must not be one."""
    for kind in {base for it in (pandas.DataFrame, pandas.Series) for base in it.__mro__}:
        if "__getattr__" in vars(kind):
            guard_answer_plain(kind, vars(kind)["__getattr__"])


def guard_answer_plain(kind, real):
    def __getattr__(self, name):
        if type(name) is not str or guard_is_dunder(name):
            raise AttributeError("%r object has no attribute %r" % (type(self).__name__, name))
        return real(self, name)

    kind.__getattr__ = __getattr__
