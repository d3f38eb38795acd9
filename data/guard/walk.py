# SPDX-License-Identifier: Apache-2.0
# Checks a program's tree, in `strict`. This is done without recursion, on the same tree that is
# compiled afterwards: there is no second parser that could disagree.


import _ast
import _string


def guard_nodes(tree):
    """All nodes, each with its parent, from the top on; except those that tell how a name is used,
    which are checked with the name.
    """
    left, found = [(tree, None)], []
    node_kind, context = _ast.AST, _ast.expr_context
    while left:
        pair = left.pop()
        found.append(pair)
        if len(found) > GUARD_NODES_MAX:
            raise GuardRefusal("size", "the program is too large to be looked at",
                               "Split it into smaller programs.")
        node, inner = pair[0], []
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                inner += [(item, node) for item in value if isinstance(item, node_kind)]
            elif isinstance(value, node_kind) and not isinstance(value, context):
                inner.append((value, node))
        inner.reverse()
        left += inner
    return found


def guard_table_of(kind):
    """Which method of a class checks which kind of node."""
    return {name[5:]: getattr(kind, name) for name in dir(kind) if name[:5] == "look_"}


def guard_is(node, *kinds):
    return type(node).__name__ in kinds


class GuardDeclared:
    """Names of the program: private attributes, names it binds, modules it imports."""

    def __init__(self, nodes):
        self.private = set(GUARD_PRIVATE)
        self.bound = set()
        self.loaded = set()  # of those modules that need no import
        self.modules = {}
        self.imported = set()  # all that it names
        self.tables = False  # are there data frames?
        imported = []
        for node, parent in nodes:
            kind = type(node).__name__
            if kind == "Name" and type(node.ctx).__name__ != "Load":
                self.bind(node.id, parent)
            elif kind == "Name" and node.id in GUARD_PRELOADED:
                self.loaded.add(node.id)
            elif kind == "Attribute" and type(node.ctx).__name__ == "Store":
                self.own(node.attr)
            elif kind in ("FunctionDef", "ClassDef"):
                self.bind(node.name, parent)
            elif kind == "arg":
                self.bound.add(node.arg)
            elif kind == "ExceptHandler" and node.name:
                self.bound.add(node.name)
            elif kind in ("MatchAs", "MatchStar") and node.name:
                self.bound.add(node.name)
            elif kind == "MatchMapping" and node.rest:
                self.bound.add(node.rest)
            elif kind == "Import":
                imported.extend(node.names)
            elif kind == "ImportFrom":
                if node.module and not node.level:
                    self.note(node.module)
                self.bound.update(item.asname or item.name for item in node.names)
        for item in imported:
            name = item.asname or item.name.partition(".")[0]
            module = item.name if item.asname else name
            if name in self.bound or self.modules.get(name, module) != module:
                self.bound.add(name)
            else:
                self.modules[name] = module
            self.note(item.name)
        for name in self.loaded:
            self.modules.setdefault(name, name)
        self.forget(self.bound)

    def note(self, module):
        self.imported.add(module)
        self.tables |= module.partition(".")[0] in ("pandas", "numpy")

    def forget(self, names):
        """A bound name may refer to any object."""
        for name in names:
            self.modules.pop(name, None)

    def add(self, other):
        self.loaded |= other.loaded
        self.private |= other.private
        self.bound |= other.bound
        self.tables |= other.tables
        self.imported |= other.imported

    def bind(self, name, parent):
        self.bound.add(name)
        if guard_is(parent, "ClassDef", "Assign", "AnnAssign", "Tuple"):
            self.own(name)

    def own(self, name):
        if name[:1] == "_" and not guard_is_dunder(name):
            self.private.add(name)


class GuardWalk:
    """Checks one tree. `rules` has the allowed modules and their names."""

    def __init__(self, nodes, rules):
        self.rules = rules
        self.nodes = nodes
        self.declared = GuardDeclared(self.nodes)
        self.parents = {id(node): parent for node, parent in self.nodes}
        self.called = set()  # attributes that are called directly
        self.optional = set()  # imports whose failure the program expects
        for node, parent in self.nodes:
            if guard_is(node, "Call"):
                self.called.add(id(node.func))
            elif guard_is(node, "Try", "TryStar") and node.handlers:
                self.expect_failure(node)

    def expect_failure(self, node):
        names = []
        for handler in node.handlers:
            kinds = handler.type.elts if guard_is(handler.type, "Tuple") else [handler.type]
            names += [getattr(it, "id", None) for it in kinds]
        expected = {None, "ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
        if expected & set(names):
            self.optional.update(id(it) for it in node.body)

    def check(self):
        table = GUARD_LOOKS
        for node, parent in self.nodes:
            kind = type(node).__name__
            if kind not in GUARD_SYNTAX:
                self.refuse_syntax(node, kind)
            if kind in table:
                table[kind](self, node, parent)

    def refuse_syntax(self, node, kind):
        reason = GUARD_SYNTAX_REASONS.get(kind, "%s is not among the allowed syntax" % kind)
        raise GuardRefusal("syntax", reason, "Write it with plain functions, loops and classes.",
                           "Run it with guard \"imports\" or \"off\" to have all of the language.",
                           node)

    # --- names ---

    def plain(self, name, node, what="name"):
        """A name that is bound or used somewhere, and is not an attribute."""
        if name and guard_is_dunder(name):
            raise GuardRefusal("name", "the %s %s belongs to python itself" % (what, name),
                               "Use a name without double underscores.", "", node)
        if name == "super" and what != "argument":
            raise GuardRefusal("name", "the name super belongs to python itself",
                               "Use another name.", "", node)
        if name in GUARD_TYPING_NAMES:
            raise GuardRefusal("name", "the %s %s belongs to typing" % (what, name),
                               "Derive from Protocol.", "", node)

    def look_Name(self, node, parent):
        name, loads = node.id, guard_is(node.ctx, "Load")
        if guard_is_dunder(name):
            if loads and (name in GUARD_GLOBAL_NAMES or name in GUARD_CALLED):
                return
            in_class = guard_is(parent, "Assign") and guard_is(self.parents[id(parent)], "ClassDef")
            if not loads and in_class and (name in GUARD_CLASS_NAMES or name in GUARD_DEFINED):
                self.look_class_name(name, parent)
                return
            self.plain(name, node)
        if not loads:
            self.plain(name, node)
        if loads and name in GUARD_NO_NAMES and name not in self.declared.bound:
            raise GuardRefusal("call", "%s is not there in strict mode" % name,
                               "Use %s." % GUARD_NO_NAMES[name], "", node)

    def look_class_name(self, name, assignment):
        """Attributes that patterns read by position are checked like any other."""
        if name != "__match_args__":
            return
        value = assignment.value
        items = value.elts if guard_is(value, "Tuple", "List") else [None]
        for item in items:
            text = getattr(item, "value", None)
            if type(text) is not str:
                raise GuardRefusal("name", "__match_args__ must be a tuple of plain strings",
                                   "Write the attributes' names out.", "", assignment)
            self.attribute(text, assignment)
            self.pattern(text, assignment)

    def pattern(self, name, node):
        """Python itself reads the attributes of a pattern, from any object."""
        if name[:1] == "_" and name not in GUARD_PRIVATE or name in GUARD_FORMATS:
            raise GuardRefusal("attribute", "%s cannot be taken by a pattern" % name,
                               "Take it by name, or match a public attribute.", "", node)

    def look_AnnAssign(self, node, parent):
        """Fields of data classes and protocols are looked up in any matched object."""
        name = getattr(node.target, "id", "")
        if guard_is(parent, "ClassDef") and name in GUARD_NO_ATTRIBUTES:
            self.attribute(name, node)

    def look_FunctionDef(self, node, parent):
        if guard_is_dunder(node.name):
            if not guard_is(parent, "ClassDef") or node.name not in GUARD_DEFINED:
                raise GuardRefusal("name", "%s may not be defined" % node.name,
                                   "Give the method another name.", "", node)
            return
        self.plain(node.name, node, "function")

    def look_ClassDef(self, node, parent):
        self.plain(node.name, node, "class")
        for item in node.keywords:
            if item.arg is None or item.arg == "metaclass":
                raise GuardRefusal("syntax", "classes with a metaclass of their own are refused",
                                   "Derive from abc.ABC or enum.Enum, use __init_subclass__ or a "
                                   "class decorator.", "", node)

    def look_arg(self, node, parent):
        self.plain(node.arg, node, "parameter")

    def look_keyword(self, node, parent):
        self.plain(node.arg, node, "argument")

    def look_ExceptHandler(self, node, parent):
        self.plain(node.name, node)

    def look_MatchAs(self, node, parent):
        self.plain(node.name, node)

    look_MatchStar = look_MatchAs

    def look_MatchMapping(self, node, parent):
        self.plain(node.rest, node)

    def look_Global(self, node, parent):
        for name in node.names:
            self.plain(name, node)

    look_Nonlocal = look_Global

    def look_TypeVar(self, node, parent):
        self.plain(node.name, node)

    look_ParamSpec = look_TypeVarTuple = look_TypeVar

    # --- attributes ---

    def attribute(self, name, node):
        """An attribute in any form of access, without a call after it."""
        reason = self.rules.attribute(name, self.declared)
        if reason:
            raise GuardRefusal("attribute", reason[0], reason[1], "", node)

    def look_MatchClass(self, node, parent):
        for name in node.kwd_attrs:
            self.attribute(name, node)
            self.pattern(name, node)

    def look_Attribute(self, node, parent):
        name, loads = node.attr, guard_is(node.ctx, "Load")
        if guard_is_dunder(name):
            allowed = GUARD_BY_SUPER if guard_by_super(node) else GUARD_CALLED
            if loads and (name in GUARD_READ or name == "__class__"):
                return
            if loads and id(node) in self.called and name in allowed:
                return
        module = self.module_of(node.value)
        if module and loads:
            self.rules.check_export(module, name, node)
        self.attribute(name, node)

    def look_Call(self, node, parent):
        """Names that are given as text, as far as they are literal."""
        name = getattr(node.func, "id", None)
        if name == "type" and len(node.args) > 1 and name not in self.declared.bound:
            raise GuardRefusal("call", "type() makes no classes in strict mode",
                               "Use a class statement.", "", node)
        if name in ("getattr", "setattr", "delattr") and name not in self.declared.bound:
            text = getattr(node.args[1], "value", None) if len(node.args) > 1 else None
            if type(text) is str and (name == "setattr" or text not in GUARD_READ):
                self.attribute(text, node)
        elif guard_is(node.func, "Attribute") and node.func.attr in ("format", "format_map"):
            text = getattr(node.func.value, "value", None)
            if type(text) is str:
                self.template(text, node)

    def template(self, text, node, depth=0):
        try:
            fields = [it for it in _string.formatter_parser(text) if it[1] is not None]
            for _, field, spec, _ in fields:
                for is_attribute, key in _string.formatter_field_name_split(field)[1]:
                    if is_attribute:
                        self.attribute(key, node)
                if spec and depth < 2:
                    self.template(spec, node, depth + 1)
        except ValueError:
            pass  # it will report it itself

    def module_of(self, node):
        """The module that an expression refers to, if that is known."""
        if guard_is(node, "Name"):
            return self.declared.modules.get(node.id)
        if guard_is(node, "Attribute"):
            outer = self.module_of(node.value)
            inner = outer and "%s.%s" % (outer, node.attr)
            return inner if inner and self.rules.is_module(inner) else None
        return None

    # --- imports ---

    def imports_as(self, name, module, node):
        self.plain(name or module if module == "super" else name, node)

    def look_Import(self, node, parent):
        for item in node.names:
            self.imports_as(item.asname, item.name, node)
            if id(node) not in self.optional or item.name in GUARD_INTERNAL:
                self.rules.check_import(item.name, node)

    def look_ImportFrom(self, node, parent):
        if node.level:
            raise GuardRefusal("import", "there is no package to import from",
                               "Import the module by its name.", "", node)
        if node.module == "__future__":
            return
        for item in node.names:
            self.imports_as(item.asname, item.name, node)
            if id(node) not in self.optional or node.module in GUARD_INTERNAL:
                self.rules.check_import(node.module, node)
                if item.name != "*":
                    self.rules.check_export(node.module, item.name, node)


GUARD_LOOKS = guard_table_of(GuardWalk)
