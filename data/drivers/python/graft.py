# SPDX-License-Identifier: Apache-2.0
# The program's code, made from its tree: nodes of ours keep its value and what it raises.

# Parsed, this gives nodes to graft without an import of `ast`.
SKELETON = "value = 0\ntry:\n pass\nexcept BaseException as caught:\n error = caught\n"
ONLY_AST = 0x400

grafts = []  # the skeleton's tree, parsed ahead


def place(like, *nodes):
    for node in nodes:
        for field in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
            setattr(node, field, getattr(like, field))


def is_a(node, kind):
    return type(node).__name__ == kind  # the classes themselves are in `_ast`


def parse(source, path):
    return compile(source, path, "exec", ONLY_AST, True)


def compile_program(source, path, valued):
    """The program's code. It keeps its last value, and what it raises instead of raising it."""
    return compile(graft(parse(source, path), path, valued), path, "exec", 0, True)


def graft(tree, path, valued):
    keep, guard = (grafts.pop() if grafts else parse(SKELETON, path)).body
    body, head = tree.body, 0
    if body and is_a(body[0], "Expr") and isinstance(getattr(body[0].value, "value", None), str):
        head = 1  # a docstring must stay the first
    while body[head:] and is_a(body[head], "ImportFrom") and body[head].module == "__future__":
        head += 1
    if valued and body and is_a(body[-1], "Expr"):
        last = body[-1]
        place(last, keep, keep.targets[0])
        keep.targets[0].id, keep.value = VALUE, last.value
        body[max(head, len(body) - 1) :] = [keep]
    if body[head:]:
        handler = guard.handlers[0]
        store = handler.body[0]
        place(body[head], guard)
        place(body[-1], handler, store, store.targets[0], store.value)
        # No type: the program may have given BaseException another meaning.
        handler.type, handler.name = None, CAUGHT
        store.targets[0].id, store.value.id = ERROR, CAUGHT
        guard.body = body[head:]
        body[head:] = [guard]
    return tree
