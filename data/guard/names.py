# SPDX-License-Identifier: Apache-2.0
# The guard's names: the names that `strict` allows in a program, and the messages for others. Only
# data.

GUARD_SOURCE_BYTES = 1 << 20
GUARD_NODES_MAX = 200000

# The allowed kinds of syntax. Additions of a later python are refused until they are listed here.
GUARD_SYNTAX = set(
    """
    Module Expression Interactive
    FunctionDef ClassDef Return Delete Assign AugAssign AnnAssign For While If With Raise Try
    TryStar Assert Import ImportFrom Global Nonlocal Expr Pass Break Continue Match
    BoolOp NamedExpr BinOp UnaryOp Lambda IfExp Dict Set ListComp SetComp DictComp GeneratorExp
    Yield YieldFrom Compare Call FormattedValue JoinedStr Constant Attribute Subscript Starred Name
    List Tuple Slice Index ExtSlice
    comprehension ExceptHandler arguments arg keyword alias withitem match_case
    MatchValue MatchSingleton MatchSequence MatchMapping MatchClass MatchStar MatchAs MatchOr
    TypeAlias TypeVar ParamSpec TypeVarTuple
    Load Store Del And Or Add Sub Mult MatMult Div Mod Pow LShift RShift BitOr BitXor BitAnd
    FloorDiv Invert Not UAdd USub Eq NotEq Lt LtE Gt GtE Is IsNot In NotIn
    """.split()
)
GUARD_SYNTAX_REASONS = {
    "AsyncFunctionDef": "async functions need an event loop, which opens sockets",
    "Await": "await needs an event loop, which opens sockets",
    "AsyncFor": "async for needs an event loop, which opens sockets",
    "AsyncWith": "async with needs an event loop, which opens sockets",
}

# Names that no program text may use, though builtins do not have them anyway: for an early error.
GUARD_NO_NAMES = {
    "eval": "json.loads() or int(), float() for data; write code out as code",
    "exec": "write code out as code",
    "compile": "write code out as code",
    "open": "print() for output; input() for data on stdin; io.StringIO for text in memory",
    "globals": "a dict of your own",
    "locals": "a dict of your own",
    "breakpoint": "print()",
    "help": "print()",
    "copyright": "print()",
    "credits": "print()",
    "license": "print()",
}

_OPERATORS = "add sub mul truediv floordiv mod divmod pow lshift rshift and xor or matmul".split()
_PROTOCOL = (
    "init new call len length_hint iter next reversed contains getitem setitem delitem missing "
    "enter exit eq ne lt le gt ge hash bool str repr bytes format int float complex index round "
    "trunc floor ceil neg pos abs invert post_init copy deepcopy"
).split()
_PROTOCOL += _OPERATORS + ["r" + it for it in _OPERATORS] + ["i" + it for it in _OPERATORS]

# Methods that may be called by name: an operator or a builtin does the same.
GUARD_CALLED = {"__%s__" % it for it in _PROTOCOL}
# Methods that a class may define. Not those by which copy and pickle build objects, nor those of
# metaclasses: with them a program passes names to code that the guard does not see.
GUARD_DEFINED = GUARD_CALLED | {
    "__%s__" % it
    for it in (
        "del getattr getattribute setattr delattr dir get set delete set_name init_subclass "
        "class_getitem sizeof"
    ).split()
}
GUARD_BY_SUPER = GUARD_CALLED | {"__init_subclass__"}
# Attributes that are text for every object.
GUARD_READ = {"__name__", "__doc__", "__qualname__"}
# Names that a class may assign to.
GUARD_CLASS_NAMES = {"__slots__", "__match_args__", "__hash__"}
GUARD_GLOBAL_NAMES = {"__name__", "__debug__"}

_FRAMES = (
    "gi_frame gi_code gi_yieldfrom gi_running gi_suspended cr_frame cr_code cr_await cr_origin "
    "cr_running cr_suspended ag_frame ag_code ag_await ag_running ag_suspended tb_frame tb_next "
    "tb_lasti tb_lineno f_back f_builtins f_code f_globals f_lasti f_lineno f_locals f_trace "
    "f_trace_lines f_trace_opcodes f_generator co_code co_consts co_names co_varnames co_freevars "
    "co_cellvars co_filename co_lnotab co_linetable co_exceptiontable co_positions co_lines "
    "replace_code func_globals func_code func_closure im_func im_self im_class"
).split()
GUARD_NO_ATTRIBUTES = dict.fromkeys(_FRAMES, "frames and code objects lead out of the program")
GUARD_NO_ATTRIBUTES["mro"] = "the bases of a class lead to those of others"
GUARD_NO_ATTRIBUTES["obj"] = "the object of an AttributeError can be one of python's own"
GUARD_NO_ATTRIBUTES["ctypes"] = "it leads to memory as such"
# With these a class can accept any object as its instance.
GUARD_TYPING_NAMES = {"_is_protocol", "_is_runtime_protocol"}
GUARD_NO_ATTRIBUTES.update(dict.fromkeys(GUARD_TYPING_NAMES, "they are for typing to set"))
# Methods of texts that read attributes by name: programs get them only in a safe form.
GUARD_FORMATS = {"format", "format_map"}
# Methods of data frames that evaluate text as code.
GUARD_NO_TABLE_ATTRIBUTES = {
    "eval": "pandas evaluates the text as code",
    "query": "pandas evaluates the text as code; select with df[df.x > 1]",
    "to_pickle": "pickle carries code",
    "tofile": "it writes files",
}

# Modules that are available without an import, where the policy allows them.
GUARD_PRELOADED = {"math", "json"}
# Private names that are meant for public use.
GUARD_PRIVATE = {"_fields", "_replace", "_asdict", "_make", "_field_defaults"}


def guard_is_dunder(name):
    return len(name) > 4 and name[:2] == "__" and name[-2:] == "__"
