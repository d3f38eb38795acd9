# SPDX-License-Identifier: Apache-2.0
# The rules: which modules and which attributes a program may use. The modules are those of
# modules.json, which is the only list of allowed modules.

GUARD_INSTEAD = {
    "__dict__": "Use vars(x): it gives a copy of what an object of your own has.",
    "__subclasses__": "Keep a list of your own classes.",
    "__bases__": "Use isinstance() and issubclass().",
    "__base__": "Use isinstance() and issubclass().",
    "__mro__": "Use isinstance() and issubclass().",
    "__globals__": "Pass what is needed as arguments.",
    "__builtins__": "The allowed builtins are there by their names.",
    "__import__": "Use an import statement at the top.",
    "__setattr__": "Use setattr(x, name, value), or a property.",
    "__getattribute__": "Use getattr(x, name).",
    "__delattr__": "Use delattr(x, name).",
    "__traceback__": "Print the exception itself.",
    "__annotations__": "Use dataclasses.fields().",
    "__module__": "Use type(x).__name__.",
}
GUARD_OPERATOR = "To let a module in, answer the three questions for it in data/guard/modules.json."


class GuardRules:
    def __init__(self, table, order, directory):
        self.table = table["modules"]
        self.refused = table["imports_refused"]
        self.strict = order["mode"] == "strict"
        self.directory = directory
        chosen = order.get("modules")
        self.chosen = None if chosen is None else set(chosen)
        if self.chosen is None and self.strict:
            self.chosen = {name for name, entry in self.table.items() if entry["default"]}

    # --- modules ---

    def local(self, name):
        """A file of the program itself."""
        path = "%s/%s.py" % (self.directory, name)
        return path if name.isidentifier() and os.path.isfile(path) else None

    def allowed(self, name):
        if self.chosen is None:
            parts = name.split(".")
            return not any(".".join(parts[:n]) in self.refused for n in range(1, len(parts) + 1))
        if self.strict and name not in self.table:
            return False
        parts = name.split(".")
        return any(".".join(parts[:n]) in self.chosen for n in range(1, len(parts) + 1))

    def is_module(self, name):
        return name in self.table and self.allowed(name)

    def why_not(self, name):
        """Reason, remedy and operator's remedy for a module that is not allowed."""
        top = name.partition(".")[0]
        if not self.strict and self.chosen is None:
            what = self.refused.get(name) or self.refused.get(top)
            return ("module %s is refused: it %s" % (name, what),
                    "Do without it; the rest of the standard library can be imported.",
                    "List the modules that may be imported as guard.allowed_modules.")
        known = sorted(self.chosen if not self.strict else self.chosen & set(self.table))
        reason = "module %s is not among the allowed ones" % name
        if name in self.table:
            entry = self.table[name]
            reason += " (files: %s)" % guard_cut(entry["files"], 60)
        operator = GUARD_OPERATOR if self.strict and name not in self.table else \
            "Add it to guard.allowed_modules of the policy."
        return reason, guard_cut("Allowed are: %s." % ", ".join(known), 250), operator

    def check_import(self, name, node):
        if not self.allowed(name) and not self.local(name):
            raise GuardRefusal("import", *self.why_not(name), node)

    def exports(self, name):
        """The names of a module that programs get; None: all but modules and private ones."""
        names = self.table[name]["names"]
        return None if names == ["*"] else names

    def check_export(self, module, name, node):
        if not self.strict or not self.is_module(module) or guard_is_dunder(name):
            return
        if self.is_module("%s.%s" % (module, name)):
            return
        names = self.exports(module)
        if names is None:
            without = self.table[module].get("without", [])
            if name not in without and name[:1] != "_":
                return
            names = []
        if name not in names:
            near = ", ".join(names) or "everything public but what touches files"
            raise GuardRefusal("import", "%s does not hand out %s" % (module, name),
                               guard_cut("It has: %s." % near, 250), GUARD_OPERATOR, node)

    # --- attributes ---

    def attribute(self, name, declared):
        """None: it may be used; else the reason and an alternative."""
        if guard_is_dunder(name):
            return ("the attribute %s belongs to python itself" % name,
                    GUARD_INSTEAD.get(name, "Use the operator or the builtin that stands for it."))
        if name[:1] == "_" and name not in declared.private:
            return ("%s is a private attribute, and none of this program's own" % name,
                    "Use what is public; attributes that the program assigns itself are fine.")
        if name in GUARD_NO_ATTRIBUTES:
            return ("the attribute %s is refused: %s" % (name, GUARD_NO_ATTRIBUTES[name]),
                    "Give an attribute of your own another name.")
        if declared.tables and name in GUARD_NO_TABLE_ATTRIBUTES:
            return ("%s is refused: %s" % (name, GUARD_NO_TABLE_ATTRIBUTES[name]),
                    "Select and compute with expressions.")
        return None
