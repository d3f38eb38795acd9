# SPDX-License-Identifier: Apache-2.0
# Compiles the program's code in less memory than by its tree (graft.py).
#
# That tree consists of python objects, of types that are spread over the heap: making it causes a
# clone to copy three times as many pages as compiling the text. A template's extension catches the
# exceptions of a program; and the value is found by compiling the last expression separately.

# These words never start an expression,
STATEMENTS = (
    b"import from def class if for while with try async global nonlocal del pass assert raise"
).split()
# these never start a statement,
INSIDE = (b" ", b"\t", b"\n", b"#", b")", b"]", b"}", b"else:", b"else ", b"elif ", b"elif(")
INSIDE += (b"except:", b"except ", b"except(", b"except*", b"finally:", b"finally ")
# and these inspect frames, of which there are two then, or split lines differently than we do.
OTHERWISE = (b"_getframe", b"currentframe", b"inspect", b"settrace", b"set_trace", b"breakpoint")
OTHERWISE += (b"profile", b"monitoring", b"__future__", b"\r", b"\f")
STRINGS = (b"'", b'"')


def last_statement(source):
    """Start of the line that can begin the program's last statement; None: unclear."""
    if any(word in source for word in OTHERWISE):
        return None
    if any(b"coding" in line for line in source.split(b"\n", 2)[:2]):
        return None
    end = len(source)
    while end > 0:
        at = source.rfind(b"\n", 0, end) + 1
        if at < len(source) and not source.startswith(INSIDE, at):
            # If it is in a string that started before, that ends after it.
            tail = source[at:]
            inside = b'"""' in tail or b"'''" in tail or source.endswith(b"\\\n", 0, at)
            return None if inside else at
        end = at - 1
    return None


def compile_parts(source, path, valued):
    """The program's code and, if it ends in an expression whose value is requested, that of the
    expression alone. None: the tree is needed to decide.
    """
    if not valued:
        return (compile(source, path, "exec", 0, True),)
    at = last_statement(source)
    # A string can be the docstring.
    if at is None or source[at : at + 4].lstrip(b"(rRbBuUfF")[:1] in STRINGS:
        return None
    tail = b"\n" * source.count(b"\n", 0, at) + source[at:]
    if source[at:].split(None, 1)[0].rstrip(b":") not in STATEMENTS:
        try:
            last = compile(tail, path, "eval", 0, True)
            return compile(source[:at], path, "exec", 0, True), last
        except SyntaxError:
            pass
    # A line that compiles alone has no bracket that another line opens or closes: it is the last
    # statement, and no expression, unless it is several in one line.
    code = compile(tail, path, "exec", 0, True)
    if b";" in tail:
        return None
    return (compile(source, path, "exec", 0, True) if at else code,)
