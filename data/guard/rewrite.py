# SPDX-License-Identifier: Apache-2.0
# Changes to a program's tree, after it was checked. Names with a dot in front belong to the guard:
# no program text can contain them.
GUARD_TYPE, GUARD_FETCH, GUARD_TICK, GUARD_OWN = ".type", ".fetch", ".tick", ".own"


def guard_place(node, like):
    for field in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
        value = getattr(like, field, None)
        setattr(node, field, getattr(like, "lineno", 1) if value is None else value)
    return node


def guard_call(name, arguments, like):
    function = guard_place(_ast.Name(id=name, ctx=_ast.Load()), like)
    return guard_place(_ast.Call(func=function, args=arguments, keywords=[]), like)


def guard_replace(parent, old, new):
    for field in parent._fields:
        value = getattr(parent, field, None)
        if value is old:
            setattr(parent, field, new)
        elif type(value) is list:
            for at, item in enumerate(value):
                if item is old:
                    value[at] = new


def guard_plain_template(node):
    """Is it a text whose replacement fields, also nested ones, have no attributes?"""
    if not guard_is(node, "Constant") or type(node.value) is not str:
        return False
    return "." not in node.value.replace("{:.", "{:") and "_" not in node.value \
        and "[" not in node.value


def guard_mangled(name, node, parents):
    """The name that an attribute has within its class."""
    if guard_is_dunder(name):
        return name
    while name[:2] == "__" and node is not None and not guard_is(node, "ClassDef"):
        node = parents[id(node)]
    if name[:2] != "__" or node is None or not node.name.strip("_"):
        return name
    return "_%s%s" % (node.name.lstrip("_"), name)


def guard_soften(walk):
    """`x.__class__` becomes type(x); format() methods, private attributes and __init__() are read
    through the guard, which knows their owner. The same applies to assignments: `x.y = z` asks the
    guard whether the program may change x.
    """
    # From the inside out: when a node is replaced, its children are done.
    for node, parent in reversed(walk.nodes):
        if not guard_is(node, "Attribute"):
            continue
        if not guard_is(node.ctx, "Load"):
            names = [guard_place(_ast.Constant(value=node.attr, kind=None), node.value)]
            if node.attr[:1] != "_":
                names = []  # for the most part: not worth the time
            node.value = guard_call(GUARD_OWN, [node.value, *names], node.value)
            continue
        name = node.attr
        formats = name in ("format", "format_map") and not guard_plain_template(node.value)
        private = name[:1] == "_" and not guard_is_dunder(name) and name not in GUARD_PRIVATE
        if name == "__class__":
            guard_replace(parent, node, guard_call(GUARD_TYPE, [node.value], node))
        elif formats or private or name == "__init__":
            name = guard_mangled(name, node, walk.parents)
            text = guard_place(_ast.Constant(value=name, kind=None), node)
            guard_replace(parent, node, guard_call(GUARD_FETCH, [node.value, text], node))


def guard_by_super(node):
    return guard_is(node.value, "Call") and getattr(node.value.func, "id", "") == "super"


def guard_tick(like):
    return guard_place(_ast.Expr(value=guard_call(GUARD_TICK, [], like)), like)


def guard_count(nodes):
    """Each iteration of a loop, each call and each element of a comprehension is an operation."""
    for node, parent in nodes:
        if guard_is(node, "For", "While", "FunctionDef", "AsyncFunctionDef", "AsyncFor"):
            body = node.body
            head = guard_is(body[0], "Expr") and type(getattr(body[0].value, "value", 0)) is str
            body.insert(int(head), guard_tick(body[0]))
        elif guard_is(node, "comprehension"):
            node.ifs.insert(0, guard_call(GUARD_TICK, [], node.target))
        elif guard_is(node, "Lambda"):
            both = [guard_call(GUARD_TICK, [], node.body), node.body]
            node.body = guard_place(_ast.BoolOp(op=_ast.And(), values=both), node.body)
