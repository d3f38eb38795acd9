# SPDX-License-Identifier: Apache-2.0
# The guard of one program, or of one session: checks code, refuses it, or makes the code that runs.
import os
import sys

GUARD_RECORD_BYTES = 8 * 1024  # in the memory file: in front of the value
GUARD_PARSE = 0x400

guard_table = []  # parsed once, in a template ahead


class GuardScan:
    """The settings of the scanner beneath `json`."""

    strict, object_hook, object_pairs_hook = True, None, None
    parse_float, parse_int, parse_constant, memo = float, int, None, {}


def guard_modules():
    if not guard_table:
        guard_table.append(guard_parse_json(GUARD_TABLE))
    return guard_table[0]


def guard_parse_json(text):
    """Does not use `json`, which a file of the program may replace."""
    from _json import make_scanner

    return make_scanner(GuardScan)(text, 0)[0]


def guard_json(record):
    """Writes texts, numbers and dicts."""
    from _json import encode_basestring_ascii as text

    def write(value):
        if type(value) is dict:
            return "{%s}" % ",".join("%s:%s" % (text(key), write(it)) for key, it in value.items())
        return text(value) if type(value) is str else str(int(value))

    return write(record).encode()


class Guard:
    def __init__(self, order, directory):
        self.order = guard_parse_json(order)
        self.mode = self.order["mode"]
        self.rules = GuardRules(guard_modules(), self.order, directory)
        self.path, self.rest = None, lambda rests, texts=(): None  # see guard_hook()
        self.local_codes, self.own = {}, set()  # by name; and the names of all its texts
        self.texts = set()  # the same, for code that the program could reach
        self.declared = self.builtins = self.importer = self.hooked = None
        self.exhausted = lambda: False
        self.risk = None

    # --- before the program runs ---

    def decode(self, source):
        if len(source) > GUARD_SOURCE_BYTES and self.mode == "strict":
            raise GuardRefusal("size", "the source has more than 1 MiB", "Make it shorter.")
        if b"\0" in source:
            raise GuardRefusal("syntax", "the source has a NUL byte in it", "Take it out.")
        try:
            text = source.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = source.count(b"\n", 0, error.start) + 1
            raise GuardRefusal("syntax", "the source is not UTF-8", "Save it as UTF-8.", line=line)
        for line in text.split("\n", 2)[:2]:
            # The text is decoded exactly as python itself would.
            if line.lstrip()[:1] == "#" and "coding" in line:
                name = line.partition("coding")[2].lstrip(":= ").split()[:1]
                plain = (name or ["utf-8"])[0].lower().replace("_", "-").rstrip("-*;")
                if plain not in ("utf-8", "utf8", "ascii", "us-ascii", "utf-8-sig"):
                    raise GuardRefusal("syntax", "the source declares another encoding than UTF-8",
                                       "Save it as UTF-8, without the declaration.", line=1)
        return text

    def parse(self, source, path):
        try:
            return compile(self.decode(source), path, "exec", GUARD_PARSE, True)
        except (RecursionError, MemoryError, OverflowError):
            raise GuardRefusal("size", "the program is nested too deeply to be looked at",
                               "Break long expressions into statements.")

    def look(self, source, path):
        """Returns the tree, changed so that it can run; raises GuardRefusal or SyntaxError."""
        tree = self.parse(source, path)
        nodes = guard_nodes(tree)
        if self.order["score"]:
            self.judge(nodes)
        if self.mode == "strict":
            walk = GuardWalk(nodes, self.rules)
            if self.declared:
                walk.declared.forget(self.declared.bound & GUARD_PRELOADED)
                walk.declared.tables |= self.declared.tables
            walk.check()
            self.join(walk.declared)
            self.look_at_locals(nodes)
            guard_soften(walk)
        elif self.mode == "imports":
            self.look_at_imports(nodes)
        if self.mode != "off" and self.order["operations"]:
            guard_count(guard_nodes(tree))
        return tree

    def judge(self, nodes):
        risk = GuardRisk(nodes).record()
        if self.risk is None or risk["score"] > self.risk["score"]:
            self.risk = risk
        score = risk["score"]
        reason = guard_cut("the risk is %d of 100: %s" % (
            score, "; ".join(risk["reasons"].split("\n"))), 195)
        if self.order["refuse"] and score >= self.order["refuse"]:
            raise GuardRefusal("risk", reason, "Leave out what the reasons name.",
                               "Raise auto_run.refuse_from of the policy.")
        if self.order["ask"] and score >= self.order["ask"]:
            raise GuardRefusal("risk", reason, "A person has to agree to this code: run it again "
                               "with consent (brig run --yes), or leave out what the reasons name.",
                               "Raise auto_run.ask_from of the policy.")

    def join(self, declared):
        if self.declared is None:
            self.declared = declared
        else:
            self.declared.add(declared)

    def look_at_imports(self, nodes):
        walk = GuardWalk(nodes, self.rules)
        for node, _ in nodes:
            if id(node) in walk.optional:
                continue
            if guard_is(node, "Import"):
                for item in node.names:
                    self.rules.check_import(item.name, node)
            elif guard_is(node, "ImportFrom") and not node.level:
                if not self.rules.allowed(node.module):
                    self.rules.check_import(node.module, node)
                for item in node.names:
                    whole = "%s.%s" % (node.module, item.name)
                    if whole in self.rules.refused and not self.rules.allowed(whole):
                        self.rules.check_import(whole, node)

    def look_at_locals(self, nodes):
        """Files of the program are part of it: they are checked before anything runs."""
        for node, _ in nodes:
            names = []
            if guard_is(node, "Import"):
                names = [item.name for item in node.names]
            elif guard_is(node, "ImportFrom"):
                names = [node.module or ""]
            for name in names:
                path = self.rules.local(name)
                if not path or name in self.local_codes or self.rules.allowed(name):
                    continue
                self.local_codes[name] = None
                self.own.add(path)
                with open(path, "rb") as file:
                    source = file.read(GUARD_SOURCE_BYTES + 1)
                try:
                    tree = self.look(source, path)
                    self.local_codes[name] = compile(tree, path, "exec", 0, True)
                except GuardRefusal as refusal:
                    refusal.record["reason"] = "%s.py: %s" % (name, refusal.record["reason"])
                    raise

    def compile(self, tree, path, how="exec"):
        try:
            return compile(tree, path, how, 0, True)
        except (RecursionError, MemoryError, OverflowError):
            raise GuardRefusal("size", "the program is nested too deeply to be compiled",
                               "Break long expressions into statements.")

    # --- when it may run ---

    def begin(self, path, main):
        """Makes `main` the module of a guarded program. Between this and the program the driver may
        only run code that is listed in audit.py.
        """
        self.path = path
        self.own.add(path)
        tick = None
        if self.mode != "off" and self.order["operations"]:
            tick, self.exhausted = guard_counter(self.order["operations"])
        if self.mode == "strict":
            self.begin_strict(main)
        elif self.mode == "imports":
            self.begin_imports()
        if tick:
            (self.builtins or vars(sys.modules["builtins"]))[GUARD_TICK] = tick
        if self.mode != "off" and self.order["recursion"]:
            sys.setrecursionlimit(self.order["recursion"])

    def make_builtins(self):
        """They have the rules, and not this object: a program must not reach it."""
        self.importer = GuardImporter(self.rules, self.local_codes)
        functions = GuardBuiltins(self.rules, self.declared, self.importer)
        self.importer.begin(functions)
        self.builtins = functions.space

    def begin_strict(self, main):
        if self.builtins is None:
            guard_detach()
            self.make_builtins()
            guard_prepare_abc(GuardImporter.ahead.__code__, self.texts)
            usual = (sys.prefix, sys.base_prefix, "/usr/lib/", "/usr/local/lib/")
            sys.path[:] = [path for path in sys.path if path.startswith(usual)]
        self.texts |= self.own
        self.importer.ahead(self.declared.imported)
        for name in self.declared.loaded:
            if name not in self.builtins and self.rules.is_module(name):
                self.builtins[name] = self.importer.facade(name)
        main.__builtins__ = self.builtins
        for name in ("__loader__", "__cached__", "__spec__"):
            vars(main).pop(name, None)
        if not self.hooked:
            hook, self.rest = guard_hook()
            sys.addaudithook(hook)
            self.hooked = True
        self.rest(False, self.own)

    def begin_imports(self):
        if self.hooked:  # by an earlier run of a session: these imports would be checked too
            return
        import builtins
        import importlib

        real, rules = builtins.__import__, self.rules
        real_module = importlib.import_module
        prefix = rules.directory + "/"

        def check(name):
            if not rules.allowed(name) and not rules.local(name):
                raise GuardImportError(rules.why_not(name)[0])

        def importer(name, globals=None, locals=None, fromlist=(), level=0):
            origin = globals or {}
            path = origin.get("__file__") or ""
            if not level and (origin.get("__name__") == "__main__" or path.startswith(prefix)):
                check(str(name))
            return real(name, globals, locals, fromlist, level)

        def import_module(name, package=None):
            check(str(name))
            return real_module(name, package)

        self.hooked = True
        builtins.__import__, importlib.import_module = importer, import_module

    # --- reports ---

    def record(self, refusal=None, end=None):
        record = {}
        if self.risk is not None:
            record["risk"] = {"score": self.risk["score"],
                              "reasons": guard_cut(self.risk["reasons"], 1000)}
        if refusal:
            record["refusal"] = {
                key: guard_cut(value, 250) if type(value) is str else value
                for key, value in refusal.items()
            }
        if end:
            record["end"] = end
        return guard_json(record)[: GUARD_RECORD_BYTES - 1]

    def stopped(self, error):
        """Writes rule and line of a run that the guard has ended, or that ended by its refusal.
        Nothing more: the program could write it as well, so the texts about it come from the
        warden.
        """
        if self.exhausted():
            return "operations 0"
        if isinstance(error, RecursionError) and self.order["recursion"]:
            return "recursion %d" % guard_line_of(error, self.own)
        rule = GUARD_ERRORS.get(type(error))
        return "%s %d" % (rule, guard_line_of(error, self.own)) if rule else None
